// Fourier transforms, by Serval's own operators. Source: tensorflow/core/kernels/fft_ops.cc.
// Importer's worker thread.
import { complexValue } from '../../lower/complex.js';
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { TensorValue } from '../../lower/values.js';
import type { Shape } from '../../types.js';
import { complexInput } from './parts.js';

/**
 * The dims with the last ones set by fft_length. `half`: the last one is the number of
 * coefficients.
 */
function lengthened(shape: Shape, lengths: TensorValue, dims: number, half: boolean): Shape {
  return shape?.map((_, axis) => {
    const at = axis - (shape.length - dims);
    if (at < 0) return shape[axis];
    const length = lengths.ints?.[at];
    if (length === undefined) return undefined;
    return half && at === dims - 1 && length !== 0 ? Math.floor(length / 2) + 1 : length;
  });
}

const requireDims = (cx: OpContext, value: TensorValue, dims: number): void => {
  if (value.shape !== undefined && value.shape.length < dims) {
    cx.fail(`Input must have rank of at least ${dims} but got: ${cx.describe(value)}`);
  }
};

/** Transforms between complex tensors; the kernel has the operator's name. */
const whole =
  (name: string, dims: number): Lowering =>
  (cx) => {
    const { real, imaginary } = complexInput(cx, 0);
    requireDims(cx, real, dims);
    const [first, second] = cx.custom(name, [real, imaginary], [real, imaginary]);
    if (first === undefined || second === undefined) return cx.fail('has no output');
    return complexValue(first, second);
  };

const ofReal =
  (name: string, dims: number): Lowering =>
  (cx) => {
    const [x, lengths] = [cx.tensor(0), cx.tensor(1)];
    requireDims(cx, x, dims);
    const spec = { dtype: x.dtype, shape: lengthened(x.shape, lengths, dims, true) };
    const [real, imaginary] = cx.custom(name, [x, lengths], [spec, spec]);
    if (real === undefined || imaginary === undefined) return cx.fail('has no output');
    return complexValue(real, imaginary);
  };

const toReal =
  (name: string, dims: number): Lowering =>
  (cx) => {
    const { real, imaginary } = complexInput(cx, 0);
    const lengths = cx.tensor(1);
    requireDims(cx, real, dims);
    const spec = { dtype: real.dtype, shape: lengthened(real.shape, lengths, dims, false) };
    return cx.custom(name, [real, imaginary, lengths], [spec]);
  };

const onlyComplex: Lowering = (cx) => cx.fail('its input must be complex');

const forms = ['', '2D', '3D'].map((suffix, i): Operators => {
  const dims = i + 1;
  const complex = (name: string, lower: Lowering): Operators => ({
    [name]: { lower: onlyComplex, complex: lower, dtypes: 'complex' },
  });
  const [forward, back, half] = [`FFT${suffix}`, `IFFT${suffix}`, `IRFFT${suffix}`];
  return {
    ...complex(forward, whole(forward, dims)),
    ...complex(back, whole(back, dims)),
    ...complex(half, toReal(half, dims)),
    [`RFFT${suffix}`]: { lower: ofReal(`RFFT${suffix}`, dims), dtypes: 'float, double' },
  };
});

export const FOURIER: Operators = Object.assign({}, ...forms) as Operators;
