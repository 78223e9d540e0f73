// Rounding to the numbers that a quantized tensor could hold; the result stays float. The graph
// computes ranges: at load time if they are constants. Importer's worker thread. Source:
// tensorflow/core/kernels/{fake_quant_ops_functor,quantize_and_dequantize_op}.h.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { TensorValue } from '../../lower/values.js';
import { add, div, equal, less, max, min, mul, number, sub, where } from '../arithmetic/algebra.js';

const float = (cx: OpContext, value: number): TensorValue => cx.scalar('float', value);
const floor = (cx: OpContext, value: TensorValue): TensorValue => cx.op('Floor', [value]);

const between = (
  cx: OpContext,
  value: TensorValue,
  low: TensorValue,
  high: TensorValue,
): TensorValue => max(cx, min(cx, value, high), low);

interface Levels {
  readonly low: number;
  readonly high: number;
}

function fakeLevels(cx: OpContext, bits: number): Levels {
  if (bits < 2 || bits > 16) cx.fail(`num_bits ${bits}: expected 2 to 16`);
  return { low: cx.bool('narrow_range', false) ? 1 : 0, high: 2 ** bits - 1 };
}

/**
 * Shifts the range so that 0 is one of the numbers. Steps are counted with a factor if the range is
 * an attribute or one per channel, with a division if it is one operand: they differ in the last
 * bit, which decides ties.
 */
function fakeQuantised(
  cx: OpContext,
  lowest: TensorValue,
  highest: TensorValue,
  isByFactor: boolean,
): TensorValue {
  const { low, high } = fakeLevels(cx, cx.int('num_bits', 8));
  const [zero, half] = [float(cx, 0), float(cx, 0.5)];
  const [first, last] = [float(cx, low), float(cx, high)];
  const width = sub(cx, highest, lowest);
  const levels = float(cx, high - low);
  const scale = div(cx, width, levels);
  const steps = (of: TensorValue): TensorValue =>
    isByFactor ? mul(cx, of, div(cx, levels, width)) : div(cx, of, scale);
  const origin = sub(cx, first, div(cx, lowest, scale));
  const nudged = floor(cx, add(cx, between(cx, origin, first, last), half));
  const from = mul(cx, sub(cx, first, nudged), scale);
  const to = mul(cx, sub(cx, last, nudged), scale);
  const zeroAt = floor(cx, add(cx, steps(sub(cx, zero, from)), half));
  const place = sub(cx, steps(sub(cx, between(cx, cx.tensor(0), from, to), from)), zeroAt);
  const y = mul(cx, floor(cx, add(cx, place, half)), scale);
  return where(cx, equal(cx, lowest, highest), zero, y);
}

const fakeArgs: Lowering = (cx) =>
  fakeQuantised(cx, float(cx, cx.float('min', -6)), float(cx, cx.float('max', 6)), true);

const fakeVars: Lowering = (cx) => fakeQuantised(cx, cx.tensor(1), cx.tensor(2), false);

const fakeChannels: Lowering = (cx) => fakeQuantised(cx, cx.tensor(1), cx.tensor(2), true);

const FLOAT_MAX = 3.4028234663852886e38;

/** Ends of the range: given, or from the elements, along `axis` or over all. */
function ends(cx: OpContext, x: TensorValue): [TensorValue, TensorValue] {
  const axis = cx.int('axis', -1);
  const column = (value: TensorValue): TensorValue => {
    if (axis < 0) return value;
    const after = cx.rank(x) - cx.axis(axis, cx.rank(x)) - 1;
    return cx.reshape(value, [-1, ...Array.from({ length: after }, () => 1)]);
  };
  if (cx.bool('range_given', true)) return [column(cx.tensor(1)), column(cx.tensor(2))];
  const over =
    axis < 0
      ? undefined
      : Array.from({ length: cx.rank(x) }, (_, i) => i).filter((i) => i !== axis);
  const reduce = (type: string): TensorValue =>
    cx.op(type, [x, over === undefined ? undefined : cx.int64s(over)], {
      shape: over === undefined ? [] : x.shape?.map((dim, i) => (i === axis ? dim : 1)),
      attributes: { keepdims: { int: over === undefined ? 0 : 1 } },
    });
  return [reduce('ReduceMin'), reduce('ReduceMax')];
}

function quantisedLevels(cx: OpContext, bits: number): Levels {
  if (bits < 1 || bits > 62) cx.fail(`num_bits ${bits}: expected 1 to 62`);
  if (!cx.bool('signed_input', true)) return { low: 0, high: 2 ** bits - 1 };
  const low = -(2 ** (bits - 1)) + (cx.bool('narrow_range', false) ? 1 : 0);
  return { low, high: 2 ** (bits - 1) - 1 };
}

/** Number of levels per unit on this side; the largest number if the side does not matter. */
function sideScale(cx: OpContext, level: number, end: TensorValue): TensorValue {
  const most = number(cx, end, FLOAT_MAX);
  if (level === 0) return most;
  const signed = mul(cx, end, number(cx, end, Math.sign(level)));
  return where(
    cx,
    less(cx, number(cx, end, 0), signed),
    div(cx, number(cx, end, level), end),
    most,
  );
}

const quantiseAndBack =
  (bitsInput: boolean): Lowering =>
  (cx) => {
    const given = cx.tensor(0);
    const x = given.dtype === 'double' ? given : cx.cast(given, 'float');
    const bits = bitsInput ? (cx.requireNumbers(3, 'num_bits')[0] ?? 0) : cx.int('num_bits', 8);
    const { low, high } = quantisedLevels(cx, bits);
    const [lowest, highest] = ends(cx, x).map((one) => cx.cast(one, x.dtype)) as [
      TensorValue,
      TensorValue,
    ];
    const of = (value: number): TensorValue => number(cx, x, value);
    const [below, above] = [sideScale(cx, low, lowest), sideScale(cx, high, highest)];
    const isBelow = less(cx, below, above);
    const scale = where(cx, isBelow, below, above);
    const step = where(
      cx,
      isBelow,
      div(cx, lowest, of(low === 0 ? 1 : low)),
      div(cx, highest, of(high)),
    );
    const clamped = !cx.bool('range_given', true)
      ? x
      : between(
          cx,
          x,
          where(cx, isBelow, lowest, mul(cx, of(low), step)),
          where(cx, isBelow, mul(cx, of(high), step), highest),
        );
    const scaled = mul(cx, clamped, scale);
    const rounded =
      cx.text('round_mode', 'HALF_TO_EVEN') === 'HALF_UP'
        ? floor(cx, add(cx, scaled, of(0.5)))
        : cx.op('Round', [scaled]);
    return cx.cast(mul(cx, rounded, step), given.dtype);
  };

const FLOATING = 'floating';

export const FAKE_QUANT: Operators = {
  FakeQuantWithMinMaxArgs: { lower: fakeArgs, dtypes: 'float' },
  FakeQuantWithMinMaxVars: { lower: fakeVars, dtypes: 'float' },
  FakeQuantWithMinMaxVarsPerChannel: { lower: fakeChannels, dtypes: 'float' },
  QuantizeAndDequantizeV2: { lower: quantiseAndBack(false), dtypes: FLOATING },
  QuantizeAndDequantizeV3: {
    lower: quantiseAndBack(true),
    dtypes: FLOATING,
    note: 'num_bits must be a constant',
  },
  QuantizeAndDequantizeV4: { lower: quantiseAndBack(false), dtypes: FLOATING },
};
