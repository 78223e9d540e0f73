// Gather along one axis. ONNX Runtime 1.30 copies only the first string of each slice, so strings
// use GatherND if slices are longer than one. Importer's worker thread.
import type { OpContext } from '../../lower/context.js';
import type { Shape } from '../../types.js';
import type { TensorValue } from '../../lower/values.js';

/** Slices of `params` at `indices` along `axis` (counted from the front). */
export function gatherAxis(
  cx: OpContext,
  params: TensorValue,
  indices: TensorValue,
  axis: number,
): TensorValue {
  const shape = gatherShape(params.shape, indices.shape, axis, 0);
  const isLast = params.shape !== undefined && axis === params.shape.length - 1;
  if (params.dtype !== 'string' || isLast) {
    return cx.op('Gather', [params, indices], { shape, attributes: { axis: { int: axis } } });
  }
  const columns = cx.op('Unsqueeze', [indices, cx.int64s([-1])], {
    shape: indices.shape === undefined ? undefined : [...indices.shape, 1],
  });
  if (axis === 0) return cx.op('GatherND', [params, columns], { dtype: params.dtype, shape });
  const [rank, count] = [cx.rank(params), cx.rank(indices, 'its indices')];
  const range = (from: number, to: number): number[] =>
    Array.from({ length: to - from }, (_, i) => from + i);
  const front = cx.transpose(params, [axis, ...range(0, axis), ...range(axis + 1, rank)]);
  const taken = cx.op('GatherND', [front, columns], {
    shape: gatherShape(front.shape, indices.shape, 0, 0),
  });
  return cx.transpose(taken, [
    ...range(count, count + axis),
    ...range(0, count),
    ...range(count + axis, count + rank - 1),
  ]);
}

/** The shape of the result: the indices' dims after the batch replace the axis. */
export function gatherShape(params: Shape, indices: Shape, axis: number, batchDims: number): Shape {
  if (params === undefined || indices === undefined) return undefined;
  return [...params.slice(0, axis), ...indices.slice(batchDims), ...params.slice(axis + 1)];
}
