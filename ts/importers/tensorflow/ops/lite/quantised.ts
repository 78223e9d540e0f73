// Quantised numbers of TensorFlow Lite and back, as ONNX's QuantizeLinear and DequantizeLinear: the
// runtime fuses them with the operators between, and computes those on integers. Importer's worker
// thread. Source: tensorflow/lite/kernels/internal/reference/{quantize,dequantize}.h.
import { CONTRIB_DOMAIN } from '../../../../model/onnx-names.js';
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { OnnxAttributes } from '../../lower/graph-builder.js';
import { numbersTensor } from '../../lower/tensors.js';
import type { TensorValue } from '../../lower/values.js';
import { INLINE_BYTES_MAX, tensorByteLength } from '../../lower/weights.js';
import type { Dtype } from '../../types.js';

/** Types of the operators in ONNX's own domain; those of the runtime's domain have int16 too. */
const STANDARD: ReadonlySet<Dtype> = new Set(['int8', 'uint8', 'int32']);

interface Steps {
  readonly scale: TensorValue;
  /** undefined: 0. */
  readonly zero: TensorValue | undefined;
  readonly attributes: OnnxAttributes;
}

function stepsOf(cx: OpContext, dtype: Dtype): Steps {
  const { floats } = cx.list('scales');
  const zeros = cx.ints('zeros');
  const shape = floats.length === 1 ? [] : [floats.length];
  const numbers = (of: Dtype, values: readonly number[]): TensorValue =>
    cx.constant(numbersTensor(of, shape, values));
  const isZero = zeros.every((zero) => zero === 0);
  return {
    scale: numbers('float', floats),
    zero: dtype === 'int32' && isZero ? undefined : ownZeros(cx, dtype, shape, zeros),
    attributes: floats.length === 1 ? {} : { axis: { int: cx.int('axis') } },
  };
}

/**
 * The runtime gives zero points and constants of int8 another type, and fails if two nodes share
 * them: small ones with equal contents would be one.
 */
function ownConstant(cx: OpContext, value: TensorValue): TensorValue {
  const { constant, dtype, shape } = value;
  if (constant === undefined || tensorByteLength(constant) >= INLINE_BYTES_MAX) return value;
  return { kind: 'tensor', name: cx.builder.model.own(constant), dtype, shape };
}

function ownZeros(
  cx: OpContext,
  dtype: Dtype,
  shape: readonly number[],
  zeros: readonly number[],
): TensorValue {
  return ownConstant(cx, cx.constant(numbersTensor(dtype, shape, zeros)));
}

function linear(
  cx: OpContext,
  type: string,
  value: TensorValue,
  stored: Dtype,
  made: Dtype,
): TensorValue {
  const { scale, zero, attributes } = stepsOf(cx, stored);
  const inputs = [value, scale, ...(zero === undefined ? [] : [zero])];
  const domain = STANDARD.has(stored) ? '' : CONTRIB_DOMAIN;
  const spec = { dtype: made, shape: value.shape };
  const [out] = cx.builder.add(type, inputs, [spec], attributes, domain);
  return out ?? cx.fail('has no output');
}

/** By arithmetic: also for 64-bit integers, which biases of 16-bit models are. */
function plain(cx: OpContext, value: TensorValue): TensorValue {
  const { floats } = cx.list('scales');
  const after = floats.length === 1 ? 0 : cx.rank(value) - cx.int('axis') - 1;
  const ones = Array.from({ length: after }, () => 1);
  const shape = floats.length === 1 ? [] : [floats.length, ...ones];
  const numbers = (values: readonly number[]): TensorValue =>
    cx.constant(numbersTensor('float', shape, values));
  const { shape: dims } = value;
  const moved = cx.op('Sub', [cx.cast(value, 'float'), numbers(cx.ints('zeros'))], { shape: dims });
  return cx.op('Mul', [moved, numbers(floats)], { shape: dims });
}

const dequantize: Lowering = (cx) => {
  const value = cx.tensor(0);
  if (value.dtype === 'int64' || cx.bool('plain', false)) return plain(cx, value);
  return linear(cx, 'DequantizeLinear', ownConstant(cx, value), value.dtype, 'float');
};

const quantize: Lowering = (cx) => {
  const dtype = cx.type('T');
  if (dtype === 'int32' || dtype === 'int64') cx.fail(`numbers quantised to ${dtype}`);
  return linear(cx, 'QuantizeLinear', cx.cast(cx.tensor(0), 'float'), dtype, dtype);
};

export const LITE_QUANTISED: Operators = {
  LiteDequantize: { lower: dequantize },
  LiteQuantize: { lower: quantize },
};
