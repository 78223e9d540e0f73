// Resizing as matrix products: each spatial axis of the images with a matrix [to, from] of weights.
// The graph computes the matrices from the two sizes, at load time if both are known. Importer's
// worker thread.
import type { OpContext } from '../../lower/context.js';
import type { TensorValue } from '../../lower/values.js';
import { div, less, mul, oneUnlessAny, where } from '../arithmetic/algebra.js';
import { type Dim, dimOf, elementDim, reshapeTo, subDims } from '../conv/dims.js';
import { ofRank, toChannelsFirst } from '../conv/layout.js';

/** 0, 1, ... below `count`, as float. */
export function positions(cx: OpContext, count: Dim): TensorValue {
  const end = typeof count === 'number' ? cx.scalar('int64', count) : cx.squeeze(count, [0]);
  const range = cx.op('Range', [cx.scalar('int64', 0), end, cx.scalar('int64', 1)], {
    shape: [typeof count === 'number' ? count : undefined],
  });
  return cx.cast(range, 'float');
}

/** A size as a float scalar. */
export const sizeScalar = (cx: OpContext, size: Dim): TensorValue =>
  typeof size === 'number' ? cx.scalar('float', size) : cx.cast(cx.squeeze(size, [0]), 'float');

/** Input rows per output row; between the corners under align_corners. */
export function resizeScale(cx: OpContext, from: Dim, to: Dim): TensorValue {
  const plain = div(cx, sizeScalar(cx, from), sizeScalar(cx, to));
  if (!cx.bool('align_corners', false) || to === 1) return plain;
  const [corners, rows] = [from, to].map((one) => sizeScalar(cx, subDims(cx, one, 1))) as [
    TensorValue,
    TensorValue,
  ];
  // One row has no corners to align.
  const isOne = cx.op('Equal', [rows, cx.scalar('float', 0)], { dtype: 'bool' });
  return where(cx, isOne, plain, div(cx, corners, rows));
}

/** Requested rows and columns; the request fails if there are none. */
export function targetSize(cx: OpContext, size: TensorValue): [Dim, Dim] {
  if (size.ints?.some((one) => one !== undefined && one < 1)) {
    cx.fail(`size [${size.ints.join(',')}]: expected 1 or more`);
  }
  const isKnown = size.ints?.every((one) => one !== undefined) ?? false;
  const bad = isKnown ? undefined : less(cx, size, cx.scalar(size.dtype, 1));
  const checked =
    bad === undefined
      ? size
      : mul(cx, size, oneUnlessAny(cx, bad, size.dtype, 'output dimensions must be positive'));
  const sized = isKnown ? size : { ...checked, shape: [2] };
  return [elementDim(cx, sized, 0), elementDim(cx, sized, 1)];
}

/** The weights of one axis: [to, from] as float. */
export type Weights = (cx: OpContext, from: Dim, to: Dim, axis: 0 | 1) => TensorValue;

/** The node's images [N, H, W, C] in another size, as float. */
export function byMatrices(cx: OpContext, weights: Weights): TensorValue {
  const x = toChannelsFirst(cx, cx.cast(ofRank(cx, cx.tensor(0), 4), 'float'));
  const [batch, channels, height, width] = [0, 1, 2, 3].map((axis) => dimOf(cx, x, axis)) as [
    Dim,
    Dim,
    Dim,
    Dim,
  ];
  const [rows, columns] = targetSize(cx, cx.tensor(1));
  // Both products have rank 2, which supports empty batches.
  const wide = along(cx, x, weights(cx, width, columns, 1), width, columns);
  const upright = cx.transpose(
    reshapeTo(cx, wide, [batch, channels, height, columns]),
    [0, 1, 3, 2],
  );
  const high = along(cx, upright, weights(cx, height, rows, 0), height, rows);
  const done = reshapeTo(cx, high, [batch, channels, columns, rows]);
  return cx.transpose(done, [0, 3, 2, 1]);
}

function along(
  cx: OpContext,
  value: TensorValue,
  matrix: TensorValue,
  from: Dim,
  to: Dim,
): TensorValue {
  const width = typeof from === 'number' ? from : undefined;
  const last = cx.rank(value) - 1;
  const flat = cx.reshape(
    value,
    width === undefined
      ? cx.concat([cx.int64s([-1]), cx.slice(cx.shapeOf(value), [last], [last + 1], [0])], 0)
      : [-1, width],
    [undefined, width],
  );
  return cx.op('MatMul', [flat, cx.transpose(matrix, [1, 0])], {
    shape: [undefined, typeof to === 'number' ? to : undefined],
  });
}
