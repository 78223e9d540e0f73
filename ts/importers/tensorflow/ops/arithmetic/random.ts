// Random numbers of the right type, shape and distribution, but never TensorFlow's own values, even
// for the stateless operators, whose seed is not used. Disabled dropout still draws them and is
// recognised by what it draws from (lower/draws.ts). Importer's worker thread.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import { numbersTensor } from '../../lower/tensors.js';
import { drawnUniform } from '../../lower/draws.js';
import type { Dtype } from '../../types.js';
import type { TensorValue } from '../../lower/values.js';
import { add, mul, onlyNumber, sub } from './algebra.js';

const FLOAT = 1;
const DOUBLE = 11;
const INT64 = 7;
const UNIFORM = 'RandomUniformLike';

function drawn(cx: OpContext, type: string, isDouble: boolean): TensorValue {
  const dims = cx.tensor(0);
  const rank = dims.shape?.[0];
  const shape =
    dims.ints ?? (rank === undefined ? undefined : Array.from({ length: rank }, () => undefined));
  const zeros = cx.op('Expand', [cx.scalar('float', 0), cx.cast(dims, 'int64')], { shape });
  const value = cx.op(type, [zeros], {
    dtype: isDouble ? 'double' : 'float',
    attributes: { dtype: { int: isDouble ? DOUBLE : FLOAT } },
  });
  return cx.noteDraw(value);
}

/** Fraction bits of TensorFlow's uniform numbers: sums of them with 1 stay below 2. */
const UNIFORM_BITS: Partial<Record<Dtype, number>> = {
  half: 10,
  bfloat16: 7,
  float: 23,
  double: 52,
};

/** The numbers rounded to as many digits as TensorFlow's have. */
function onGrid(cx: OpContext, value: TensorValue, dtype: Dtype): TensorValue {
  const steps = 2 ** (UNIFORM_BITS[dtype] ?? cx.fail(`of ${dtype}`));
  const floor = cx.op('Floor', [mul(cx, value, cx.scalar(value.dtype, steps))]);
  return mul(cx, floor, cx.scalar(value.dtype, 1 / steps));
}

const normal: Lowering = (cx) => {
  const dtype = cx.type('dtype', 'float');
  return cx.cast(drawn(cx, 'RandomNormalLike', dtype === 'double'), dtype);
};

const uniform: Lowering = (cx) => {
  const dtype = cx.type('dtype', 'float');
  const value = onGrid(cx, drawn(cx, UNIFORM, dtype === 'double'), dtype);
  return drawnUniform(cx.cast(value, dtype), cx.tensor(0));
};

/** minval + floor(u * (maxval - minval)); the bounds are the inputs from `first` on. */
const randomInt =
  (first: number): Lowering =>
  (cx) => {
    const [low, high] = [cx.tensor(first), cx.tensor(first + 1)];
    const width = cx.cast(sub(cx, high, low), 'double');
    const steps = cx.op('Floor', [mul(cx, drawn(cx, UNIFORM, true), width)]);
    return add(cx, cx.cast(steps, low.dtype), low);
  };

const multinomial: Lowering = (cx) => {
  const logits = cx.tensor(0);
  const count = onlyNumber(cx, 1) ?? cx.fail('num_samples (input 1) must be a constant');
  const out = cx.op('Multinomial', [cx.cast(logits, 'float')], {
    dtype: 'int64',
    shape: [logits.shape?.[0], count],
    attributes: { sample_size: { int: count }, dtype: { int: INT64 } },
  });
  return cx.cast(cx.noteDraw(out), cx.type('output_dtype', 'int64'));
};

/** Seed state of the stateless operators of version 2, which is not used here. */
const keyAndCounter: Lowering = (cx) => [zeros(cx, 1), zeros(cx, 2)];
const keyCounterAlgorithm: Lowering = (cx) => [zeros(cx, 1), zeros(cx, 2), cx.scalar('int32', 1)];
const algorithm: Lowering = (cx) => cx.scalar('int32', 1);

const zeros = (cx: OpContext, count: number): TensorValue =>
  cx.constant(numbersTensor('uint64', [count], Array<number>(count).fill(0)));

const SEEDS = 'int32, int64';
const NOTE = "the values are not TensorFlow's; `--allow-random=false` refuses them";

export const RANDOM: Operators = {
  RandomUniform: { lower: uniform, dtypes: 'floating', note: NOTE },
  RandomStandardNormal: { lower: normal, dtypes: 'floating', note: NOTE },
  RandomUniformInt: { lower: randomInt(1), dtypes: 'int32, int64', note: NOTE },
  StatelessRandomUniform: { lower: uniform, dtypes: 'floating', note: NOTE },
  StatelessRandomUniformV2: { lower: uniform, dtypes: 'floating', note: NOTE },
  StatelessRandomNormal: { lower: normal, dtypes: 'floating', note: NOTE },
  StatelessRandomNormalV2: { lower: normal, dtypes: 'floating', note: NOTE },
  StatelessRandomUniformInt: { lower: randomInt(2), dtypes: 'int32, int64', note: NOTE },
  StatelessRandomUniformIntV2: { lower: randomInt(4), dtypes: 'int32, int64', note: NOTE },
  StatelessRandomGetKeyCounter: { lower: keyAndCounter, dtypes: SEEDS },
  StatelessRandomGetKeyCounterAlg: { lower: keyCounterAlgorithm, dtypes: SEEDS },
  StatelessRandomGetAlg: { lower: algorithm, dtypes: SEEDS },
  Multinomial: { lower: multinomial, dtypes: 'floating', note: NOTE },
  StatelessMultinomial: { lower: multinomial, dtypes: 'floating', note: NOTE },
};
