// Facts about a loop that follow from its functions alone. Importer's worker thread; pure.
import { originOf, PASSING } from '../../control-flow/kinds.js';
import type { FlatFunction, FlatNode, Ref } from '../../types.js';

/** The node that computes a value, past pass-through operators. */
export function maker(graph: FlatFunction, ref: Ref): FlatNode | undefined {
  return graph.nodes.get(originOf(graph, ref).node);
}

const INDICES = new WeakMap<FlatFunction, ReadonlyMap<string, number>>();

/** The index of the argument that a value is; undefined if it is computed. */
export function argumentOf(graph: FlatFunction, ref: Ref | undefined): number | undefined {
  if (ref === undefined) return undefined;
  let indices = INDICES.get(graph);
  if (indices === undefined) {
    indices = new Map(graph.args.map((name, i) => [name, i]));
    INDICES.set(graph, indices);
  }
  return indices.get(originOf(graph, ref).node);
}

/** Values that the body returns unchanged. */
export function passedOn(body: FlatFunction): ReadonlySet<number> {
  const same = new Set<number>();
  body.returns.forEach((ref, i) => {
    if (argumentOf(body, ref) === i) same.add(i);
  });
  return same;
}

const USERS = new WeakMap<FlatFunction, ReadonlyMap<string, readonly FlatNode[]>>();

/**
 * Nodes that use an output of the node named `name`, looking through pass-through operators,
 * without those operators themselves.
 */
export function usersOf(graph: FlatFunction, name: string): readonly FlatNode[] {
  let users = USERS.get(graph);
  if (users === undefined) {
    users = findUsers(graph);
    USERS.set(graph, users);
  }
  return users.get(name) ?? [];
}

function findUsers(graph: FlatFunction): ReadonlyMap<string, readonly FlatNode[]> {
  const users = new Map<string, FlatNode[]>();
  for (const node of graph.nodes.values()) {
    if (PASSING.has(node.op)) continue;
    for (const name of new Set(node.inputs.map((ref) => originOf(graph, ref).node))) {
      const own = users.get(name);
      if (own === undefined) users.set(name, [node]);
      else own.push(node);
    }
  }
  return users;
}
