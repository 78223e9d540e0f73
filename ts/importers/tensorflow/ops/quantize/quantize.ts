// Quantised integers and back. Ranges must be constants. Importer's worker thread. Source:
// tensorflow/core/kernels/{quantize_op,dequantize_op}.cc and quantization_utils.h.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { TensorValue } from '../../lower/values.js';
import type { Dtype } from '../../types.js';
import { abs, add, less, max, min, mul, sub, where } from '../arithmetic/algebra.js';

const float = (cx: OpContext, value: number): TensorValue => cx.scalar('float', value);

interface Range {
  readonly low: number;
  readonly high: number;
}

/** The integers of a type. */
const INTEGERS: Partial<Record<Dtype, Range>> = {
  quint8: { low: 0, high: 255 },
  qint8: { low: -128, high: 127 },
  quint16: { low: 0, high: 65535 },
  qint16: { low: -32768, high: 32767 },
};

const integersOf = (cx: OpContext, dtype: Dtype): Range =>
  INTEGERS[dtype] ?? cx.fail(`${dtype} is not supported`);

/** min_range and max_range. */
function givenRange(cx: OpContext): Range {
  if (cx.int('axis', -1) !== -1) cx.fail('the attribute axis is not supported');
  const [low] = cx.requireNumbers(1, 'min_range');
  const [high] = cx.requireNumbers(2, 'max_range');
  if (low === undefined || high === undefined || !(low <= high)) {
    return cx.fail(`min_range ${low} and max_range ${high}: expected a range`);
  }
  return { low, high };
}

/** Never narrower than ensure_minimum_range, and including 0. */
function widened(cx: OpContext): Range {
  const given = givenRange(cx);
  const low = Math.min(0, given.low);
  const size = Math.max(1, Math.abs(given.low), Math.abs(given.high));
  const least = Math.fround(size * cx.float('ensure_minimum_range', 0.01));
  return { low, high: Math.max(0, given.high, Math.fround(low + least)) };
}

/** Rounds halves away from 0. */
function roundAway(cx: OpContext, x: TensorValue): TensorValue {
  const size = cx.op('Floor', [add(cx, abs(cx, x), float(cx, 0.5))]);
  return where(cx, less(cx, x, float(cx, 0)), cx.op('Neg', [size]), size);
}

const clamp = (cx: OpContext, x: TensorValue, { low, high }: Range): TensorValue =>
  max(cx, min(cx, x, float(cx, high)), float(cx, low));

type Answer = readonly [TensorValue, Range];
type Mode = (cx: OpContext, x: TensorValue, dtype: Dtype, range: Range) => Answer;

const combined: Mode = (cx, x, dtype, range) => {
  const integers = integersOf(cx, dtype);
  const steps = integers.high - integers.low;
  const scale = float(cx, Math.fround(steps / Math.fround(range.high - range.low)));
  const raised = mul(cx, sub(cx, clamp(cx, x, range), float(cx, range.low)), scale);
  if (integers.low === 0) return [cx.op('Floor', [add(cx, raised, float(cx, 0.5))]), range];
  return [roundAway(cx, sub(cx, raised, float(cx, (steps + 1) / 2))), range];
};

/** The number of steps of a type, and the size of one of them in MIN_FIRST. */
function firstSteps({ low, high }: Range, integers: Range): { steps: number; width: number } {
  const steps = integers.high - integers.low + 1;
  return { steps, width: (high - low) * (steps / (steps - 1)) };
}

const minFirst: Mode = (cx, x, dtype, range) => {
  const integers = integersOf(cx, dtype);
  const { steps, width } = firstSteps(range, integers);
  const scale = Math.fround(steps / width);
  const start = Math.round(Math.fround(range.low * scale)) - integers.low;
  const raised = sub(cx, roundAway(cx, mul(cx, x, float(cx, scale))), float(cx, start));
  return [clamp(cx, raised, integers), range];
};

/** Scales both ends by one factor; 0 stays 0. */
const scaled: Mode = (cx, x, dtype, range) => {
  const integers = integersOf(cx, dtype);
  const low = integers.low + (cx.bool('narrow_range', false) ? 1 : 0);
  const side = (level: number, end: number): number =>
    level * end > 0 ? Math.fround(level / end) : Infinity;
  const scale = Math.min(side(low, range.low), side(integers.high, range.high));
  if (!Number.isFinite(scale))
    return cx.fail('min_range and max_range: expected a range that is not empty');
  const reach = { low: Math.fround(low / scale), high: Math.fround(integers.high / scale) };
  const raised = mul(cx, clamp(cx, x, reach), float(cx, scale));
  const isEven = cx.text('round_mode', 'HALF_AWAY_FROM_ZERO') === 'HALF_TO_EVEN';
  return [isEven ? cx.op('Round', [raised]) : roundAway(cx, raised), reach];
};

const MODES: Readonly<Record<string, Mode>> = {
  MIN_COMBINED: combined,
  MIN_FIRST: minFirst,
  SCALED: scaled,
};

const quantize: Lowering = (cx) => {
  const name = cx.text('mode', 'MIN_COMBINED');
  const mode = Object.hasOwn(MODES, name) ? MODES[name] : undefined;
  const dtype = cx.type('T');
  const [y, { low, high }] = (mode ?? cx.fail(`mode ${name} is not supported`))(
    cx,
    cx.tensor(0),
    dtype,
    widened(cx),
  );
  return [cx.cast(y, dtype), float(cx, low), float(cx, high)];
};

const dequantize: Lowering = (cx) => {
  const given = cx.tensor(0);
  const integers = integersOf(cx, given.dtype);
  const range = givenRange(cx);
  const x = cx.cast(given, 'float');
  const mode = cx.text('mode', 'MIN_COMBINED');
  const linear = (from: number, step: number, to: number): TensorValue =>
    add(
      cx,
      mul(cx, sub(cx, x, float(cx, from)), float(cx, Math.fround(step))),
      float(cx, Math.fround(to)),
    );
  const answer = (): TensorValue => {
    if (mode === 'MIN_COMBINED') {
      const step = (range.high - range.low) / (integers.high - integers.low);
      return linear(integers.low, step, range.low);
    }
    if (mode === 'MIN_FIRST') {
      const { steps, width } = firstSteps(range, integers);
      const step = width / steps;
      return linear(integers.low, step, step === 0 ? range.low : roundedTo(range.low, step));
    }
    if (mode !== 'SCALED') return cx.fail(`mode ${mode} is not supported`);
    const low = integers.low + (cx.bool('narrow_range', false) ? 1 : 0);
    const above = range.high / integers.high;
    return linear(0, low === 0 ? above : Math.max(range.low / low, above), 0);
  };
  return cx.cast(answer(), cx.type('dtype', 'float'));
};

/** The nearest multiple; halves round away from 0. */
const roundedTo = (value: number, step: number): number =>
  Math.sign(value) * Math.round(Math.abs(value) / step) * step;

const NOTE = 'min_range and max_range must be constants; no axis';

export const QUANTIZE: Operators = {
  QuantizeV2: { lower: quantize, dtypes: 'float', note: NOTE },
  Dequantize: { lower: dequantize, dtypes: 'qint8, quint8, qint16, quint16', note: NOTE },
};
