// Layers of one width with ReLU between them, and a final softmax: so little computation that most
// of the time is spent around a run. Pure.
import { node, value } from './nodes.mjs';

/** `weights`: a WeightsFile. -> OnnxModel: "x" [n, width] -> "y" [n, classes]. */
export function mlp(weights, { width, layers, classes }) {
  const nodes = [];
  let at = 'x';
  for (let i = 0; i < layers; i += 1) {
    const w = weights.matrix(`w${i}`, [width, width], width, 2);
    const b = weights.floats(`b${i}`, [width], 0.1);
    nodes.push(node('Gemm', [at, w, b], `sum${i}`), node('Relu', [`sum${i}`], `layer${i}`));
    at = `layer${i}`;
  }
  const w = weights.matrix('w', [width, classes], width);
  const b = weights.floats('b', [classes], 0.1);
  nodes.push(node('Gemm', [at, w, b], 'logits'));
  nodes.push(node('Softmax', ['logits'], 'y', { axis: { int: 1 } }));
  const graph = {
    name: 'mlp',
    inputs: [value('x', 'float', ['n', width])],
    outputs: [value('y', 'float', ['n', classes])],
    nodes,
    initializers: weights.tensors,
  };
  return { graph };
}
