// ResNet with bottlenecks in its deployed form: batch normalization is folded into the weights of
// the convolutions. The stride is in the 3x3 convolution (v1.5, as in PyTorch's and NVIDIA's
// models). Pure. Source: arXiv 1512.03385, table 1 and figure 5.
import { node, value } from './nodes.mjs';

const EXPANSION = 4;
const CHANNELS_IN = 3;
// A block's branch is small relative to its input, so that values stay near 1 throughout.
const BRANCH_GAIN = 0.2;

class Layers {
  nodes = [];
  #weights;
  #count = 0;

  constructor(weights) {
    this.#weights = weights;
  }

  apply(op, inputs, attributes) {
    const output = `t${(this.#count += 1)}`;
    this.nodes.push(node(op, inputs, output, attributes));
    return output;
  }

  relu(from) {
    return this.apply('Relu', [from]);
  }

  /** `gain`: of the variance; 2 compensates for ReLU. */
  conv(from, [into, out], size, stride = 1, gain = 2) {
    const name = `conv${this.#count}`;
    const w = this.#weights.matrix(`${name}.w`, [out, into, size, size], into * size * size, gain);
    const b = this.#weights.floats(`${name}.b`, [out], 0.1);
    const pad = (size - 1) / 2;
    return this.apply('Conv', [from, w, b], {
      kernel_shape: { ints: [size, size] },
      strides: { ints: [stride, stride] },
      pads: { ints: [pad, pad, pad, pad] },
    });
  }

  bottleneck(from, into, width, stride) {
    const out = width * EXPANSION;
    const narrow = this.relu(this.conv(from, [into, width], 1));
    const spatial = this.relu(this.conv(narrow, [width, width], 3, stride));
    const branch = this.conv(spatial, [width, out], 1, 1, BRANCH_GAIN);
    const past = into === out ? from : this.conv(from, [into, out], 1, stride, 1);
    return this.relu(this.apply('Add', [branch, past]));
  }
}

/** `weights`: a WeightsFile; `blocks`: the bottlenecks of each stage. Returns an OnnxModel:
 * "image" [n, 3, size, size] -> "logits" [n, classes]. */
export function resnet(weights, { size, width, blocks, classes }) {
  const layers = new Layers(weights);
  let at = layers.relu(layers.conv('image', [CHANNELS_IN, width], 7, 2));
  at = layers.apply('MaxPool', [at], {
    kernel_shape: { ints: [3, 3] },
    strides: { ints: [2, 2] },
    pads: { ints: [1, 1, 1, 1] },
  });
  let channels = width;
  blocks.forEach((count, stage) => {
    for (let i = 0; i < count; i += 1) {
      at = layers.bottleneck(at, channels, width * 2 ** stage, i === 0 && stage > 0 ? 2 : 1);
      channels = width * 2 ** stage * EXPANSION;
    }
  });
  at = layers.apply('Flatten', [layers.apply('GlobalAveragePool', [at])]);
  const w = weights.matrix('fc.w', [channels, classes], channels);
  layers.nodes.push(node('Gemm', [at, w, weights.floats('fc.b', [classes], 0.1)], 'logits'));
  const graph = {
    name: 'resnet',
    inputs: [value('image', 'float', ['n', CHANNELS_IN, size, size])],
    outputs: [value('logits', 'float', ['n', classes])],
    nodes: layers.nodes,
    initializers: weights.tensors,
  };
  return { graph };
}
