// Shapes themselves, and operators that only change them. Importer's worker thread.
import { elementCount } from '../../../../model/shape.js';
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import { withInts } from '../../lower/graph-builder.js';
import { isStatic } from '../../lower/values.js';
import type { TensorValue } from '../../lower/values.js';
import type { Dtype } from '../../types.js';
import { onlyNumber } from '../arithmetic/algebra.js';
import { transposeFed } from './transpose-fed.js';
import { beforeUnsqueeze, unsqueezed } from './unsqueezed.js';

/**
 * One unknown size (the batch's, in a target packed from Shape) is left for the runtime to compute:
 * it moves transposes only across constant targets.
 */
const reshape: Lowering = (cx) => {
  const target = targetOf(cx);
  const open = target.ints?.filter((one) => one === undefined || one <= 0) ?? [];
  if (target.ints === undefined || open.length !== 1 || open[0] !== undefined) {
    return cx.reshape(cx.tensor(0), target);
  }
  return cx.reshape(
    cx.tensor(0),
    target.ints.map((one) => one ?? -1),
  );
};

/** The sizes: a vector. TensorFlow's kernel also accepts a scalar as a vector of one. */
function targetOf(cx: OpContext): TensorValue {
  const target = cx.tensor(1);
  const rank = target.shape?.length;
  if (rank === 1) return target;
  if (rank !== undefined && rank > 1)
    cx.fail(`shape: expected a vector, got ${cx.describe(target)}`);
  return cx.reshape(target, [-1], rank === 0 ? [1] : [undefined]);
}

function shapeAs(cx: OpContext, value: TensorValue, dtype: Dtype): TensorValue {
  return cx.cast(cx.shapeOf(value), dtype);
}

const shape: Lowering = (cx) => {
  const value = cx.input(0);
  const dtype = cx.type('out_type', 'int32');
  if (value.kind === 'variants') return cx.cast(cx.reshape(value.length, [1]), dtype);
  return shapeAs(cx, cx.tensor(0), dtype);
};
const shapeN: Lowering = (cx) =>
  cx.tensors().map((one) => shapeAs(cx, one, cx.type('out_type', 'int32')));

const size: Lowering = (cx) => {
  const value = cx.tensor(0);
  const dtype = cx.type('out_type', 'int32');
  if (isStatic(value.shape)) {
    return cx.scalar(dtype, elementCount(value.shape));
  }
  return cx.cast(cx.op('Size', [value], { dtype: 'int64', shape: [] }), dtype);
};

const rank: Lowering = (cx) => {
  const value = cx.tensor(0);
  if (value.shape !== undefined) return cx.scalar('int32', value.shape.length);
  const found = cx.op('Size', [cx.shapeOf(value)], { dtype: 'int64', shape: [] });
  return cx.cast(found, 'int32');
};

/**
 * Without named axes all of size 1 are removed, which can only be decided at run time if dims are
 * dynamic.
 */
const squeeze: Lowering = (cx) => {
  const value = cx.tensor(0);
  const named = cx.ints('squeeze_dims');
  if (named.length > 0) {
    if (value.shape === undefined) return cx.op('Squeeze', [value, cx.int64s(named)]);
    const count = value.shape.length;
    const axes = named.map((axis) => cx.axis(axis, count));
    const wrong = axes.find((axis) => (value.shape?.[axis] ?? 1) !== 1);
    if (wrong !== undefined)
      cx.fail(`axis ${wrong} of ${cx.describe(value)}: expected a size of 1`);
    const source = axes.length === 1 ? beforeUnsqueeze(cx, value, axes[0] ?? 0) : undefined;
    return source ?? cx.squeeze(value, axes);
  }
  if (value.shape?.every((dim) => dim !== undefined)) {
    return cx.squeeze(
      value,
      value.shape.flatMap((dim, axis) => (dim === 1 ? [axis] : [])),
    );
  }
  return cx.op('Squeeze', [value], { shape: undefined });
};

const expandDims: Lowering = (cx) => {
  const value = cx.tensor(0);
  const axis = onlyNumber(cx, 1);
  if (axis === undefined) {
    const shaped = cx.op('Unsqueeze', [value, cx.reshape(cx.tensor(1), [1])], {
      shape: value.shape === undefined ? undefined : [...value.shape, 1].map(() => undefined),
    });
    return shaped;
  }
  if (axis >= 0) return unsqueezed(cx, value, axis);
  if (value.shape !== undefined) {
    return unsqueezed(cx, value, cx.axis(axis, value.shape.length + 1));
  }
  return cx.op('Unsqueeze', [value, cx.int64s([axis])]);
};

const transpose: Lowering = (cx) => {
  const value = cx.tensor(0);
  const order = cx.numbers(1) ?? known(cx.tensor(1).ints);
  if (order === undefined) return transposeFed(cx, value, cx.tensor(1));
  const wanted = value.shape?.length ?? order.length;
  const axes = order.map((axis) => cx.axis(axis, wanted));
  if (axes.length !== wanted || new Set(axes).size !== wanted) {
    cx.fail(`perm [${order.join(',')}] does not fit ${cx.describe(value)}`);
  }
  const shaped =
    value.shape === undefined ? { ...value, shape: order.map(() => undefined) } : value;
  return cx.transpose(shaped, axes);
};

function known(ints: TensorValue['ints']): readonly number[] | undefined {
  return ints?.every((one) => one !== undefined) ? (ints as readonly number[]) : undefined;
}

/** 8-bit types that a number can be rounded to. */
const FLOAT8: ReadonlySet<string> = new Set(['float8_e4m3fn', 'float8_e5m2']);
const NARROW: ReadonlySet<Dtype> = new Set(['float', 'half', 'bfloat16']);

/** A float with the precision of a smaller type: a later cast recognises it. */
function toFloat8(cx: OpContext, value: TensorValue, type: string): TensorValue {
  if (!NARROW.has(value.dtype)) cx.fail(`${value.dtype} to ${type} is not supported`);
  const given = cx.cast(value, 'float');
  const [rounded] = cx.custom('RoundFloat8', [given], [given], { type: { string: type } });
  return rounded ?? cx.fail('has no output');
}

/** Keeps the known elements. */
const cast: Lowering = (cx) => {
  const value = cx.tensor(0);
  const to = cx.node.attributes.get('DstT');
  if (to?.kind === 'unserved type' && FLOAT8.has(to.value)) return toFloat8(cx, value, to.value);
  const dtype = cx.type('DstT');
  if (value.dtype === 'string' || dtype === 'string') {
    return cx.fail(`${value.dtype} cannot be cast to ${dtype}`);
  }
  return cx.cast(value, dtype);
};

const invertPermutation: Lowering = (cx) => {
  const order = cx.tensor(0);
  const ints = known(order.ints);
  if (ints !== undefined) {
    if (!ints.every((_, i) => ints.includes(i)))
      cx.fail(`[${ints.join(',')}] is not a permutation`);
    return withInts(
      { kind: 'tensor', dtype: order.dtype, shape: [ints.length] },
      ints.map((_, i) => ints.indexOf(i)),
    );
  }
  return cx.custom('InvertPermutation', [order], [{ dtype: order.dtype, shape: order.shape }]);
};

export const RESHAPE: Operators = {
  Reshape: { lower: reshape, dtypes: 'any' },
  Shape: { lower: shape, dtypes: 'any' },
  ShapeN: { lower: shapeN, dtypes: 'any' },
  Size: { lower: size, dtypes: 'any' },
  Rank: { lower: rank, dtypes: 'any' },
  Squeeze: { lower: squeeze, dtypes: 'any' },
  ExpandDims: { lower: expandDims, dtypes: 'any' },
  Transpose: { lower: transpose, dtypes: 'any' },
  ConjugateTranspose: { lower: transpose, dtypes: 'any' },
  Cast: { lower: cast, dtypes: 'numeric and bool' },
  InvertPermutation: { lower: invertPermutation, dtypes: 'int32, int64' },
};
