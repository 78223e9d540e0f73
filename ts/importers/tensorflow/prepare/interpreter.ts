// Runs the nodes that restore and initialise a model, with actual values, as one session call does.
// A node that cannot be run fails alone, together with nodes that need its result; resources that
// it would have changed become spoiled. Uses work lists instead of recursion, except for branches
// of If and Case. Importer's worker thread.
import { ServalError, modelInvalid } from '../../../base/errors.js';
import type {
  Checkpoint,
  FlatFunction,
  FlatGraph,
  FlatNode,
  FunctionRef,
  Ref,
  Tensor,
} from '../types.js';
import { hasStateEffect } from './effects.js';
import { COMPUTED_ELEMENTS_SUM_MAX, RUN_DEPTH_MAX, RUN_STEPS_MAX } from './limits.js';
import { refKey } from './prune.js';
import type { Failure, SessionState } from './state.js';

/** Handle of a resource or reference variable: its meaning, and the node that made it. */
export interface Handle {
  readonly id: string;
  readonly node: FlatNode;
}

/** The value of an output; undefined if the branch is not taken. */
export type Value = Tensor | Handle | undefined;

export function isHandle(value: Value): value is Handle {
  return value !== undefined && 'id' in value;
}

/** The environment of kernels besides their inputs. */
export interface Session {
  readonly state: SessionState;
  readonly checkpoint: Checkpoint | undefined;
  /** Fed to the restore op as the file name; undefined while it does not run. */
  readonly restorePrefix: string | undefined;
  /** The model's asset files: no other files are read. */
  readonly assetPaths: ReadonlySet<string>;
  function(ref: FunctionRef): FlatFunction;
  /** Warnings for people; duplicates are dropped. */
  warn(text: string): void;
  /** Counts a node before it runs. Errors: ModelInvalid above the limit. */
  step(): void;
  /** Counts elements that a kernel is about to create. Errors: ModelInvalid above the limit. */
  spend(elements: number): void;
}

/** One node to run. */
export interface KernelCall {
  readonly node: FlatNode;
  readonly session: Session;
  readonly inputs: readonly Value[];
  /** Runs a function's body. */
  call(ref: FunctionRef, inputs: readonly Value[]): readonly Value[];
}

/** Computes the node's outputs. Throws ServalError if it cannot. */
export type Kernel = (call: KernelCall) => readonly Value[];
export type Kernels = Readonly<Record<string, Kernel>>;

/** Creates the step() and spend() of a session. */
export function runBudget(): Pick<Session, 'step' | 'spend'> {
  let steps = 0;
  let spent = 0;
  return {
    step() {
      steps += 1;
      if (steps <= RUN_STEPS_MAX) return;
      throw modelInvalid(`initialising runs more than ${RUN_STEPS_MAX} nodes`);
    },
    spend(elements) {
      spent += elements;
      if (spent > COMPUTED_ELEMENTS_SUM_MAX) {
        throw modelInvalid(`initialising computes more than ${COMPUTED_ELEMENTS_SUM_MAX} elements`);
      }
    },
  };
}

type Outcome =
  | { readonly kind: 'values'; readonly values: readonly Value[] }
  /** Not on the taken branch. */
  | { readonly kind: 'dead' }
  | { readonly kind: 'failed'; readonly failure: Failure };

// Operators that may change their arguments.
const BRANCHES = new Set(['If', 'Case', 'While']);

const DEAD: Outcome = { kind: 'dead' };

/** One run over one graph. Values are stored by node; failures in order of occurrence. */
export class Run {
  readonly #graph: FlatGraph;
  readonly #kernels: Kernels;
  readonly #session: Session;
  readonly #fed: ReadonlyMap<string, Value>;
  readonly #depth: number;
  readonly #outcomes = new Map<string, Outcome>();
  readonly failures: Failure[];

  constructor(
    graph: FlatGraph,
    kernels: Kernels,
    session: Session,
    fed: ReadonlyMap<string, Value>,
    depth = 0,
    failures: Failure[] = [],
  ) {
    this.#graph = graph;
    this.#kernels = kernels;
    this.#session = session;
    this.#fed = fed;
    this.#depth = depth;
    this.failures = failures;
  }

  /** Runs a node and all its dependencies. */
  run(target: string): void {
    const work = [target];
    const opened = new Set<string>();
    for (let name = work.at(-1); name !== undefined; name = work.at(-1)) {
      const node = this.#graph.nodes.get(name);
      if (this.#outcomes.has(name) || node === undefined) {
        work.pop();
      } else if (opened.has(name)) {
        work.pop();
        this.#outcomes.set(name, this.#runNode(node));
      } else {
        opened.add(name);
        // An open node depends on this one, so this is a cycle, which fails.
        for (const before of this.#before(node)) {
          if (!this.#outcomes.has(before) && !opened.has(before)) work.push(before);
        }
      }
    }
  }

  /** The value of an output that run() computed. Errors: ModelInvalid if it failed. */
  value(ref: Ref): Value {
    const outcome = this.#outcomes.get(ref.node);
    if (outcome?.kind === 'failed') throw failed(outcome.failure);
    return this.#input(ref);
  }

  // In reverse execution order: control inputs run first.
  #before(node: FlatNode): string[] {
    const data = node.inputs.filter((ref) => !this.#fed.has(refKey(ref))).map((ref) => ref.node);
    return [...node.control, ...data].reverse();
  }

  #input(ref: Ref): Value {
    const key = refKey(ref);
    if (this.#fed.has(key)) return this.#fed.get(key);
    const outcome = this.#outcomes.get(ref.node);
    return outcome?.kind === 'values' ? outcome.values[ref.output] : undefined;
  }

  #runNode(node: FlatNode): Outcome {
    // Other inputs of a grouping node still count: each failure is judged by what it left undone.
    const isDead = node.control.some((name) => this.#outcomes.get(name)?.kind === 'dead');
    if (isDead) return DEAD;
    const failure = this.#failureOf(node);
    if (failure !== undefined) return this.#fail(node, failure);
    const inputs = node.inputs.map((ref) => this.#input(ref));
    if (!node.op.endsWith('Merge') && inputs.includes(undefined)) return DEAD;
    return this.#runKernel(node, inputs);
  }

  #runKernel(node: FlatNode, inputs: readonly Value[]): Outcome {
    const kernel = Object.hasOwn(this.#kernels, node.op) ? this.#kernels[node.op] : undefined;
    if (kernel === undefined)
      return this.#failNew(node, 'the operator is not supported while loading');
    try {
      this.#session.step();
      const call = (ref: FunctionRef, values: readonly Value[]): readonly Value[] =>
        this.#callFunction(ref, values);
      return { kind: 'values', values: kernel({ node, session: this.#session, inputs, call }) };
    } catch (error) {
      // RangeError: sizes and numbers that JavaScript itself refuses.
      if (!(error instanceof ServalError || error instanceof RangeError)) throw error;
      return this.#failNew(node, error.message);
    }
  }

  #failureOf(node: FlatNode): Failure | undefined {
    for (const ref of node.inputs) {
      if (this.#fed.has(refKey(ref))) continue;
      const outcome = this.#outcomes.get(ref.node);
      if (outcome === undefined) {
        return { op: node.op, node: node.name, reason: 'it is part of a loop' };
      }
      if (outcome.kind === 'failed') return outcome.failure;
    }
    return undefined;
  }

  #failNew(node: FlatNode, reason: string): Outcome {
    const failure = { op: node.op, node: node.name, reason };
    this.failures.push(failure);
    return this.#fail(node, failure);
  }

  #fail(node: FlatNode, failure: Failure): Outcome {
    if (hasStateEffect(node.op) || BRANCHES.has(node.op)) {
      for (const ref of node.inputs) {
        const input = this.#input(ref);
        if (isHandle(input)) this.#session.state.spoil(input.id, failure);
      }
    }
    return { kind: 'failed', failure };
  }

  #callFunction(ref: FunctionRef, inputs: readonly Value[]): readonly Value[] {
    if (this.#depth >= RUN_DEPTH_MAX) {
      throw modelInvalid(`functions are nested more than ${RUN_DEPTH_MAX} deep`);
    }
    const body = this.#session.function(ref);
    if (body.args.length !== inputs.length) {
      throw modelInvalid(
        `function ${ref.name} takes ${body.args.length} arguments, ` + `got ${inputs.length}`,
      );
    }
    const fed = new Map(
      body.args.map((name, at) => [refKey({ node: name, output: 0 }), inputs[at]]),
    );
    const run = new Run(body, this.#kernels, this.#session, fed, this.#depth + 1, this.failures);
    for (const name of body.control) run.run(name);
    return body.returns.map((returned) => {
      if (!fed.has(refKey(returned))) run.run(returned.node);
      return run.value(returned);
    });
  }
}

function failed({ op, node, reason }: Failure): ServalError {
  return modelInvalid(`${op} ${JSON.stringify(node)}: ${reason}`);
}
