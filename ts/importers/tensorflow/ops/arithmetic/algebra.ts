// Element-wise building blocks of lowerings: ONNX operators with broadcast shapes. Importer's
// worker thread.
import type { Lowering, OpContext } from '../../lower/context.js';
import type { Dtype } from '../../types.js';
import { broadcastShapes } from '../../lower/values.js';
import type { TensorValue } from '../../lower/values.js';
import { unlessAny } from './checks.js';

/** An operator with two broadcast inputs; the result has the first one's type, or `dtype`. */
export function binary(
  cx: OpContext,
  type: string,
  a: TensorValue,
  b: TensorValue,
  dtype: Dtype = a.dtype,
): TensorValue {
  return cx.op(type, [a, b], { dtype, shape: broadcastShapes(a.shape, b.shape) });
}

type Binary = (cx: OpContext, a: TensorValue, b: TensorValue) => TensorValue;

const of =
  (type: string, dtype?: Dtype): Binary =>
  (cx, a, b) =>
    binary(cx, type, a, b, dtype);

export const add = of('Add');
export const sub = of('Sub');
export const mul = of('Mul');
export const div = of('Div');
export const max = of('Max');
export const min = of('Min');
export const less = of('Less', 'bool');
export const greaterOrEqual = of('GreaterOrEqual', 'bool');
export const equal = of('Equal', 'bool');
export const and = of('And', 'bool');
export const or = of('Or', 'bool');
export const xor = of('Xor', 'bool');

export const not = (cx: OpContext, a: TensorValue): TensorValue => cx.op('Not', [a]);
export const abs = (cx: OpContext, a: TensorValue): TensorValue => cx.op('Abs', [a]);

/** `yes` if the condition holds, else `no`; all broadcast. */
export function where(
  cx: OpContext,
  condition: TensorValue,
  yes: TensorValue,
  no: TensorValue,
): TensorValue {
  const shape = broadcastShapes(condition.shape, broadcastShapes(yes.shape, no.shape));
  return cx.op('Where', [condition, yes, no], { dtype: yes.dtype, shape });
}

/** A scalar of the value's type. */
export const number = (cx: OpContext, like: TensorValue, value: number): TensorValue =>
  cx.scalar(like.dtype, value);

/** Lowers an operator to one ONNX operator with the same inputs. */
export const unary =
  (type: string): Lowering =>
  (cx) =>
    cx.op(type, [cx.tensor(0)]);

export const binaryLowering =
  (type: string, dtype?: Dtype): Lowering =>
  (cx) =>
    binary(cx, type, cx.tensor(0), cx.tensor(1), dtype);

/** Computes half and bfloat16 in float, and rounds once at the end. */
export function inFloat(
  cx: OpContext,
  inputs: readonly TensorValue[],
  compute: (...wide: TensorValue[]) => TensorValue,
): TensorValue {
  const dtype = inputs[0]?.dtype ?? 'float';
  if (dtype !== 'half' && dtype !== 'bfloat16') return compute(...inputs);
  return cx.cast(compute(...inputs.map((one) => cx.cast(one, 'float'))), dtype);
}

/** The same for several results. */
export function inFloatAll(
  cx: OpContext,
  inputs: readonly TensorValue[],
  compute: (wide: readonly TensorValue[]) => readonly TensorValue[],
): readonly TensorValue[] {
  const dtype = inputs[0]?.dtype ?? 'float';
  if (dtype !== 'half' && dtype !== 'bfloat16') return compute(inputs);
  return compute(inputs.map((one) => cx.cast(one, 'float'))).map((one) => cx.cast(one, dtype));
}

/** A lowering over all tensors of the node, in float if they are half or bfloat16. */
export const floatLowering =
  (compute: (cx: OpContext, ...inputs: TensorValue[]) => TensorValue): Lowering =>
  (cx) =>
    inFloat(cx, cx.tensors(), (...wide) => compute(cx, ...wide));

/**
 * The scalar 1, which fails the request with `text` if any element of `bad` is true. The checked
 * operator's computation must use it.
 */
export function oneUnlessAny(
  cx: OpContext,
  bad: TensorValue,
  dtype: Dtype,
  text: string,
): TensorValue {
  return unlessAny(cx, bad, cx.scalar(dtype, 1), text);
}

/** The single element of a constant of any rank, if it is known. */
export function onlyNumber(cx: OpContext, index: number): number | undefined {
  const numbers = cx.numbers(index) ?? cx.tensor(index).ints;
  return numbers?.length === 1 ? numbers[0] : undefined;
}
