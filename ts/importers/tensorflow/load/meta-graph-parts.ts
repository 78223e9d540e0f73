// Common parts of SavedModels and session bundles: collections, init ops, nodes by name. Importer's
// worker thread; pure.
import { modelInvalid } from '../../../base/errors.js';
import type { AnyMessage, MetaGraphDef } from '../proto/meta-graph.js';
import type { GraphDef, NodeDef } from '../types.js';

/** "a:1" -> node a, port 1; "^a" and "a" are port 0. */
export function tensorOf(name: string): { readonly node: string; readonly output: number } {
  const plain = name.startsWith('^') ? name.slice(1) : name;
  const colon = plain.lastIndexOf(':');
  const output = colon < 0 ? '0' : plain.slice(colon + 1);
  if (!/^\d{1,6}$/.test(output)) return { node: plain, output: 0 };
  return { node: colon < 0 ? plain : plain.slice(0, colon), output: Number(output) };
}

export function nodesByName(graph: GraphDef): ReadonlyMap<string, NodeDef> {
  return new Map(graph.nodes.map((node) => [node.name, node]));
}

/**
 * The collection's messages of this type; undefined if there is no such collection. Errors:
 * ModelInvalid if it has other contents.
 */
export function anyCollection(
  { collections }: MetaGraphDef,
  key: string,
  typeName: string,
): readonly AnyMessage[] | undefined {
  const found = collections.get(key);
  if (found === undefined) return undefined;
  if (found.kind !== 'any') {
    throw modelInvalid(`collection ${key}: expected messages, got another kind of list`);
  }
  const other = found.values.find((value) => value.typeName !== typeName);
  if (other === undefined) return found.values;
  throw modelInvalid(`collection ${key}: expected ${typeName}, got "${other.typeName}"`);
}

/**
 * The op named by a collection of exactly one; undefined if there is no such collection. Errors:
 * ModelInvalid.
 */
export function opCollection({ collections }: MetaGraphDef, key: string): string | undefined {
  const found = collections.get(key);
  if (found === undefined) return undefined;
  const [name] = found.kind === 'nodes' ? found.values : [];
  if (found.kind === 'nodes' && name !== undefined && found.values.length === 1) {
    return tensorOf(name).node;
  }
  const got = found.kind === 'nodes' ? `${found.values.length}` : 'another kind of list';
  throw modelInvalid(`collection ${key}: expected the name of one op, got ${got}`);
}

/** Errors: ModelInvalid if the graph has no such op. */
export function checkInitOp(initOp: string | undefined, graph: GraphDef): void {
  if (initOp === undefined || graph.nodes.some(({ name }) => name === initOp)) return;
  throw modelInvalid(`init op "${initOp}": expected a node of the graph, there is none`);
}
