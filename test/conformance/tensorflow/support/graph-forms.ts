// A variant of a golden graph in which the shapes of all fed tensors are declared.
import type { Attribute, GraphDef, NodeDef } from '../../../../ts/importers/tensorflow/types.js';

/** "node:port" without its port. */
export const nodeOf = (tensor: string): string => tensor.replace(/:\d+$/, '');

const SHAPED_SUFFIX = '/shaped';

/**
 * Returns the graph with a declared shape for every reader of a fed node's output 0. Lowerings then
 * see static shapes; for fed tensors they see none.
 */
export function withShapes(
  graph: GraphDef,
  shapes: ReadonlyMap<string, readonly number[]>,
): GraphDef {
  const redirected = (input: string): string => {
    const name = input.replace(/:0$/, '');
    return shapes.has(name) ? name + SHAPED_SUFFIX : input;
  };
  const nodes = graph.nodes.map((node) => ({ ...node, inputs: node.inputs.map(redirected) }));
  const types = new Map(graph.nodes.map((node) => [node.name, node.attributes.get('dtype')]));
  const shaped = [...shapes].map(([fed, value]): NodeDef => {
    const attributes = new Map<string, Attribute>([['shape', { kind: 'shape', value }]]);
    const type = types.get(fed);
    if (type !== undefined) attributes.set('T', type);
    return { name: fed + SHAPED_SUFFIX, op: 'EnsureShape', inputs: [fed], attributes };
  });
  return { ...graph, nodes: [...nodes, ...shaped] };
}
