// Resizing by area. Importer's worker thread. Source:
// tensorflow/core/kernels/image/resize_area_op.cc.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { TensorValue } from '../../lower/values.js';
import { add, div, max, min, mul, sub, where } from '../arithmetic/algebra.js';
import { type Dim, subDims } from '../conv/dims.js';
import { byMatrices, positions, resizeScale, sizeScalar } from './matrices.js';

/** [to, from]: the overlap of each output row with each input row. */
function weights(cx: OpContext, from: Dim, to: Dim): TensorValue {
  const one = cx.scalar('float', 1);
  const scale = resizeScale(cx, from, to);
  const row = cx.unsqueeze(positions(cx, to), [1]);
  const start = mul(cx, row, scale);
  const end = mul(cx, add(cx, row, one), scale);
  const last = sizeScalar(cx, subDims(cx, from, 1));
  const low = cx.unsqueeze(positions(cx, from), [0]);
  const above = add(cx, low, one);
  // Beyond the image the last row is used.
  const isLast = cx.op('Equal', [low, last], { dtype: 'bool' });
  const high = where(cx, isLast, max(cx, above, end), above);
  const overlap = max(cx, sub(cx, min(cx, end, high), max(cx, start, low)), cx.scalar('float', 0));
  // A single row under aligned corners has scale 0 and covers everything.
  const isWhole = cx.op('Equal', [scale, cx.scalar('float', 0)], { dtype: 'bool' });
  return where(cx, isWhole, one, div(cx, overlap, scale));
}

const area: Lowering = (cx) => byMatrices(cx, weights);

export const RESIZE_AREA: Operators = {
  ResizeArea: { lower: area },
};
