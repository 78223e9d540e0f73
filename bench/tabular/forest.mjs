// Generated forests: full trees of one depth with random thresholds and leaves, the same in every
// run; a forest's result, and the forest as an ONNX model. make_forest_pmml.mjs writes the same
// trees as PMML. Pure.
import { makeFloats } from '../bodies.mjs';

/**
 * Tree `index` of a forest. Nodes are numbered as in a heap: the root is 1, and those from `leaves`
 * on are leaves; a row continues at 2i if its feature is at most the threshold, at 2i + 1
 * otherwise. Thresholds are such that rows in [0, 1) take both ways, and have the 15 to 17 digits
 * of trained ones.
 */
export function drawTree(index, { depth, features }) {
  const leaves = 2 ** depth;
  const drawn = makeFloats(4 * leaves, index + 1);
  return {
    leaves,
    featureOf: (node) => Math.floor(drawn[2 * node] * features),
    thresholdOf: (node) => 0.1 + 0.8 * drawn[2 * node + 1],
    leafOf: (node) => drawn[2 * node] * Math.PI,
  };
}

/** The trees of a forest that returns a sum. */
export function drawForest({ trees, ...shape }) {
  return Array.from({ length: trees }, (_, index) => drawTree(index, shape));
}

/**
 * Returns the forest's result for one row of doubles: its leaves added in the order of the trees.
 */
export function sumOfForest(forest, row) {
  let sum = 0;
  for (const tree of forest) {
    let node = 1;
    while (node < tree.leaves) {
      node = 2 * node + (row[tree.featureOf(node)] <= tree.thresholdOf(node) ? 0 : 1);
    }
    sum += tree.leafOf(node);
  }
  return sum;
}

const doubles = (name, values) => ({
  name,
  type: 'double',
  dims: [values.length],
  data: new Uint8Array(Float64Array.from(values).buffer),
});

/** The forest as an ONNX model for ts/importers/onnx: a TreeEnsembleRegressor in double, input
 * "x" of [rows, features], output "y" of [rows, 1]. */
export function onnxForest(forest, features) {
  const nodes = forest.flatMap((tree, index) =>
    Array.from({ length: 2 * tree.leaves - 1 }, (_, at) => ({ tree, index, node: at + 1 })),
  );
  const ends = nodes.filter(({ tree, node }) => node >= tree.leaves);
  const inner = (value) => (one) => (one.node < one.tree.leaves ? value(one) : 0);
  const ints = (list, value) => ({ ints: list.map(value) });
  const attributes = {
    aggregate_function: { string: 'SUM' },
    n_targets: { int: 1 },
    nodes_treeids: ints(nodes, ({ index }) => index),
    nodes_nodeids: ints(nodes, ({ node }) => node - 1),
    nodes_featureids: ints(
      nodes,
      inner(({ tree, node }) => tree.featureOf(node)),
    ),
    nodes_modes: {
      strings: nodes.map(({ tree, node }) => (node < tree.leaves ? 'BRANCH_LEQ' : 'LEAF')),
    },
    nodes_truenodeids: ints(
      nodes,
      inner(({ node }) => 2 * node - 1),
    ),
    nodes_falsenodeids: ints(
      nodes,
      inner(({ node }) => 2 * node),
    ),
    nodes_values_as_tensor: {
      tensor: doubles('thresholds', nodes.map(inner(({ tree, node }) => tree.thresholdOf(node)))),
    },
    target_treeids: ints(ends, ({ index }) => index),
    target_nodeids: ints(ends, ({ node }) => node - 1),
    target_ids: ints(ends, () => 0),
    target_weights_as_tensor: {
      tensor: doubles(
        'leaves',
        ends.map(({ tree, node }) => tree.leafOf(node)),
      ),
    },
  };
  return {
    opsets: { '': 17, 'ai.onnx.ml': 3 },
    graph: {
      name: 'forest',
      inputs: [{ name: 'x', type: 'double', shape: ['rows', features] }],
      outputs: [{ name: 'y', type: 'float', shape: ['rows', 1] }],
      nodes: [
        {
          op: 'TreeEnsembleRegressor',
          domain: 'ai.onnx.ml',
          inputs: ['x'],
          outputs: ['y'],
          attributes,
        },
      ],
    },
  };
}
