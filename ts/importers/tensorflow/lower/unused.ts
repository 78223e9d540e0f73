// Removes unused nodes from a finished graph: lowerings may add operators whose result turns out to
// be known. Importer's worker thread; pure.
import type { OnnxGraph, OnnxNode } from '../../onnx/builder.js';

/** The nodes that some output needs, in order. A node comes after its dependencies. */
export function usedNodes(nodes: readonly OnnxNode[], outputs: Iterable<string>): OnnxNode[] {
  const needed = new Set(outputs);
  const kept: OnnxNode[] = [];
  for (let i = nodes.length - 1; i >= 0; i--) {
    const node = nodes[i];
    if (node === undefined || !node.outputs.some((name) => needed.has(name))) continue;
    kept.push(node);
    for (const name of namesUsedBy(node)) needed.add(name);
  }
  return kept.reverse();
}

/** Values that a node uses, including those that its subgraphs use from outside. */
export function namesUsedBy(node: OnnxNode): Iterable<string> {
  const { attributes = {} } = node;
  let used: readonly string[] | Set<string> = node.inputs;
  for (const name of Object.keys(attributes)) {
    const attribute = attributes[name];
    if (attribute === undefined || !('graph' in attribute)) continue;
    if (!(used instanceof Set)) used = new Set(used);
    for (const taken of namesTakenBy(attribute.graph)) used.add(taken);
  }
  return used;
}

// Cache: a finished graph does not change, so each nested one is examined once.
const TAKEN = new WeakMap<OnnxGraph, ReadonlySet<string>>();

/**
 * Values that a subgraph uses from outside. Names are unique in a model, including its subgraphs.
 */
function namesTakenBy(graph: OnnxGraph): ReadonlySet<string> {
  const known = TAKEN.get(graph);
  if (known !== undefined) return known;
  const names = new Set(graph.outputs.map((output) => output.name));
  for (const node of graph.nodes) {
    for (const name of namesUsedBy(node)) names.add(name);
  }
  for (const node of graph.nodes) {
    for (const name of node.outputs) names.delete(name);
  }
  for (const input of graph.inputs) names.delete(input.name);
  TAKEN.set(graph, names);
  return names;
}
