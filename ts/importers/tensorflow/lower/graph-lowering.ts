// Walks a flat graph in the order of its data (and of its assignments) and lowers each node by its
// operator. Collects every problem instead of stopping at the first. Importer's worker thread.
import { ErrorCode, ServalError } from '../../../base/errors.js';
import { functionalGraph } from '../control-flow/index.js';
import { madeFunction } from '../control-flow/made-functions.js';
import type { FlatFunction, FlatGraph, FlatNode, FunctionRef, Initialised, Ref } from '../types.js';
import {
  type AssignedVariables,
  OpContext,
  type Operators,
  type Subgraph,
  type Surroundings,
  UnsupportedError,
} from './context.js';
import { complexConstant, isComplexNode, refuseComplex } from './complex.js';
import { foldFloats, withRange } from './draws.js';
import { foldNode } from './fold.js';
import { GraphBuilder, type ModelBuild, withInts } from './graph-builder.js';
import { commonShape, isStatic } from './values.js';
import type { TensorValue, Value } from './values.js';

/** Why one node could not be lowered. */
export interface LoweringProblem {
  readonly op: string;
  readonly node: string;
  readonly reason: string;
}

/** Shared by the graphs of one signature during lowering. */
export interface LoweringScope {
  readonly model: ModelBuild;
  readonly operators: Operators;
  readonly state: Initialised;
  readonly problems: LoweringProblem[];
  readonly warnings: Set<string>;
  /** Counts of the operators encountered. */
  readonly met: Map<string, number>;
  /** Whether the node changes state, or runs after one that does. */
  readonly hasEffect: (graph: FlatGraph, node: string) => boolean;
  /** Nodes lowered so far: bodies of loops are lowered repeatedly until their shapes settle. */
  readonly work: { nodes: number; bodies: number };
  /** Variables that are not constants: see VariableStore. */
  readonly variables: VariableStore;
  function(ref: FunctionRef): FlatFunction;
}

/** Variables while a signature is lowered. */
export interface VariableStore {
  keyOf(node: FlatNode): string;
  read(key: string): TensorValue;
  assign(key: string, value: TensorValue): void;
  /** Runs `run`, undoes its assignments and returns them. */
  assignedBy<T>(run: () => T): { readonly result: T; readonly assigned: AssignedVariables };
}

/** Stands for the outputs of a node that could not be lowered. */
const POISONED: unique symbol = Symbol('poisoned');

const NODE_REFERENCE = '_Arg';

/** Maximum nodes lowered for one signature. */
const LOWERED_NODES_MAX = 2_000_000;
/** Maximum bodies of branches and loops; one that is used several times counts each time. */
const LOWERED_BODIES_MAX = 20_000;
/** Maximum nesting of functions. */
const NESTING_MAX = 64;

export class GraphLowering implements Surroundings {
  readonly builder: GraphBuilder;
  #graph: FlatGraph;
  readonly #scope: LoweringScope;
  readonly #values = new Map<string, readonly Value[] | typeof POISONED>();
  readonly #fed = new Map<string, Map<number, Value>>();
  readonly #depth: number;

  /**
   * `builder`: where nodes are added; absent = a new graph. `depth`: number of enclosing functions.
   */
  constructor(graph: FlatGraph, scope: LoweringScope, builder?: GraphBuilder, depth = 0) {
    this.#graph = graph;
    this.#scope = scope;
    this.#depth = depth;
    if (depth > NESTING_MAX) throw tooMuch(`functions nest more than ${NESTING_MAX} deep`);
    this.builder = builder ?? new GraphBuilder(scope.model);
  }

  get state(): Initialised {
    return this.#scope.state;
  }

  function(ref: FunctionRef): FlatFunction {
    return madeFunction(ref) ?? this.#scope.function(ref);
  }

  variableKey(node: FlatNode): string {
    return this.#scope.variables.keyOf(node);
  }

  readVariable(key: string): TensorValue {
    return this.#scope.variables.read(key);
  }

  assignVariable(key: string, value: TensorValue): void {
    this.#scope.variables.assign(key, value);
  }

  warn(text: string): void {
    this.#scope.warnings.add(text);
  }

  /** Sets a node's output, overriding what the node would compute. Call before lower(). */
  feed(ref: Ref, value: Value): void {
    const ports = this.#fed.get(ref.node) ?? new Map<number, Value>();
    ports.set(ref.output, value);
    this.#fed.set(ref.node, ports);
  }

  /**
   * Lowers the nodes that `wanted` need, then the nodes named in `sideEffects`. Returns undefined
   * if one could not be lowered: the scope then has problems.
   */
  lower(wanted: readonly Ref[], sideEffects: readonly string[] = []): (Value | undefined)[] {
    const original = this.#graph;
    const { graph, roots, effects } = functionalGraph(original, wanted, sideEffects, {
      hasEffect: (name) => this.#scope.hasEffect(original, name),
      isFed: (ref) => this.#isFed(ref),
    });
    this.#graph = graph;
    const names = [...roots.filter((ref) => !this.#isFed(ref)).map((ref) => ref.node), ...effects];
    for (const node of this.#order(names)) this.#lowerNode(node);
    return roots.map((ref) => this.#value(ref));
  }

  assignedBy<T>(run: () => T): { readonly result: T; readonly assigned: AssignedVariables } {
    return this.#scope.variables.assignedBy(run);
  }

  within(builder: GraphBuilder): Surroundings {
    return new GraphLowering(this.#graph, this.#scope, builder, this.#depth);
  }

  nested(make: (inner: OpContext) => readonly Value[], cx: OpContext): Subgraph {
    const builder = new GraphBuilder(this.#scope.model);
    const results = make(cx.within(builder));
    return {
      builder,
      results,
      finish: (name, inputs, outputs) => builder.subgraph(name, inputs, outputs),
    };
  }

  inline(body: FlatFunction, args: readonly Value[]): readonly Value[] {
    return this.#call(body, args, this.builder).results;
  }

  subgraph(body: FlatFunction, args: readonly Value[]): Subgraph {
    return this.#call(body, args, undefined);
  }

  #call(body: FlatFunction, args: readonly Value[], builder: GraphBuilder | undefined): Subgraph {
    const { work } = this.#scope;
    work.bodies += 1;
    if (work.bodies > LOWERED_BODIES_MAX) {
      throw tooMuch(`its branches and loops have more than ${LOWERED_BODIES_MAX} bodies in total`);
    }
    const inner = new GraphLowering(body, this.#scope, builder, this.#depth + 1);
    body.args.forEach((name, i) => {
      const value = args[i];
      if (value !== undefined) inner.feed({ node: name, output: 0 }, value);
    });
    const before = this.#scope.problems.length;
    const results = inner.lower(body.returns, body.control);
    if (results.some((one) => one === undefined)) {
      const problem = this.#scope.problems[before];
      const why = problem === undefined ? '' : `: ${problem.op} '${problem.node}'`;
      throw new UnsupportedError(`function '${body.name}' cannot be lowered${why}`);
    }
    return {
      builder: inner.builder,
      results: results as readonly Value[],
      finish: (name, inputs, outputs) => inner.builder.subgraph(name, inputs, outputs),
    };
  }

  #isFed(ref: Ref): boolean {
    return this.#fed.get(ref.node)?.has(ref.output) ?? false;
  }

  #value(ref: Ref): Value | undefined {
    const fed = this.#fed.get(ref.node)?.get(ref.output);
    if (fed !== undefined) return fed;
    const values = this.#values.get(ref.node);
    return values === undefined || values === POISONED ? undefined : values[ref.output];
  }

  /** Nodes in topological order. Errors: ModelInvalid on a cycle. */
  #order(roots: readonly string[]): FlatNode[] {
    const order: FlatNode[] = [];
    const done = new Set<string>(this.#values.keys());
    const open = new Set<string>();
    const stack: { node: FlatNode; needs: readonly string[]; next: number }[] = [];
    const enter = (name: string, from: string): void => {
      if (done.has(name)) return;
      if (open.has(name)) throw cycle(name);
      const node = this.#graph.nodes.get(name);
      if (node === undefined) throw missing(name, from);
      open.add(name);
      stack.push({ node, needs: this.#needs(node), next: 0 });
    };
    for (const root of roots) {
      enter(root, 'an output');
      for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
        const need = top.needs[top.next];
        top.next += 1;
        if (need !== undefined) {
          enter(need, `node '${top.node.name}'`);
          continue;
        }
        stack.pop();
        open.delete(top.node.name);
        done.add(top.node.name);
        order.push(top.node);
      }
    }
    return order;
  }

  #needs(node: FlatNode): string[] {
    const data = node.inputs.filter((ref) => !this.#isFed(ref)).map((ref) => ref.node);
    const control = node.control.filter((name) => this.#scope.hasEffect(this.#graph, name));
    return [...control, ...data];
  }

  #lowerNode(node: FlatNode): void {
    const { met, problems, work } = this.#scope;
    work.nodes += 1;
    if (work.nodes > LOWERED_NODES_MAX) {
      throw tooMuch(`lowering its loops needs more than ${LOWERED_NODES_MAX} steps`);
    }
    met.set(node.op, (met.get(node.op) ?? 0) + 1);
    const inputs = node.inputs.map((ref) => this.#value(ref));
    if (inputs.some((one) => one === undefined)) {
      this.#values.set(node.name, POISONED);
      this.#noteMissingOutput(node, inputs);
      return;
    }
    try {
      this.#values.set(node.name, this.#outputs(node, inputs as readonly Value[]));
    } catch (error) {
      const reason = reasonOf(error);
      if (reason === undefined) throw error;
      problems.push({ op: node.op, node: node.name, reason });
      this.#values.set(node.name, POISONED);
    }
  }

  /** Reports a port that its node does not have, if the node itself was lowered. */
  #noteMissingOutput(node: FlatNode, inputs: readonly (Value | undefined)[]): void {
    node.inputs.forEach((ref, i) => {
      const values = this.#values.get(ref.node);
      if (inputs[i] !== undefined || values === undefined || values === POISONED) return;
      const reason =
        `input ${i} is output ${ref.output} of '${ref.node}', which has ` + `${values.length}`;
      this.#scope.problems.push({ op: node.op, node: node.name, reason });
    });
  }

  #outputs(node: FlatNode, inputs: readonly Value[]): readonly Value[] {
    const folded = foldNode(node, inputs);
    if (folded !== undefined) {
      const { dtype, scalar, ints } = folded;
      const shape = scalar ? [] : [ints.length];
      if (ints.every((one) => one !== undefined)) {
        return [withInts({ kind: 'tensor', dtype, shape }, ints)];
      }
      const [first, ...rest] = this.#lowered(node, inputs);
      if (first?.kind === 'tensor') return [withInts({ ...first, shape }, ints), ...rest];
    }
    return this.#lowered(node, inputs);
  }

  #lowered(node: FlatNode, inputs: readonly Value[]): readonly Value[] {
    if (node.op === NODE_REFERENCE) throw new UnsupportedError('the argument has no value');
    const operator = Object.hasOwn(this.#scope.operators, node.op)
      ? this.#scope.operators[node.op]
      : undefined;
    if (operator === undefined) throw new UnsupportedError(refusal(node.op));
    const lower = isComplexNode(node, inputs)
      ? (operator.complex ?? refuseComplex)
      : operator.lower;
    const cx = new OpContext(node, inputs, this);
    const known = foldFloats(cx);
    if (known !== undefined) return [hinted(known, node, 0)];
    const result = lower(cx);
    const values = Array.isArray(result) ? (result as readonly Value[]) : [result as Value];
    return values.map((value, output) =>
      hinted(withRange(node, inputs, complexConstant(value)), node, output),
    );
  }
}

/** Adds the information of the graph's _output_shapes attribute to a value. */
function hinted(value: Value, node: FlatNode, output: number): Value {
  if (value.kind !== 'tensor' || isStatic(value.shape)) return value;
  const hints = node.attributes.get('_output_shapes');
  const hint = hints?.kind === 'list' ? hints.value.shapes[output] : undefined;
  if (hint === undefined) return value;
  if (value.shape !== undefined) return { ...value, hint };
  // The batch size may have been fixed when the graph was written; only the rank is reliable.
  return {
    ...value,
    hint,
    shape: commonShape(
      hint,
      hint.map(() => undefined),
    ),
  };
}

const STABLEHLO =
  "the operator is a StableHLO program, which Serval does not compile: export with jax2tf's " +
  'native_serialization=False';

const refusal = (op: string): string =>
  op === 'XlaCallModule' ? STABLEHLO : 'the operator is not supported';

function reasonOf(error: unknown): string | undefined {
  if (error instanceof UnsupportedError) return error.reason;
  if (error instanceof ServalError && error.code === ErrorCode.Unimplemented) return error.message;
  // A rank or a count that no array can have, or unbounded nesting of functions.
  if (error instanceof RangeError) return `its numbers are out of range: ${error.message}`;
  return undefined;
}

function tooMuch(text: string): ServalError {
  return new ServalError(ErrorCode.ModelInvalid, `the graph is too large: ${text}`);
}

function cycle(name: string): ServalError {
  return new ServalError(
    ErrorCode.ModelInvalid,
    `node '${name}' needs its own output: the graph has a cycle outside a loop`,
  );
}

function missing(name: string, from: string): ServalError {
  return new ServalError(ErrorCode.ModelInvalid, `${from} needs node '${name}', which is missing`);
}
