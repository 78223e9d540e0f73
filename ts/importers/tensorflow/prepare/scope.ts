// One graph or one function call during flattening: its nodes by name, its arguments, and resolving
// input names. Importer's worker thread. Source: tensorflow/core/framework/function.proto (spelling
// of inputs in bodies), node_def.proto.
import { modelInvalid } from '../../../base/errors.js';
import type { OpTable } from '../proto/op-defs.js';
import type { ArgDef, Attributes, FunctionDef, GraphDef, NodeDef } from '../types.js';
import { attributeOf, hasPlaceholders, substituted, withDefaults } from './attributes.js';
import { quoted } from './errors.js';
import { FLAT_EDGES_MAX } from './limits.js';

/** One output argument of a node: `count` consecutive tensors. */
export interface OpOutput {
  readonly name: string;
  readonly count: number;
}

/** A graph's or a function's nodes by name. */
export interface Body {
  readonly nodes: readonly NodeDef[];
  readonly byName: ReadonlyMap<string, NodeDef>;
  readonly duplicates: ReadonlySet<string>;
  readonly definition: FunctionDef | undefined;
}

/** One tensor of a scope; or a whole node if it only has to have run. */
export interface Target {
  readonly scope: Scope;
  readonly local: string;
  readonly output: number;
}

interface Slots {
  readonly start: number;
  readonly count: number;
}

/** A location for messages: text, or an object that makes it on demand. */
export interface Where {
  toString(): string;
}

export class Scope {
  /** The scope of the main graph, or of the function that is flattened separately. */
  readonly root: Scope;
  /** Tensors that the arguments stand for, with lists expanded. */
  arguments: readonly Target[] = [];
  /** Nodes that must have run before a stateful node of this call. */
  control: readonly Target[] = [];
  readonly slots = new Map<string, Slots>();
  readonly names = new Map<string, string>();
  /** Number of enclosing calls. */
  readonly depth: number;

  constructor(
    readonly body: Body,
    /** For messages: the call's name; "" for the main graph. */
    readonly place: string,
    readonly attributes: Attributes,
    readonly parent: Scope | undefined,
  ) {
    this.depth = parent === undefined ? 0 : parent.depth + 1;
    this.root = parent === undefined ? this : parent.root;
  }

  /** describe() on demand: nearly all locations are never printed. */
  at(local: string): Where {
    return { toString: () => this.describe(local) };
  }

  /** For messages. */
  describe(local: string): string {
    if (this.body.definition === undefined) return `node ${quoted(local)}`;
    return `node ${quoted(local)} of function ${quoted(this.body.definition.signature.name)}`;
  }
}

/** Indexes the nodes of a graph or function. */
export function bodyOf(source: GraphDef | FunctionDef): Body {
  const byName = new Map<string, NodeDef>();
  const duplicates = new Set<string>();
  for (const node of source.nodes) {
    if (byName.has(node.name)) duplicates.add(node.name);
    else byName.set(node.name, node);
  }
  const definition = 'signature' in source ? source : undefined;
  for (const { name } of definition?.signature.inputs ?? []) {
    if (byName.has(name)) duplicates.add(name);
  }
  return { nodes: source.nodes, byName, duplicates, definition };
}

/**
 * The number of tensors of a function's argument. Errors: ModelInvalid if its number is missing,
 * negative or too large.
 */
export function argumentCount(argument: ArgDef, attributes: Attributes, where: Where): number {
  if (argument.typeListAttr !== '') {
    const list = attributeOf(attributes, argument.typeListAttr, 'list');
    if (list !== undefined) return list.types.length;
  } else if (argument.numberAttr !== '') {
    const count = attributeOf(attributes, argument.numberAttr, 'int');
    if (count !== undefined && count >= 0n && count <= BigInt(FLAT_EDGES_MAX)) return Number(count);
  } else {
    return 1;
  }
  const attribute = argument.typeListAttr || argument.numberAttr;
  throw modelInvalid(
    `${where}: expected attribute ${quoted(attribute)} with the number of tensors of ` +
      `argument ${quoted(argument.name)}`,
  );
}

/** Resolves the spelling of nodes' inputs. */
export class Resolver {
  readonly #ops: OpTable;
  readonly #functions: ReadonlyMap<string, FunctionDef>;
  readonly #complete = new WeakMap<NodeDef, { own: Attributes; isOpen: boolean }>();
  readonly #outputs = new WeakMap<Attributes, Map<string, readonly OpOutput[] | undefined>>();

  constructor(ops: OpTable, functions: ReadonlyMap<string, FunctionDef>) {
    this.#ops = ops;
    this.#functions = functions;
  }

  /** The node's attributes, with the caller's values and defaults. */
  attributes(scope: Scope, node: NodeDef): Attributes {
    let known = this.#complete.get(node);
    if (known === undefined) {
      const definition = this.#functions.get(node.op);
      const own = withDefaults(
        node.attributes,
        definition?.signature.defaults ?? this.#ops.defaults(node.op),
      );
      known = { own, isOpen: hasPlaceholders(own) };
      this.#complete.set(node, known);
    }
    if (scope.body.definition === undefined || !known.isOpen) return known.own;
    return substituted(known.own, scope.attributes, scope.describe(node.name));
  }

  /** The node's output arguments; undefined for an unknown operator. */
  outputs(node: NodeDef, attributes: Attributes): readonly OpOutput[] | undefined {
    let byOp = this.#outputs.get(attributes);
    if (byOp === undefined) this.#outputs.set(attributes, (byOp = new Map()));
    if (!byOp.has(node.op)) byOp.set(node.op, this.#findOutputs(node, attributes));
    return byOp.get(node.op);
  }

  #findOutputs(node: NodeDef, attributes: Attributes): readonly OpOutput[] | undefined {
    const definition = this.#functions.get(node.op);
    if (definition === undefined) {
      if (this.#ops.find(node.op) === undefined) return undefined;
      return this.#ops.outputs(node.op, attributes);
    }
    const where: Where = {
      toString: () => `call ${quoted(node.name)} of function ${quoted(node.op)}`,
    };
    return definition.signature.outputs.map((output) => ({
      name: output.name,
      count: argumentCount(output, attributes, where),
    }));
  }

  /** The name of the node in `^name`. */
  control(scope: Scope, name: string, where: Where): Target {
    const slots = scope.slots.get(name);
    if (slots !== undefined) {
      const argument = scope.arguments[slots.start];
      if (argument !== undefined) return argument;
    }
    return { scope, local: this.#existing(scope, name, where).name, output: 0 };
  }

  /**
   * The tensors that an input (not a control input) names: one, or all of a list. Errors:
   * ModelInvalid naming `where`: no such node or output, two nodes of this name.
   */
  data(scope: Scope, text: string, where: Where): readonly Target[] {
    if (scope.body.definition === undefined) return [this.#graphTarget(scope, text, where)];
    const colon = text.indexOf(':');
    const name = colon < 0 ? text : text.slice(0, colon);
    const slots = scope.slots.get(name);
    if (slots !== undefined && !scope.body.duplicates.has(name)) {
      return argumentTargets(scope, slots, colon < 0 ? '' : text.slice(colon + 1), text, where);
    }
    return this.#bodyTargets(scope, text, where);
  }

  #graphTarget(scope: Scope, text: string, where: Where): Target {
    const colon = text.lastIndexOf(':');
    const name = colon < 0 ? text : text.slice(0, colon);
    const output = colon < 0 ? 0 : portNumber(text.slice(colon + 1), text, where);
    const node = this.#existing(scope, name, where);
    this.#checkPort(node, this.attributes(scope, node), output, where);
    return { scope, local: name, output };
  }

  #checkPort(node: NodeDef, attributes: Attributes, output: number, where: Where): void {
    const outputs = this.outputs(node, attributes);
    if (outputs === undefined) return;
    let count = 0;
    for (const output of outputs) count += output.count;
    if (output >= count) {
      throw modelInvalid(
        `${where} refers to output ${output} of node ${quoted(node.name)}, ` +
          `but operator ${quoted(node.op)} has ${count}`,
      );
    }
  }

  #bodyTargets(scope: Scope, text: string, where: Where): readonly Target[] {
    const [name = '', argument = '', index] = text.split(':');
    const node = this.#existing(scope, name, where);
    if (argument === '')
      throw modelInvalid(`${where} takes ${quoted(text)}: expected "node:output:0"`);
    const outputs = this.outputs(node, this.attributes(scope, node));
    const offset = index === undefined ? undefined : portNumber(index, text, where);
    // Nothing can run an operator that the table does not have; it is reported by its name later.
    if (outputs === undefined) return [{ scope, local: name, output: offset ?? 0 }];
    let start = 0;
    for (const output of outputs) {
      if (output.name !== argument) {
        start += output.count;
        continue;
      }
      if (offset === undefined) return targetsOf(scope, name, start, output.count);
      if (offset < output.count) return [{ scope, local: name, output: start + offset }];
      throw modelInvalid(
        `${where} refers to ${quoted(text)}, but output ${quoted(argument)} of operator ` +
          `${quoted(node.op)} has ${output.count} tensors`,
      );
    }
    throw modelInvalid(
      `${where} refers to ${quoted(text)}, but operator ${quoted(node.op)} has no output ` +
        quoted(argument),
    );
  }

  #existing(scope: Scope, name: string, where: Where): NodeDef {
    if (scope.body.duplicates.has(name)) {
      throw modelInvalid(`${where} refers to ${quoted(name)}, but two nodes have this name`);
    }
    const node = scope.body.byName.get(name);
    if (node === undefined) {
      throw modelInvalid(`${where} refers to ${quoted(name)}, but no node has this name`);
    }
    return node;
  }
}

function targetsOf(scope: Scope, local: string, start: number, count: number): Target[] {
  return Array.from({ length: count }, (_, index) => ({ scope, local, output: start + index }));
}

function argumentTargets(
  scope: Scope,
  { start, count }: Slots,
  index: string,
  text: string,
  where: Where,
): readonly Target[] {
  if (index === '') return scope.arguments.slice(start, start + count);
  const offset = portNumber(index, text, where);
  const target = scope.arguments[start + offset];
  if (offset < count && target !== undefined) return [target];
  throw modelInvalid(`${where} refers to ${quoted(text)}, but the argument has ${count} tensors`);
}

function portNumber(digits: string, text: string, where: Where): number {
  const output = /^\d{1,9}$/.test(digits) ? Number(digits) : NaN;
  if (!Number.isNaN(output)) return output;
  throw modelInvalid(`${where} refers to ${quoted(text)}: expected an output number`);
}
