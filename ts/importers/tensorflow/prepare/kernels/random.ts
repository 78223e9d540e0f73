// Interpreter kernels for random initial values. TensorFlow draws new ones at every load; here they
// are derived from the node's name, so that a model loads identically every time. Importer's worker
// thread. Source: tensorflow/core/ops/random_ops.cc (shapes, ranges).
import { typeAttribute } from '../attributes.js';
import type { Kernel, Kernels } from '../interpreter.js';
import { computedCount, integersOf, tensorOf } from '../tensors.js';
import { tensorInput } from './inputs.js';

const UINT32_RANGE = 4_294_967_296;
const FNV_OFFSET = 2_166_136_261;
const FNV_PRIME = 16_777_619;
const TRUNCATED_AT = 2;

type Source = () => number;

/** Numbers in [0, 1) that depend only on the name: FNV-1a, then mulberry32. */
function uniformSource(name: string): Source {
  let state = FNV_OFFSET;
  for (let at = 0; at < name.length; at += 1) {
    state = Math.imul(state ^ name.charCodeAt(at), FNV_PRIME);
  }
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / UINT32_RANGE;
  };
}

// Box-Muller transform.
function normal(uniform: Source): number {
  return Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
}

function truncatedNormal(uniform: Source): number {
  let value = normal(uniform);
  while (Math.abs(value) >= TRUNCATED_AT) value = normal(uniform);
  return value;
}

function random(draw: (uniform: Source) => number): Kernel {
  return (call) => {
    const { node, session } = call;
    const shape = integersOf(tensorInput(call, 0));
    const count = computedCount(shape);
    session.spend(count);
    session.warn('variables are initialised with random numbers when the model is loaded');
    const uniform = uniformSource(node.name);
    const values = Array.from({ length: count }, () => draw(uniform));
    return [tensorOf(typeAttribute(node.attributes, 'dtype') ?? 'float', shape, values)];
  };
}

export const RANDOM_KERNELS: Kernels = {
  RandomUniform: random((uniform) => uniform()),
  RandomStandardNormal: random(normal),
  TruncatedNormal: random(truncatedNormal),
};
