// Transformers that scale numbers. Each number is computed as scikit-learn does it, in doubles.
// Importer's worker thread; pure. Source: scikit-learn's preprocessing/_data.py,
// _function_transformer.py, _polynomial.py.
import { call, constant, type Expression } from '../../plan/builder.js';
import { normalizer } from '../../plan/ops/scalers.js';
import { binarizer } from '../../plan/ops/numbers.js';
import { elementsOf, type Frame, mapNumbers, vectorOf } from '../frame/frame.js';
import type { Step, Transformed } from '../frame/step.js';
import type { Item } from '../read/item.js';

type Numbers = Float64Array | undefined;

const transformer = (frame: Frame): Transformed => ({ role: 'transformer', frame });

/** An attribute with a number for each column; undefined: None. */
const perColumn = (item: Item, name: string, count: number): Numbers =>
  item.given(name)?.reals([count]);

const at = (numbers: Float64Array, index: number): Expression => constant(numbers[index] ?? 0);

/** (x - shift) / scale. */
function shifted(step: Step, frame: Frame, shift: Numbers, scale: Numbers): Transformed {
  return transformer(
    mapNumbers(step.lowering, frame, step.place, (value, i) => {
      const moved = shift === undefined ? value : call('sql.subtract', value, at(shift, i));
      return scale === undefined ? moved : call('sql.divide', moved, at(nonZero(scale), i));
    }),
  );
}

/** Errors: RangeError: a scale of 0, which scikit-learn does not write. */
function nonZero(scale: Float64Array): Float64Array {
  if (scale.every((value) => value !== 0)) return scale;
  throw new RangeError('expected scales other than 0');
}

export function standardScaler(step: Step, frame: Frame): Transformed {
  const { item } = step;
  const count = frame.length;
  const mean = item.get('with_mean').flag() ? item.get('mean_').reals([count]) : undefined;
  const scale = item.get('with_std').flag() ? item.get('scale_').reals([count]) : undefined;
  return shifted(step, frame, mean, scale);
}

export function robustScaler(step: Step, frame: Frame): Transformed {
  const { item } = step;
  const center = perColumn(item, 'center_', frame.length);
  return shifted(step, frame, center, perColumn(item, 'scale_', frame.length));
}

export function maxAbsScaler(step: Step, frame: Frame): Transformed {
  const { item, lowering, place } = step;
  const scale = item.get('scale_').reals([frame.length]);
  const { frame: scaled } = shifted(step, frame, undefined, scale);
  const isClipped = item.given('clip')?.flag() ?? false;
  if (!isClipped) return transformer(scaled);
  return transformer(mapNumbers(lowering, scaled, place, (value) => clipped(value, -1, 1)));
}

/** Within both bounds; NaN and missing values stay. */
export function clipped(value: Expression, low: number, high: number): Expression {
  const isLow = call('sql.less', value, constant(low));
  const isHigh = call('sql.and', call('sql.greater', value, constant(high)), isNumber(value));
  return call('sql.case', isLow, constant(low), isHigh, constant(high), value);
}

export const isNumber = (value: Expression): Expression =>
  call('sql.not', call('sql.isnan', value));

export function minMaxScaler(step: Step, frame: Frame): Transformed {
  const { item, lowering, place } = step;
  const scale = item.get('scale_').reals([frame.length]);
  const min = item.get('min_').reals([frame.length]);
  const isClipped = item.given('clip')?.flag() ?? false;
  const [low = 0, high = 1] = item
    .get('feature_range')
    .list()
    .map((bound) => bound.number());
  return transformer(
    mapNumbers(lowering, frame, place, (value, i) => {
      const scaled = call('sql.add', call('sql.multiply', value, at(scale, i)), at(min, i));
      return isClipped ? clipped(scaled, low, high) : scaled;
    }),
  );
}

const NORMS: Readonly<Record<string, number>> = { l1: 1, l2: 2, max: Number.POSITIVE_INFINITY };

export function normalizers({ item, lowering, place }: Step, frame: Frame): Transformed {
  const norm = item.get('norm');
  const p = NORMS[norm.text()];
  if (p === undefined) throw norm.bad(`expected l1, l2 or max, got '${norm.text()}'`);
  const input = vectorOf(lowering, frame, 'refuse', place);
  const output = lowering.builder.column('normalized', 'vector');
  normalizer(lowering.builder, { input, output, p }, place);
  return transformer(elementsOf(output, frame.length));
}

export function binarizers({ item, lowering, place }: Step, frame: Frame): Transformed {
  const threshold = item.get('threshold').number();
  const input = vectorOf(lowering, frame, 'refuse', place);
  const output = lowering.builder.column('binarized', 'vector');
  binarizer(lowering.builder, { input, output, threshold, missingIsZero: false }, place);
  return transformer(elementsOf(output, frame.length));
}

/** SQL's logarithms have no value at their pole; NumPy's are -infinity there. */
function logarithm(
  name: 'sql.log' | 'sql.log1p' | 'sql.log2' | 'sql.log10',
  pole: number,
): (value: Expression) => Expression {
  const lowest = constant(Number.NEGATIVE_INFINITY);
  return (value) => {
    const isPole = call('sql.equal', value, constant(pole));
    return call('sql.case', isPole, lowest, call(name, value));
  };
}

/** Functions of one number that FunctionTransformer may call. */
const FUNCTIONS: Readonly<Record<string, (value: Expression) => Expression>> = {
  log1p: logarithm('sql.log1p', -1),
  log: logarithm('sql.log', 0),
  log2: logarithm('sql.log2', 0),
  log10: logarithm('sql.log10', 0),
  exp: (value) => call('sql.exp', value),
  expm1: (value) => call('sql.expm1', value),
  sqrt: (value) => call('sql.sqrt', value),
  square: (value) => call('sql.multiply', value, value),
  abs: (value) => call('sql.abs', value),
  absolute: (value) => call('sql.abs', value),
  negative: (value) => call('sql.negative', value),
  sin: (value) => call('sql.sin', value),
  cos: (value) => call('sql.cos', value),
  tanh: (value) => call('sql.tanh', value),
};

export function functionTransformer(step: Step, frame: Frame): Transformed {
  const { item, lowering, place } = step;
  const func = item.given('func');
  if (func === undefined) return transformer(frame);
  const { name, isPartial } = func.functionName();
  // HistGradientBoosting converts numbers to float64 by it.
  if (isPartial && name === 'sklearn.utils.validation.check_array') return transformer(frame);
  const short = /^numpy\.(\w+)$/.exec(name)?.[1] ?? '';
  const known = !isPartial && Object.hasOwn(FUNCTIONS, short) ? FUNCTIONS[short] : undefined;
  if (known === undefined || item.given('kw_args') !== undefined) {
    const names = Object.keys(FUNCTIONS).join(', ');
    throw item.bad(
      `FunctionTransformer of ${name} is not supported: expected None, or a function of NumPy: ` +
        names,
    );
  }
  return transformer(mapNumbers(lowering, frame, place, known));
}
