// BERT as PyTorch's exporter writes it, so that the runtime finds the patterns that it fuses:
// embeddings, layers of attention and of two products, and the pooler over the first token. All
// tokens belong to segment 0, whose embedding is included in the position embeddings. Pure. Source:
// arXiv 1810.04805; the operators of Hugging Face's BertModel.
import { ELEMENT_TYPES } from '../../../dist/importers/onnx/builder.js';
import { node, value } from './nodes.mjs';

const EPSILON = 1e-12;
const MASKED = -10_000;
const SMALL = 0.02;

class Layers {
  nodes = [];
  #count = 0;

  constructor(weights, { hidden, heads, feedForward }) {
    this.weights = weights;
    Object.assign(this, { hidden, heads, feedForward });
    this.one = weights.constant('one', 1);
    this.half = weights.constant('half', 0.5);
    this.masked = weights.constant('masked', MASKED);
    this.root = weights.constant('root', Math.sqrt(hidden / heads));
    this.rootOfTwo = weights.constant('root_of_two', Math.SQRT2);
    this.split = weights.integers('split', [0, 0, heads, hidden / heads]);
    this.joined = weights.integers('joined', [0, 0, hidden]);
  }

  apply(op, inputs, attributes) {
    const output = `t${(this.#count += 1)}`;
    this.nodes.push(node(op, inputs, output, attributes));
    return output;
  }

  /** `from` [..., into] -> [..., out]. */
  dense(from, name, into, out) {
    const w = this.weights.matrix(`${name}.w`, [into, out], into);
    const b = this.weights.floats(`${name}.b`, [out], SMALL);
    return this.apply('Add', [this.apply('MatMul', [from, w]), b]);
  }

  normalize(from, name) {
    const scale = this.weights.floats(`${name}.scale`, [this.hidden], SMALL, 1);
    const shift = this.weights.floats(`${name}.shift`, [this.hidden], SMALL);
    const attributes = { axis: { int: -1 }, epsilon: { float: EPSILON } };
    return this.apply('LayerNormalization', [from, scale, shift], attributes);
  }

  /** [n, tokens] of 1 and 0 -> the term added to scores: 0 and MASKED, [n, 1, 1, tokens]. */
  maskFrom(mask) {
    const axes = [1, 2].map((axis) => this.weights.integers(`axis${axis}`, [axis]));
    const wide = axes.reduce((from, axis) => this.apply('Unsqueeze', [from, axis]), mask);
    const floats = this.apply('Cast', [wide], { to: { int: ELEMENT_TYPES.float } });
    return this.apply('Mul', [this.apply('Sub', [this.one, floats]), this.masked]);
  }

  perHead(from, name, perm) {
    const dense = this.dense(from, name, this.hidden, this.hidden);
    const split = this.apply('Reshape', [dense, this.split]);
    return this.apply('Transpose', [split], { perm: { ints: perm } });
  }

  attention(from, mask, name) {
    const query = this.perHead(from, `${name}.query`, [0, 2, 1, 3]);
    const key = this.perHead(from, `${name}.key`, [0, 2, 3, 1]);
    const values = this.perHead(from, `${name}.value`, [0, 2, 1, 3]);
    const scores = this.apply('Div', [this.apply('MatMul', [query, key]), this.root]);
    const masked = this.apply('Add', [scores, mask]);
    const shares = this.apply('Softmax', [masked], { axis: { int: -1 } });
    const mixed = this.apply('Transpose', [this.apply('MatMul', [shares, values])], {
      perm: { ints: [0, 2, 1, 3] },
    });
    const joined = this.apply('Reshape', [mixed, this.joined]);
    return this.dense(joined, `${name}.output`, this.hidden, this.hidden);
  }

  gelu(from) {
    const erf = this.apply('Erf', [this.apply('Div', [from, this.rootOfTwo])]);
    const both = this.apply('Mul', [from, this.apply('Add', [erf, this.one])]);
    return this.apply('Mul', [both, this.half]);
  }

  layer(from, mask, name) {
    const attended = this.attention(from, mask, `${name}.attention`);
    const first = this.normalize(this.apply('Add', [attended, from]), `${name}.first`);
    const wide = this.gelu(this.dense(first, `${name}.wide`, this.hidden, this.feedForward));
    const narrow = this.dense(wide, `${name}.narrow`, this.feedForward, this.hidden);
    return this.normalize(this.apply('Add', [narrow, first]), `${name}.second`);
  }
}

/** `weights`: a WeightsFile. -> OnnxModel: "input_ids" and "attention_mask", int64
 * [n, tokens] -> "pooled" [n, hidden]. */
export function bert(weights, shape) {
  const { layers: count, hidden, tokens, vocabulary } = shape;
  const layers = new Layers(weights, shape);
  const words = weights.floats('words', [vocabulary, hidden], SMALL);
  const places = weights.floats('places', [1, tokens, hidden], SMALL);
  const found = layers.apply('Gather', [words, 'input_ids'], { axis: { int: 0 } });
  let at = layers.normalize(layers.apply('Add', [found, places]), 'embeddings');
  const mask = layers.maskFrom('attention_mask');
  for (let i = 0; i < count; i += 1) at = layers.layer(at, mask, `layer${i}`);
  const token = { name: 'first', type: 'int64', dims: [], data: new Uint8Array(8) };
  const first = layers.apply('Gather', [at, token.name], { axis: { int: 1 } });
  layers.nodes.push(node('Tanh', [layers.dense(first, 'pooler', hidden, hidden)], 'pooled'));
  const graph = {
    name: 'bert',
    inputs: ['input_ids', 'attention_mask'].map((name) => value(name, 'int64', ['n', tokens])),
    outputs: [value('pooled', 'float', ['n', hidden])],
    nodes: layers.nodes,
    initializers: [...weights.tensors, token],
  };
  return { graph };
}
