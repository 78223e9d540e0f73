// Runs the nodes that restore and initialise a model, with actual values, as one call of a session
// does. A node that cannot be run fails alone, and with it what needs its result; a resource that
// it would have changed is spoiled. Work lists, not recursion, but for branches of If and Case.
// Importer's worker thread.
import { ServalError } from '../../../base/errors.js';
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
import { invalid } from './errors.js';
import { COMPUTED_ELEMENTS_SUM_MAX, RUN_DEPTH_MAX, RUN_STEPS_MAX } from './limits.js';
import { refKey } from './prune.js';
import type { Failure, SessionState } from './state.js';

/** A resource's or reference variable's handle: what it stands for, and the node that made it. */
export interface Handle {
  readonly id: string;
  readonly node: FlatNode;
}

/** What an output holds; undefined where the branch is not taken. */
export type Value = Tensor | Handle | undefined;

export function isHandle(value: Value): value is Handle {
  return value !== undefined && 'id' in value;
}

/** What kernels may use besides their inputs. */
export interface Session {
  readonly state: SessionState;
  readonly checkpoint: Checkpoint | undefined;
  /** What the restore op's file name is fed with; undefined while it does not run. */
  readonly restorePrefix: string | undefined;
  /** The model's asset files: only these are read. */
  readonly assetPaths: ReadonlySet<string>;
  function(ref: FunctionRef): FlatFunction;
  /** For people; the same text counts once. */
  warn(text: string): void;
  /** Counts a node that is about to run. Errors: ModelInvalid above the limit. */
  step(): void;
  /** Counts elements that a kernel is about to make. Errors: ModelInvalid above the limit. */
  spend(elements: number): void;
}

/** One node about to run. */
export interface KernelCall {
  readonly node: FlatNode;
  readonly session: Session;
  readonly inputs: readonly Value[];
  /** Runs a function's body. */
  call(ref: FunctionRef, inputs: readonly Value[]): readonly Value[];
}

/** Gives the node's outputs. Throws ServalError when it cannot. */
export type Kernel = (call: KernelCall) => readonly Value[];
export type Kernels = Readonly<Record<string, Kernel>>;

/** Makes the step() and spend() of a session. */
export function runBudget(): Pick<Session, 'step' | 'spend'> {
  let steps = 0;
  let spent = 0;
  return {
    step() {
      steps += 1;
      if (steps <= RUN_STEPS_MAX) return;
      throw invalid(`initialising runs more than ${RUN_STEPS_MAX} nodes`);
    },
    spend(elements) {
      spent += elements;
      if (spent > COMPUTED_ELEMENTS_SUM_MAX) {
        throw invalid(`initialising computes more than ${COMPUTED_ELEMENTS_SUM_MAX} elements`);
      }
    },
  };
}

type Outcome =
  | { readonly kind: 'values'; readonly values: readonly Value[] }
  /** Not on the branch that is taken. */
  | { readonly kind: 'dead' }
  | { readonly kind: 'failed'; readonly failure: Failure };

// They may change what they are given.
const BRANCHES = new Set(['If', 'Case', 'While']);

const DEAD: Outcome = { kind: 'dead' };

/** One run over one graph. Values are kept by node; failures in the order in which they came. */
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

  /** Runs a node and all that it needs. */
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
        // Nodes that are open are what this one is needed for: a loop, which fails.
        for (const before of this.#before(node)) {
          if (!this.#outcomes.has(before) && !opened.has(before)) work.push(before);
        }
      }
    }
  }

  /** The value of an output that run() came to. Errors: ModelInvalid when it failed. */
  value(ref: Ref): Value {
    const outcome = this.#outcomes.get(ref.node);
    if (outcome?.kind === 'failed') throw failed(outcome.failure);
    return this.#input(ref);
  }

  // In reverse of the order in which they shall run: control inputs run first.
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
    // Of a grouping node the others still count: each failure is judged by what it left undone.
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
    if (kernel === undefined) return this.#failNew(node, 'the operator is not run while loading');
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
      throw invalid(`functions are nested more than ${RUN_DEPTH_MAX} deep`);
    }
    const body = this.#session.function(ref);
    if (body.args.length !== inputs.length) {
      throw invalid(
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
  return invalid(`${op} ${JSON.stringify(node)}: ${reason}`);
}
