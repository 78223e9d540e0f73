// Converts a GraphDef to a graph without calls: inputs become node and output number, attributes
// are complete, bodies of called functions replace the calls. Only nodes that the given roots need
// are processed: the libraries of real models contain functions that cannot be run. A call remains
// as an IdentityN (NoOp without results) with its own name, so that references to it stay valid.
// Uses work lists instead of recursion, because the model determines the nesting depth. Importer's
// worker thread.
import { modelInvalid } from '../../../base/errors.js';
import type { OpTable } from '../proto/op-defs.js';
import type {
  Attribute,
  Attributes,
  Dtype,
  FlatFunction,
  FlatNode,
  FunctionDef,
  FunctionRef,
  GraphDef,
  NodeDef,
  Ref,
} from '../types.js';
import { attributeOf, functionAttribute, hasPlaceholders } from './attributes.js';
import { Effects } from './effects.js';
import { quoted } from './errors.js';
import { CALL_DEPTH_MAX, FLAT_EDGES_MAX, FLAT_NAME_CHARS_MAX, FLAT_NODES_MAX } from './limits.js';
import { argumentCount, bodyOf, Resolver, Scope } from './scope.js';
import type { Body, Target, Where } from './scope.js';

const CALLS = new Set(['PartitionedCall', 'StatefulPartitionedCall']);

// Empty lists are shared, since most nodes have one: a model may have 300,000 nodes.
const NONE: readonly string[] = [];
const NO_TARGETS: readonly Target[] = [];
const NO_ATTRIBUTES: Attributes = new Map();

/** Usage of a model's flattening limits; one for the model and its functions. */
class Budget {
  #nodes = 0;
  #edges = 0;
  #chars = 0;

  addNode(name: string, edges: number): void {
    this.#nodes += 1;
    this.#chars += name.length;
    this.addEdges(edges);
    if (this.#nodes > FLAT_NODES_MAX) throw tooLarge(`${FLAT_NODES_MAX} nodes`);
    if (this.#chars > FLAT_NAME_CHARS_MAX) throw tooLarge(`${FLAT_NAME_CHARS_MAX} name characters`);
  }

  addEdges(count: number): void {
    this.#edges += count;
    if (this.#edges > FLAT_EDGES_MAX) throw tooLarge(`${FLAT_EDGES_MAX} inputs`);
  }
}

function tooLarge(limit: string): Error {
  return modelInvalid(`the graph with its calls inlined has more than ${limit}`);
}

/** Flattens the main graph and its functions. */
export class Flattener {
  readonly #graph: GraphDef;
  readonly #ops: OpTable;
  readonly #effects: Effects;
  readonly #resolver: Resolver;
  readonly #bodies = new Map<GraphDef | FunctionDef, Body>();
  readonly #budget = new Budget();

  constructor(graph: GraphDef, ops: OpTable) {
    this.#graph = graph;
    this.#ops = ops;
    this.#effects = new Effects(graph);
    this.#resolver = new Resolver(ops, graph.functions);
  }

  /** Whether the node changes state, itself or through the functions that it names. */
  hasEffect(node: FlatNode): boolean {
    return this.#effects.of(node);
  }

  /** The part of the main graph that the roots (names of nodes) need; unknown roots are ignored. */
  main(roots: Iterable<string>): ReadonlyMap<string, FlatNode> {
    const scope = new Scope(this.#bodyOf(this.#graph), '', new Map(), undefined);
    const flight = this.#flight();
    for (const root of [...roots].reverse()) {
      if (!scope.body.byName.has(root)) continue;
      if (scope.body.duplicates.has(root))
        throw modelInvalid(`the graph has two nodes ${quoted(root)}`);
      flight.want({ scope, local: root, output: 0 });
    }
    return flight.run();
  }

  /** Errors: ModelInvalid: no such function, or an error inside. */
  function(ref: FunctionRef): FlatFunction {
    const definition = this.#graph.functions.get(ref.name);
    if (definition === undefined)
      throw modelInvalid(`the graph has no function ${quoted(ref.name)}`);
    if (hasPlaceholders(ref.attributes)) {
      throw modelInvalid(
        `function ${quoted(ref.name)}: an attribute refers to a caller, but there is none`,
      );
    }
    const scope = new Scope(this.#bodyOf(definition), '', ref.attributes, undefined);
    const flight = this.#flight();
    const args = flight.addArguments(scope, definition);
    const returns = flight.returns(scope, definition);
    const control = flight.effects(scope, definition).map((target) => flight.nameOf(target));
    const nodes = flight.run();
    return {
      name: ref.name,
      nodes,
      args,
      control,
      returns: returns.map((target) => flight.refOf(target)),
    };
  }

  #bodyOf(source: GraphDef | FunctionDef): Body {
    let body = this.#bodies.get(source);
    if (body === undefined) this.#bodies.set(source, (body = bodyOf(source)));
    return body;
  }

  #flight(): Flight {
    return new Flight({
      functions: this.#graph.functions,
      ops: this.#ops,
      effects: this.#effects,
      resolver: this.#resolver,
      budget: this.#budget,
      bodyOf: (definition) => this.#bodyOf(definition),
    });
  }
}

interface Parts {
  readonly functions: ReadonlyMap<string, FunctionDef>;
  readonly ops: OpTable;
  readonly effects: Effects;
  readonly resolver: Resolver;
  readonly budget: Budget;
  bodyOf(definition: FunctionDef): Body;
}

/** One graph or function being flattened. */
class Flight {
  readonly #parts: Parts;
  readonly #nodes = new Map<string, FlatNode>();
  readonly #taken = new Map<string, number>();
  readonly #identities = new Map<string, Attributes>();
  readonly #work: Target[] = [];

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  want(target: Target): void {
    this.#work.push(target);
  }

  run(): ReadonlyMap<string, FlatNode> {
    for (let next = this.#work.pop(); next !== undefined; next = this.#work.pop()) {
      const name = this.nameOf(next);
      if (!this.#nodes.has(name)) this.#visit(next.scope, next.local, name);
    }
    return this.#nodes;
  }

  refOf(target: Target): Ref {
    return { node: this.nameOf(target), output: target.output };
  }

  /** The node's name in the flat graph; unique, and unchanged outside of calls. */
  nameOf({ scope, local }: Target): string {
    const known = scope.names.get(local);
    if (known !== undefined) return known;
    const name =
      scope.parent === undefined ? local : this.#unique(scope, `${scope.place}/${local}`);
    scope.names.set(local, name);
    return name;
  }

  #unique(scope: Scope, wanted: string): string {
    const { root } = scope;
    const isRoots = (name: string): boolean => root.body.byName.has(name) || root.slots.has(name);
    const before = this.#taken.get(wanted);
    if (before === undefined && !isRoots(wanted)) {
      this.#taken.set(wanted, 0);
      return wanted;
    }
    let name = wanted;
    for (let count = before ?? 0; this.#taken.has(name) || isRoots(name); count += 1) {
      this.#taken.set(wanted, count + 1);
      name = `${wanted}_${count + 1}`;
    }
    this.#taken.set(name, 0);
    return name;
  }

  #visit(scope: Scope, local: string, name: string): void {
    const node = scope.body.byName.get(local);
    if (node === undefined) throw modelInvalid(`the graph has no ${scope.describe(local)}`);
    const parts = this.#parts;
    const attributes = parts.resolver.attributes(scope, node);
    const ref = this.#calledFunction(node, attributes);
    if (ref !== undefined) {
      this.#visitCall(scope, node, attributes, ref, name);
      return;
    }
    const { data, control } = this.#inputs(scope, node);
    if (scope.control.length > 0 && parts.ops.isStateful(node.op)) control.push(...scope.control);
    this.#add({ name, op: node.op, attributes }, data, control);
  }

  #calledFunction(node: NodeDef, attributes: Attributes): FunctionRef | undefined {
    if (this.#parts.functions.has(node.op)) return { name: node.op, attributes };
    if (!CALLS.has(node.op)) return undefined;
    const ref = functionAttribute(attributes, 'f');
    if (ref === undefined) {
      throw modelInvalid(
        `node ${quoted(node.name)} (${node.op}) has no attribute f: expected a function`,
      );
    }
    return ref;
  }

  #inputs(scope: Scope, node: NodeDef): { data: readonly Target[]; control: Target[] } {
    const where = scope.at(node.name);
    const data: Target[] = [];
    const control: Target[] = [];
    for (const input of node.inputs) {
      if (input.startsWith('^')) {
        control.push(this.#parts.resolver.control(scope, input.slice(1), where));
      } else {
        const targets = this.#parts.resolver.data(scope, input, where);
        for (const target of targets) data.push(target);
      }
    }
    return { data, control };
  }

  #add(
    node: Pick<FlatNode, 'name' | 'op' | 'attributes'>,
    data: readonly Target[],
    control: readonly Target[],
  ): void {
    this.#parts.budget.addNode(node.name, data.length + control.length);
    const { name, op, attributes } = node;
    const inputs = data.map((target) => this.refOf(target));
    this.#nodes.set(name, { name, op, attributes, inputs, control: this.#names(control, name) });
    // The first input is visited first, so that results are in the order of the model.
    this.#wantAll(control);
    this.#wantAll(data);
  }

  /** The names of control inputs, without duplicates and the node itself. */
  #names(control: readonly Target[], own: string): readonly string[] {
    if (control.length === 0) return NONE;
    const names = new Set(control.map((target) => this.nameOf(target)));
    names.delete(own);
    return [...names];
  }

  /** Calls want() for all, the last one first. */
  #wantAll(targets: readonly Target[]): void {
    for (let i = targets.length - 1; i >= 0; i -= 1) {
      const target = targets[i];
      if (target !== undefined) this.#work.push(target);
    }
  }

  #visitCall(
    scope: Scope,
    node: NodeDef,
    attributes: Attributes,
    ref: FunctionRef,
    name: string,
  ): void {
    const definition = this.#parts.functions.get(ref.name);
    const where = scope.at(node.name);
    if (definition === undefined) {
      throw modelInvalid(`${where} calls function ${quoted(ref.name)}, which does not exist`);
    }
    checkNesting(scope, ref.name, where);
    const { data, control } = this.#inputs(scope, node);
    const inner = new Scope(this.#parts.bodyOf(definition), name, ref.attributes, scope);
    setSlots(inner, definition, where);
    if (slotCount(inner) !== data.length) {
      throw modelInvalid(
        `${where} calls function ${quoted(ref.name)}: got ${data.length} arguments, ` +
          `expected ${slotCount(inner)}`,
      );
    }
    inner.arguments = data;
    inner.control = this.#controlInside(scope, data, control);
    this.#parts.budget.addEdges(inner.control.length);
    const returns = this.returns(inner, definition);
    const types = returnTypes(node, attributes, definition, ref.attributes);
    if (types.length !== returns.length) {
      throw modelInvalid(
        `${where} expects ${types.length} results of function ${quoted(ref.name)}; ` +
          `it returns ${returns.length}`,
      );
    }
    const after = [...control, ...this.effects(inner, definition)];
    const isEmpty = returns.length === 0;
    const kept = isEmpty ? NO_ATTRIBUTES : this.#typed(types);
    this.#add({ name, op: isEmpty ? 'NoOp' : 'IdentityN', attributes: kept }, returns, after);
  }

  /** The attributes of an IdentityN; nodes of the same types share them. */
  #typed(types: readonly Dtype[]): Attributes {
    const key = types.join();
    let attributes = this.#identities.get(key);
    if (attributes === undefined) {
      attributes = new Map([['T', typeList(types)]]);
      this.#identities.set(key, attributes);
    }
    return attributes;
  }

  // A call starts when all its inputs are available: its body reads variables after assignments
  // that an argument depends on.
  #controlInside(
    scope: Scope,
    data: readonly Target[],
    control: readonly Target[],
  ): readonly Target[] {
    const tainted = this.#parts.effects.tainted(scope.body);
    const after =
      tainted.size === 0
        ? NO_TARGETS
        : data.filter((target) => target.scope === scope && tainted.has(target.local));
    if (scope.control.length + control.length + after.length === 0) return NO_TARGETS;
    return [...new Set([...scope.control, ...control, ...after])];
  }

  /** The function's results, in the order of its signature. */
  returns(scope: Scope, definition: FunctionDef): readonly Target[] {
    const where = ofFunction(definition);
    const targets: Target[] = [];
    for (const output of definition.signature.outputs) {
      const text = definition.returns.get(output.name);
      if (text === undefined) throw modelInvalid(`${where} does not return ${quoted(output.name)}`);
      const found = this.#parts.resolver.data(scope, text, where);
      const count = argumentCount(output, scope.attributes, where);
      if (found.length !== count) {
        throw modelInvalid(
          `${where} returns ${found.length} tensors as ${quoted(output.name)}; ` +
            `expected ${count}`,
        );
      }
      for (const target of found) targets.push(target);
    }
    for (const target of targets) this.want(target);
    return targets;
  }

  /** Nodes that must have run when the function returns. */
  effects(scope: Scope, definition: FunctionDef): readonly Target[] {
    const effective = this.#parts.effects.nodesOf(definition);
    if (definition.controlReturns.size + effective.length === 0) return NO_TARGETS;
    const where = ofFunction(definition);
    const locals = new Set([...definition.controlReturns.values(), ...effective]);
    const targets = [...locals].map((name) => this.#parts.resolver.control(scope, name, where));
    for (const target of targets) this.want(target);
    return targets;
  }

  /** Adds a node for each argument of a function that is flattened separately. */
  addArguments(scope: Scope, definition: FunctionDef): readonly string[] {
    setSlots(scope, definition, `function ${quoted(definition.signature.name)}`);
    const targets: Target[] = [];
    for (const argument of definition.signature.inputs) {
      const { count = 0 } = scope.slots.get(argument.name) ?? {};
      for (let index = 0; index < count; index += 1) {
        let local = argument.name;
        if (argument.numberAttr !== '' || argument.typeListAttr !== '') local += `_${index}`;
        while (local !== argument.name && scope.body.byName.has(local)) local += '_';
        targets.push({ scope, local, output: 0 });
        const type = argumentType(argument, index, scope.attributes);
        const attributes = new Map<string, Attribute>();
        attributes.set('index', { kind: 'int', value: BigInt(targets.length - 1) });
        if (type !== undefined) attributes.set('T', { kind: 'type', value: type });
        this.#add({ name: local, op: '_Arg', attributes }, [], []);
      }
    }
    scope.arguments = targets;
    return targets.map(({ local }) => local);
  }
}

function ofFunction(definition: FunctionDef): Where {
  return { toString: () => `function ${quoted(definition.signature.name)}` };
}

function checkNesting(scope: Scope, name: string, where: Where): void {
  if (scope.depth >= CALL_DEPTH_MAX) {
    throw modelInvalid(`${where}: calls are nested more than ${CALL_DEPTH_MAX} deep`);
  }
  for (let outer: Scope | undefined = scope; outer !== undefined; outer = outer.parent) {
    if (outer.body.definition?.signature.name === name) {
      throw modelInvalid(`${where}: function ${quoted(name)} calls itself`);
    }
  }
}

function setSlots(scope: Scope, definition: FunctionDef, where: Where): void {
  let start = 0;
  for (const argument of definition.signature.inputs) {
    const count = argumentCount(argument, scope.attributes, where);
    scope.slots.set(argument.name, { start, count });
    start += count;
  }
}

function slotCount(scope: Scope): number {
  let count = 0;
  for (const slots of scope.slots.values()) count += slots.count;
  return count;
}

function argumentType(
  argument: FunctionDef['signature']['inputs'][number],
  index: number,
  attributes: Attributes,
): Dtype | undefined {
  if (argument.type !== undefined) return argument.type;
  if (argument.typeListAttr !== '') {
    return attributeOf(attributes, argument.typeListAttr, 'list')?.types[index];
  }
  return attributeOf(attributes, argument.typeAttr, 'type');
}

// The types of a call's results: from the call, else from the function's signature.
function returnTypes(
  node: NodeDef,
  attributes: Attributes,
  definition: FunctionDef,
  inner: Attributes,
): readonly Dtype[] {
  const given = CALLS.has(node.op) ? attributeOf(attributes, 'Tout', 'list') : undefined;
  if (given !== undefined) return given.types;
  const types: Dtype[] = [];
  const where = ofFunction(definition);
  for (const output of definition.signature.outputs) {
    const count = argumentCount(output, inner, where);
    for (let index = 0; index < count; index += 1) {
      types.push(argumentType(output, index, inner) ?? 'variant');
    }
  }
  return types;
}

function typeList(types: readonly Dtype[]): Attribute {
  return {
    kind: 'list',
    value: {
      bytes: [],
      ints: [],
      floats: [],
      bools: [],
      types,
      shapes: [],
      tensors: [],
      functions: [],
    },
  };
}
