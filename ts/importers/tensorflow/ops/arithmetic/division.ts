// Divisions and remainders, for integers with TensorFlow's signs and errors. Source:
// tensorflow/core/kernels/cwise_ops.h (safe_div_or_mod_op, google_floor_div, google_floor_fmod);
// the smallest integer divided by -1 wraps around. Importer's worker thread.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import { broadcastShapes, isFloating } from '../../lower/values.js';
import type { TensorValue } from '../../lower/values.js';
import {
  abs,
  add,
  and,
  binary,
  div,
  equal,
  floatLowering,
  less,
  mul,
  not,
  number,
  sub,
  where,
  xor,
} from './algebra.js';
import { unlessAny } from './checks.js';

/**
 * Division by an integer 0, or of the smallest integer by -1, would crash the process, so the
 * runtime's operators must never see them. Types up to 32 bits are divided as doubles, which are
 * exact there; 64-bit ones by a divisor in which 0 and -1 are replaced.
 */
const isWide = (value: TensorValue): boolean => value.dtype === 'int64' || value.dtype === 'uint64';

/** The divisor; fails the request if one of its elements is 0. */
function nonZero(cx: OpContext, y: TensorValue): TensorValue {
  const numbers = cx.numbers(1);
  if (numbers !== undefined) {
    if (numbers.includes(0)) cx.fail('divides by zero');
    return y;
  }
  const isZero = equal(cx, y, number(cx, y, 0));
  return unlessAny(cx, isZero, y, 'Integer division by zero');
}

/** A 64-bit quotient, rounded towards zero. */
function wideQuotient(cx: OpContext, x: TensorValue, y: TensorValue): TensorValue {
  if (x.dtype === 'uint64' || cx.numbers(1)?.includes(-1) === false) return div(cx, x, y);
  const isMinusOne = equal(cx, y, number(cx, y, -1));
  const quotient = div(cx, x, where(cx, isMinusOne, number(cx, y, 1), y));
  return where(cx, isMinusOne, sub(cx, number(cx, x, 0), x), quotient);
}

/** Whether the remainder's sign differs from the divisor's: the floor is then one less. */
function isBelow(cx: OpContext, rest: TensorValue, y: TensorValue): TensorValue {
  const zero = number(cx, y, 0);
  const differs = xor(cx, less(cx, rest, zero), less(cx, y, zero));
  return and(cx, not(cx, equal(cx, rest, zero)), differs);
}

function truncatedInt(cx: OpContext, x: TensorValue, y: TensorValue): TensorValue {
  const divisor = nonZero(cx, y);
  if (isWide(x)) return wideQuotient(cx, x, divisor);
  const quotient = div(cx, cx.cast(x, 'double'), cx.cast(divisor, 'double'));
  // Through int64: the smallest integer divided by -1 overflows its own type.
  return cx.cast(cx.cast(quotient, 'int64'), x.dtype);
}

function floorInt(cx: OpContext, x: TensorValue, y: TensorValue): TensorValue {
  if (isWide(x)) {
    const divisor = nonZero(cx, y);
    const quotient = wideQuotient(cx, x, divisor);
    if (x.dtype === 'uint64') return quotient;
    const rest = sub(cx, x, mul(cx, quotient, divisor));
    return sub(cx, quotient, cx.cast(isBelow(cx, rest, divisor), x.dtype));
  }
  return cx.cast(cx.cast(floorQuotient(cx, x, nonZero(cx, y)), 'int64'), x.dtype);
}

function floorQuotient(cx: OpContext, x: TensorValue, y: TensorValue): TensorValue {
  return cx.op('Floor', [div(cx, cx.cast(x, 'double'), cx.cast(y, 'double'))]);
}

/** Remainder with the divisor's sign. */
function floorModInt(cx: OpContext, x: TensorValue, y: TensorValue): TensorValue {
  const divisor = nonZero(cx, y);
  if (!isWide(x)) {
    const whole = mul(cx, floorQuotient(cx, x, divisor), cx.cast(divisor, 'double'));
    return cx.cast(cx.cast(sub(cx, cx.cast(x, 'double'), whole), 'int64'), x.dtype);
  }
  if (x.dtype === 'uint64') return binary(cx, 'Mod', x, divisor);
  // The remainder of a division by 1 equals that by -1.
  const isMinusOne = equal(cx, divisor, number(cx, divisor, -1));
  return binary(cx, 'Mod', x, where(cx, isMinusOne, number(cx, divisor, 1), divisor));
}

/** Remainder with the dividend's sign. */
function truncatedModInt(cx: OpContext, x: TensorValue, y: TensorValue): TensorValue {
  const divisor = nonZero(cx, y);
  if (isWide(x)) return sub(cx, x, mul(cx, wideQuotient(cx, x, divisor), divisor));
  const quotient = div(cx, cx.cast(x, 'double'), cx.cast(divisor, 'double'));
  const whole = mul(cx, cx.cast(cx.cast(quotient, 'int64'), 'double'), cx.cast(divisor, 'double'));
  return cx.cast(cx.cast(sub(cx, cx.cast(x, 'double'), whole), 'int64'), x.dtype);
}

/** Floats: fmod, not x - floor(x / y) * y: 100 mod 0.4 is 0.39998. */
function fmod(cx: OpContext, x: TensorValue, y: TensorValue): TensorValue {
  const shape = broadcastShapes(x.shape, y.shape);
  return cx.op('Mod', [x, y], { shape, attributes: { fmod: { int: 1 } } });
}

const floorModFloat = floatLowering((cx, x, y) => {
  const rest = fmod(cx, x, y);
  return where(cx, isBelow(cx, rest, y), add(cx, rest, y), rest);
});

const truncatedFloat = floatLowering((cx, x, y) => {
  const quotient = div(cx, x, y);
  const down = cx.op('Floor', [abs(cx, quotient)]);
  return mul(cx, cx.op('Sign', [quotient]), down);
});

/** The quotient is first rounded to its own type: 4 // 0.4 is 10 in half, where 0.4 is smaller. */
const floorFloat: Lowering = (cx) => cx.op('Floor', [div(cx, cx.tensor(0), cx.tensor(1))]);
const realDivide = floatLowering(div);
const truncatedModFloat = floatLowering(fmod);

type IntForm = (cx: OpContext, x: TensorValue, y: TensorValue) => TensorValue;

const byType =
  (float: Lowering, int: IntForm): Lowering =>
  (cx) => {
    const [x, y] = [cx.tensor(0), cx.tensor(1)];
    return isFloating(x.dtype) ? float(cx) : int(cx, x, y);
  };

const BY_ZERO = 'an integer divisor of 0 fails the request';

export const DIVISION: Operators = {
  Div: { lower: byType(realDivide, truncatedInt), note: BY_ZERO },
  FloorDiv: { lower: byType(floorFloat, floorInt), note: BY_ZERO },
  TruncateDiv: { lower: byType(truncatedFloat, truncatedInt), note: BY_ZERO },
  FloorMod: { lower: byType(floorModFloat, floorModInt), note: BY_ZERO },
  TruncateMod: { lower: byType(truncatedModFloat, truncatedModInt), note: BY_ZERO },
  Mod: { lower: byType(truncatedModFloat, truncatedModInt), note: BY_ZERO },
};
