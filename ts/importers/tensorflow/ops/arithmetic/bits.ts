// Bit operations on integers. Source: tensorflow/core/kernels/cwise_ops.h (left_shift_op ...).
// Importer's worker thread.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { Dtype } from '../../types.js';
import { broadcastShapes } from '../../lower/values.js';
import type { TensorValue } from '../../lower/values.js';
import { binaryLowering, less, number, unary, where } from './algebra.js';

const BITS: Partial<Record<Dtype, number>> = {
  int8: 8,
  uint8: 8,
  int16: 16,
  uint16: 16,
  int32: 32,
  uint32: 32,
  int64: 64,
  uint64: 64,
};

/** ONNX shifts unsigned integers only. */
function shifted(cx: OpContext, x: TensorValue, by: TensorValue, direction: string): TensorValue {
  const wide = BITS[x.dtype] === 64 ? 'uint64' : 'uint32';
  const [a, b] = [cx.cast(x, wide), cx.cast(by, wide)];
  const shape = broadcastShapes(a.shape, b.shape);
  const attributes = { direction: { string: direction } };
  return cx.cast(cx.op('BitShift', [a, b], { shape, attributes }), x.dtype);
}

/** Shift amounts outside the type's bits are clamped. */
function amount(cx: OpContext): TensorValue {
  const y = cx.tensor(1);
  const last = (BITS[y.dtype] ?? 1) - 1;
  return cx.op('Clip', [y, number(cx, y, 0), number(cx, y, last)]);
}

const leftShift: Lowering = (cx) => shifted(cx, cx.tensor(0), amount(cx), 'LEFT');

/** Negative numbers are shifted through their complement, so that the sign is kept. */
const rightShift: Lowering = (cx) => {
  const x = cx.tensor(0);
  if (x.dtype.startsWith('u')) return shifted(cx, x, amount(cx), 'RIGHT');
  const isNegative = less(cx, x, number(cx, x, 0));
  const positive = where(cx, isNegative, cx.op('BitwiseNot', [x]), x);
  const out = shifted(cx, positive, amount(cx), 'RIGHT');
  return where(cx, isNegative, cx.op('BitwiseNot', [out]), out);
};

const INTEGERS = 'integers';

export const BITWISE: Operators = {
  BitwiseAnd: { lower: binaryLowering('BitwiseAnd'), dtypes: INTEGERS },
  BitwiseOr: { lower: binaryLowering('BitwiseOr'), dtypes: INTEGERS },
  BitwiseXor: { lower: binaryLowering('BitwiseXor'), dtypes: INTEGERS },
  Invert: { lower: unary('BitwiseNot'), dtypes: INTEGERS },
  LeftShift: { lower: leftShift, dtypes: INTEGERS },
  RightShift: { lower: rightShift, dtypes: INTEGERS },
};
