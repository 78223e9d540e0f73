// Patterns that ONNX Runtime's graph optimizers fuse: the results must be those of the unoptimized
// graph, in float, double and half. Optimizers that are wrong for a type are switched off for
// models with that type (native/backend/onnx/fusions.cc).
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { loadModel } from '../../../ts/api.js';
import type {
  OnnxAttribute,
  OnnxModel,
  OnnxNode,
  OnnxTensor,
} from '../../../ts/importers/onnx/builder.js';
import { int64Bytes } from '../../../ts/importers/onnx/builder.js';
import { PATTERNS, type Pattern } from './fusion-patterns.js';
import { folderOf, written } from './support.js';

const TYPES = {
  float: { datatype: 'FP32', tolerance: 2e-5 },
  double: { datatype: 'FP64', tolerance: 1e-12 },
  float16: { datatype: 'FP16', tolerance: 6e-3 },
} as const;
type Type = keyof typeof TYPES;

/** Numbers between -1 and 1 that are the same in every run. */
function numbers(count: number, seed: number): number[] {
  let state = seed;
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.fround(state / 2 ** 31 - 1);
  });
}

const count = (dims: readonly number[]): number => dims.reduce((a, b) => a * b, 1);

function halfBits(value: number): number {
  const bits = new Uint32Array(Float32Array.of(value).buffer)[0] ?? 0;
  const sign = (bits >>> 16) & 0x8000;
  const exponent = ((bits >>> 23) & 0xff) - 112;
  if (exponent <= 0) return sign;
  return sign | (exponent << 10) | ((bits >>> 13) & 0x3ff);
}

function bytesOf(type: Type, values: readonly number[]): Uint8Array {
  const array =
    type === 'float'
      ? Float32Array.from(values)
      : type === 'double'
        ? Float64Array.from(values)
        : Uint16Array.from(values, halfBits);
  return new Uint8Array(array.buffer);
}

function modelOf(pattern: Pattern, type: Type): OnnxModel {
  const initializers: OnnxTensor[] = Object.entries(pattern.weights ?? {}).map(
    ([name, given], i) => {
      const isShape = typeof given === 'number';
      const dims = isShape ? [] : given;
      const values = isShape
        ? [given]
        : numbers(count(dims), 77 + i).map((one) =>
            pattern.positive?.includes(name) === true ? Math.abs(one) + 0.1 : one,
          );
      return { name, type, dims, data: bytesOf(type, values) };
    },
  );
  for (const [name, values] of Object.entries(pattern.integers ?? {})) {
    initializers.push({ name, type: 'int64', dims: [values.length], data: int64Bytes(values) });
  }
  const nodes = pattern.nodes.map(
    ([op, inputs, output, attributes = {}]): OnnxNode => ({
      op,
      inputs: inputs.split(' '),
      outputs: [output],
      attributes: attributes as Record<string, OnnxAttribute>,
    }),
  );
  return {
    opsets: { '': pattern.opset ?? 17 },
    graph: {
      name: 'pattern',
      inputs: Object.entries(pattern.inputs).map(([name, dims]) => ({
        name,
        type,
        shape: dims.map((_, axis) => `${name}${axis}`),
      })),
      outputs: [{ name: 'y', type }],
      initializers,
      nodes,
    },
  };
}

type Answer = ArrayLike<number> | string;

async function answer(
  t: TestContext,
  pattern: Pattern,
  type: Type,
  graphOptimization: 'all' | 'none',
): Promise<Answer> {
  const path = written(folderOf(t), 'model.onnx', modelOf(pattern, type));
  const inputs = Object.fromEntries(
    Object.entries(pattern.inputs).map(([name, shape], i) => [
      name,
      { data: numbers(count(shape), 5 + i), shape, datatype: TYPES[type].datatype },
    ]),
  );
  try {
    const model = await loadModel(path, { graphOptimization });
    const { y } = await model.infer(inputs);
    await model.close();
    return y?.data as ArrayLike<number>;
  } catch (error) {
    return (error as Error).message;
  }
}

describe('fused patterns', () => {
  for (const [name, pattern] of Object.entries(PATTERNS)) {
    for (const type of Object.keys(TYPES) as Type[]) {
      it(`answers "${name}" of ${type} as it is written`, async (t) => {
        const written = await answer(t, pattern, type, 'none');
        const fused = await answer(t, pattern, type, 'all');
        // A type for which an operator has no kernel is refused either way.
        if (typeof written === 'string') {
          assert.match(written, /NOT_IMPLEMENTED|not find an implementation|not implemented/i);
          if (typeof fused === 'string') return;
        }
        assert.notEqual(typeof fused, 'string', fused as string);
        if (typeof written === 'string' || typeof fused === 'string') return;
        const { tolerance } = TYPES[type];
        for (let i = 0; i < written.length; i++) {
          const [want = NaN, got = NaN] = [written[i], fused[i]];
          const isClose = Math.abs(want - got) <= tolerance * (Math.abs(want) + 0.1);
          assert.ok(isClose, `element ${i}: expected ${want}, got ${got}`);
        }
      });
    }
  }
});
