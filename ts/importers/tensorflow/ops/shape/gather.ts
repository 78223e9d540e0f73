// Elements and slices by index. An index below 0 is an error in TensorFlow but counts from the end
// in ONNX, so indices are checked first. Source:
// tensorflow/core/kernels/{gather_op,gather_nd_op}.cc. Importer's worker thread.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { TensorValue } from '../../lower/values.js';
import { onlyNumber } from '../arithmetic/algebra.js';
import { checkedIndices, checkedTuples, sizeOfAxis } from '../arithmetic/checks.js';
import { aroundAxis } from './around-axis.js';
import { gatherAxis, gatherShape } from './gather-axis.js';

/** The indices of input 1 along an axis of `params`. */
function indicesInto(cx: OpContext, params: TensorValue, axis: number): TensorValue {
  const constants = cx.numbers(1);
  const negative = constants?.find((one) => one < 0);
  if (negative !== undefined) cx.fail(`index ${negative} is below 0`);
  return checkedIndices(cx, cx.tensor(1), sizeOfAxis(cx, params, axis));
}

const gather: Lowering = (cx) => gathered(cx, 0, 0);

const gatherV2: Lowering = (cx) => {
  const axis = onlyNumber(cx, 2);
  const batchDims = cx.int('batch_dims', 0);
  if (axis !== undefined) return gathered(cx, axis, batchDims);
  return batchDims === 0
    ? gatheredAtRunTime(cx)
    : cx.fail('with batch_dims the axis (input 2) must be a constant');
};

/** Gathers from a variable, along the first axis after the batch. */
const resourceGather: Lowering = (cx) => {
  const batchDims = cx.int('batch_dims', 0);
  return gathered(cx, batchDims, batchDims);
};

function gatheredAtRunTime(cx: OpContext): TensorValue {
  const params = cx.tensor(0);
  const around = aroundAxis(cx, params, cx.tensor(2));
  const indices = indicesInto(cx, around.value, 1);
  const taken = gatherAxis(cx, around.value, indices, 1);
  const shape = cx.concat([around.before, cx.shapeOf(indices), around.after], 0);
  const known = gatherShape(params.shape, indices.shape, 0, 0);
  return cx.reshape(
    taken,
    shape,
    known?.map(() => undefined),
  );
}

function gathered(cx: OpContext, axis: number, batchDims: number): TensorValue {
  const params = cx.tensor(0);
  const at = axis < 0 ? cx.axis(axis, cx.rank(params)) : axis;
  if (batchDims !== 0) return batchGathered(cx, at, batchDims);
  return gatherAxis(cx, params, indicesInto(cx, params, at), at);
}

/** The gathered axis is moved directly after the batch, and its result back. */
function batchGathered(cx: OpContext, axis: number, batchDims: number): TensorValue {
  const params = cx.tensor(0);
  const indices = indicesInto(cx, params, axis);
  const [rank, indexRank] = [cx.rank(params), cx.rank(indices, 'its indices')];
  const batch = batchDims < 0 ? batchDims + indexRank : batchDims;
  if (batch < 0 || batch > axis || batch > indexRank) {
    cx.fail(
      `batch_dims ${batchDims} does not fit axis ${axis} and indices ${cx.describe(indices)}`,
    );
  }
  const range = (from: number, to: number): number[] =>
    Array.from({ length: Math.max(to - from, 0) }, (_, i) => from + i);
  const moved = cx.transpose(params, [
    ...range(0, batch),
    axis,
    ...range(batch, axis),
    ...range(axis + 1, rank),
  ]);
  const columns = cx.unsqueeze(indices, [indexRank]);
  const taken = cx.op('GatherND', [moved, columns], {
    shape: gatherShape(moved.shape, indices.shape, batch, batch),
    attributes: { batch_dims: { int: batch } },
  });
  const inner = indexRank - batch;
  const between = axis - batch;
  const end = rank - 1 - batch + inner + batch;
  return cx.transpose(taken, [
    ...range(0, batch),
    ...range(batch + inner, batch + inner + between),
    ...range(batch, batch + inner),
    ...range(batch + inner + between, end),
  ]);
}

const gatherNd: Lowering = (cx) => {
  const params = cx.tensor(0);
  const negative = cx.numbers(1)?.find((one) => one < 0);
  if (negative !== undefined) cx.fail(`index ${negative} is below 0`);
  const indices = checkedTuples(cx, cx.tensor(1), cx.shapeOf(params), 'param shape');
  const depth = indices.shape?.at(-1);
  if (depth === 0) return wholeParams(cx, params, indices);
  const shape =
    params.shape === undefined || indices.shape === undefined || depth === undefined
      ? undefined
      : [...indices.shape.slice(0, -1), ...params.shape.slice(depth)];
  return cx.op('GatherND', [params, indices], { shape });
};

/** Indices of depth 0 select the whole params, once for each. */
function wholeParams(cx: OpContext, params: TensorValue, indices: TensorValue): TensorValue {
  const outer = indices.shape?.slice(0, -1) ?? [];
  const shape = cx.shapeOf(indices);
  const ends = cx.int64s([-1]);
  const batch = cx.op('Slice', [shape, cx.int64s([0]), ends, cx.int64s([0])], {
    shape: [outer.length],
  });
  return cx.op('Expand', [params, cx.concat([batch, cx.shapeOf(params)], 0)], {
    shape: params.shape === undefined ? undefined : [...outer, ...params.shape],
  });
}

const NOTE = 'an index below 0 or beyond the end fails the request';

export const GATHER: Operators = {
  Gather: { lower: gather, dtypes: 'any', note: NOTE },
  GatherV2: { lower: gatherV2, dtypes: 'any', note: NOTE },
  GatherNd: { lower: gatherNd, dtypes: 'any', note: NOTE },
  ResourceGather: { lower: resourceGather, dtypes: 'any', note: NOTE },
  ResourceGatherNd: { lower: gatherNd, dtypes: 'any', note: NOTE },
};
