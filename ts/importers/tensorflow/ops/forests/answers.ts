// The predictions of a YDF model from the sums of its trees, in floats. Importer's worker thread.
// Source: YDF's serving/decision_forest/decision_forest_serving.cc (Activation...);
// tensorflow_decision_forests/tensorflow/ops/inference/kernel.cc (decompact_probability_).
import { TASK } from '../../../../protobuf/generated/yggdrasil-fields.js';
import type { Ensemble } from '../../../ydf/ensemble.js';
import { averagePathLength } from '../../../ydf/leaves.js';
import { linkOf, POISSON_MAX } from '../../../ydf/link.js';
import type { OpContext } from '../../lower/context.js';
import type { TensorValue } from '../../lower/values.js';

/** Float [rows, width]. */
export function predictions(
  cx: OpContext,
  ensemble: Ensemble,
  sums: TensorValue,
  width: number,
): TensorValue {
  const values = linked(cx, ensemble, sums);
  const isClasses = ensemble.header.task === TASK.CLASSIFICATION;
  if (!isClasses || width !== 2 || values.shape?.[1] !== 1) return values;
  // Two classes: the model has the second one's share.
  const share = clipped(cx, values, 0, 1);
  const rest = cx.op('Sub', [cx.scalar('float', 1), share], { shape: share.shape });
  return cx.concat([rest, share], 1);
}

function linked(cx: OpContext, ensemble: Ensemble, sums: TensorValue): TensorValue {
  switch (linkOf(ensemble)) {
    case 'none':
      return sums;
    case 'share':
      return clipped(cx, sums, 0, 1);
    case 'anomaly':
      return anomalyScore(cx, sums, ensemble.trees.rowsPerTree);
    case 'sigmoid': {
      const one = cx.scalar('float', 1);
      const sum = cx.op('Add', [exponential(cx, cx.op('Neg', [sums])), one]);
      return cx.op('Div', [one, sum], { shape: sum.shape });
    }
    case 'exponential':
      return exponential(cx, clipped(cx, sums, -POISSON_MAX, POISSON_MAX));
    case 'softmax':
      return softmax(cx, sums);
  }
}

function clipped(cx: OpContext, value: TensorValue, low: number, high: number): TensorValue {
  return cx.op('Clip', [value, cx.scalar('float', low), cx.scalar('float', high)]);
}

/** e^x, rounded to a float. */
function exponential(cx: OpContext, value: TensorValue): TensorValue {
  return cx.cast(cx.op('Exp', [cx.cast(value, 'double')]), 'float');
}

/** Each step in floats; the greatest is not subtracted first. */
function softmax(cx: OpContext, sums: TensorValue): TensorValue {
  const powers = exponential(cx, sums);
  const [rows, width = 0] = powers.shape ?? [];
  const all = cx.op('CumSum', [powers, cx.scalar('int64', 1)]);
  const total = cx.slice(all, [width - 1], [width], [1]);
  const inverse = cx.op('Div', [cx.scalar('float', 1), total], { shape: [rows, 1] });
  return clipped(cx, cx.op('Mul', [powers, inverse], { shape: powers.shape }), 0, 1);
}

/** 2^(-depth / expected depth); 0 where that is 0. */
function anomalyScore(cx: OpContext, depth: TensorValue, rowsPerTree: number): TensorValue {
  const expected = averagePathLength(rowsPerTree);
  if (expected === 0) return cx.op('Mul', [depth, cx.scalar('float', 0)]);
  const quotient = cx.op('Div', [cx.op('Neg', [depth]), cx.scalar('float', expected)]);
  const exponent = cx.cast(quotient, 'double');
  const power = cx.op('Pow', [cx.scalar('double', 2), exponent], { shape: depth.shape });
  return cx.cast(power, 'float');
}
