// Joining and splitting tensors. Source:
// tensorflow/core/kernels/{pack,concat,split,split_v,unpack}_op.cc. Importer's worker thread.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import { withInts } from '../../lower/graph-builder.js';
import type { TensorValue } from '../../lower/values.js';
import { add, binary, onlyNumber, sub } from '../arithmetic/algebra.js';
import { aroundAxis } from './around-axis.js';

const pack: Lowering = (cx) => {
  const values = cx.tensors();
  const axis = cx.int('axis', 0);
  const rank = values.find((one) => one.shape !== undefined)?.shape?.length;
  const at =
    axis >= 0 ? axis : cx.axis(axis, (rank ?? cx.fail('the rank of its inputs is not known')) + 1);
  return cx.concat(
    values.map((one) => cx.unsqueeze(one, [at])),
    at,
  );
};

function joined(cx: OpContext, values: readonly TensorValue[], axisInput: number): TensorValue {
  const axis = onlyNumber(cx, axisInput);
  if (axis === undefined) return joinedAtRunTime(cx, values, cx.tensor(axisInput));
  const rank = values.find((one) => one.shape !== undefined)?.shape?.length;
  if (rank !== undefined) return cx.concat(values, cx.axis(axis, rank));
  return cx.op('Concat', values, { attributes: { axis: { int: axis } } });
}

function joinedAtRunTime(
  cx: OpContext,
  values: readonly TensorValue[],
  axis: TensorValue,
): TensorValue {
  const around = values.map((one) => aroundAxis(cx, one, axis));
  const [first] = around;
  if (first === undefined) return cx.fail('has nothing to join');
  const size = around.slice(1).reduce((sum, one) => add(cx, sum, one.size), first.size);
  const shape = cx.concat([first.before, size, first.after], 0);
  const known = values.find((one) => one.shape !== undefined)?.shape;
  const out = cx.concat(
    around.map((one) => one.value),
    1,
  );
  return cx.reshape(
    out,
    shape,
    known?.map(() => undefined),
  );
}

const concat: Lowering = (cx) => joined(cx, cx.tensors(1), 0);
const concatV2: Lowering = (cx) =>
  joined(cx, cx.tensors(0, cx.inputs.length - 1), cx.inputs.length - 1);

/** Parts of `value` along `axis` (counted from the front, or from the back if negative). */
function parts(
  cx: OpContext,
  value: TensorValue,
  axis: number,
  sizes: TensorValue,
  count: number,
): TensorValue[] {
  const at = axis < 0 && value.shape !== undefined ? axis + value.shape.length : axis;
  const outputs = Array.from({ length: count }, (_, i) => ({
    dtype: value.dtype,
    shape: value.shape?.map((dim, each) => (each === at ? sizes.ints?.[i] : dim)),
  }));
  if (count === 1) return [cx.op('Identity', [value])];
  const made = cx.ops('Split', [value, sizes], outputs, { axis: { int: axis } });
  return withKnownParts(value, sizes, made);
}

/** Parts of a vector of known integers ("[?,7,7]") are known as well. */
function withKnownParts(
  value: TensorValue,
  sizes: TensorValue,
  made: readonly TensorValue[],
): TensorValue[] {
  const { ints } = value;
  let from = 0;
  return made.map((part, i) => {
    const size = sizes.ints?.[i];
    if (ints === undefined || size === undefined || part.shape?.length !== 1) return part;
    from += size;
    return withInts(part, ints.slice(from - size, from));
  });
}

/** Equal parts. Whether an unknown size is divisible is checked at run time. */
const split: Lowering = (cx) => {
  const value = cx.tensor(1);
  const count = cx.int('num_split');
  const axis = onlyNumber(cx, 0);
  if (axis === undefined) return splitAtRunTime(cx, value, count);
  const at = value.shape === undefined ? axis : cx.axis(axis, value.shape.length);
  const dim = value.shape?.[at];
  if (dim !== undefined) {
    if (dim % count !== 0) cx.fail(`axis ${axis} of ${cx.describe(value)} in ${count} parts`);
    return parts(cx, value, at, cx.int64s(Array<number>(count).fill(dim / count)), count);
  }
  const size = cx.op('Gather', [cx.shapeOf(value), cx.int64s([at])], { shape: [1] });
  return parts(cx, value, at, equalSizes(cx, size, count), count);
};

/** `size` is int64 of rank 1. */
function equalSizes(cx: OpContext, size: TensorValue, count: number): TensorValue {
  const each = binary(cx, 'Div', size, cx.int64s([count]));
  return cx.op('Expand', [each, cx.int64s([count])], { shape: [count] });
}

function splitAtRunTime(cx: OpContext, value: TensorValue, count: number): TensorValue[] {
  const around = aroundAxis(cx, value, cx.tensor(0));
  const sizes = equalSizes(cx, around.size, count);
  const free = value.shape?.map(() => undefined);
  const shape = cx.concat(
    [around.before, binary(cx, 'Div', around.size, cx.int64s([count])), around.after],
    0,
  );
  return parts(cx, around.value, 1, sizes, count).map((one) => cx.reshape(one, shape, free));
}

const splitV: Lowering = (cx) => {
  const value = cx.tensor(0);
  const sizes = cx.tensor(1);
  const axis = onlyNumber(cx, 2) ?? cx.fail('the axis must be a constant');
  const count = cx.int('num_split');
  const at = value.shape === undefined ? axis : cx.axis(axis, value.shape.length);
  return parts(cx, value, at, fullSizes(cx, sizes, value, at), count);
};

/** The sizes, with the remainder in place of -1. */
function fullSizes(
  cx: OpContext,
  sizes: TensorValue,
  value: TensorValue,
  axis: number,
): TensorValue {
  const { ints } = sizes;
  if (ints !== undefined && ints.every((one) => one !== undefined && one !== -1)) {
    return cx.int64s(ints as readonly number[]);
  }
  const dim = value.shape?.[axis];
  if (dim !== undefined && ints !== undefined && ints.every((one) => one !== undefined)) {
    const all = ints as readonly number[];
    const rest = dim - all.reduce((sum, one) => sum + Math.max(one, 0), 0);
    return cx.int64s(all.map((one) => (one === -1 ? rest : one)));
  }
  const wide = cx.cast(sizes, 'int64');
  const size = cx.op('Gather', [cx.shapeOf(value), cx.int64s([axis])], { shape: [1] });
  const given = cx.op('ReduceSum', [cx.op('Max', [wide, cx.scalar('int64', 0)])], {
    shape: [1],
    attributes: { keepdims: { int: 1 } },
  });
  const isRest = binary(cx, 'Equal', wide, cx.scalar('int64', -1), 'bool');
  return cx.op('Where', [isRest, sub(cx, size, given), wide], {
    dtype: 'int64',
    shape: sizes.shape,
  });
}

const unpack: Lowering = (cx) => {
  const value = cx.tensor(0);
  const count = cx.int('num');
  const axis = cx.int('axis', 0);
  if (count === 0) return [];
  const at = axis >= 0 ? axis : cx.axis(axis, cx.rank(value));
  const sizes = cx.int64s(Array<number>(count).fill(1));
  const dim = value.shape?.[at];
  if (dim !== undefined && dim !== count) {
    cx.fail(`axis ${axis} of ${cx.describe(value)} in ${count} parts`);
  }
  return parts(cx, value, at, sizes, count).map((one) => cx.squeeze(one, [at]));
};

export const JOIN: Operators = {
  Pack: { lower: pack, dtypes: 'any' },
  Concat: { lower: concat, dtypes: 'any' },
  ConcatV2: { lower: concatV2, dtypes: 'any' },
  Split: { lower: split, dtypes: 'any' },
  SplitV: { lower: splitV, dtypes: 'any', note: 'the axis must be a constant' },
  Unpack: { lower: unpack, dtypes: 'any' },
};
