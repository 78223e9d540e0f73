// The sums of the leaves' numbers, in the order of the trees and in the precision in which YDF's
// engine for the model adds them. Importer's worker thread. Source: YDF's serving/decision_forest/
// decision_forest_serving.cc, quick_scorer_extended.cc, model/*/*.cc (Predict).
import { TASK } from '../../../../protobuf/generated/yggdrasil-fields.js';
import { type Ensemble, initialOf, isLocal, isQuick } from '../../../ydf/ensemble.js';
import { dividedLeaves, unfolded, wholeLeaves } from '../../../ydf/leaves.js';
import type { OpContext } from '../../lower/context.js';
import { numbersTensor } from '../../lower/tensors.js';
import type { TensorValue } from '../../lower/values.js';
import type { Tensor } from '../../types.js';
import type { FoundLeaves } from './leaves.js';

type Precision = 'float' | 'double';

/** Float [rows, sums]. Errors: RangeError: trees that do not fit the classes. */
export function sumsOf(
  cx: OpContext,
  ensemble: Ensemble,
  isGeneral: boolean,
  found: FoundLeaves,
): TensorValue {
  const isSlow = isGeneral || isLocal(ensemble);
  const isBoosted = ensemble.header.name === 'GRADIENT_BOOSTED_TREES';
  return isBoosted ? boosted(cx, ensemble, isSlow, found) : averages(cx, ensemble, isSlow, found);
}

function boosted(
  cx: OpContext,
  ensemble: Ensemble,
  isSlow: boolean,
  { inModel }: FoundLeaves,
): TensorValue {
  const { grown } = ensemble;
  const initial = initialOf(ensemble);
  const groups = initial.length;
  const trees = grown.roots.length;
  if (trees === 0) throw new RangeError('the model has no trees');
  if (trees % groups !== 0) {
    throw new RangeError(
      `expected the same count of trees for each of ${groups} classes, got ${trees} trees`,
    );
  }
  const values = dividedLeaves(ensemble.leaves);
  const precision = groups === 1 && isSlow ? 'double' : 'float';
  const startsFirst = groups === 1 && (isSlow || isQuick(ensemble));
  if (startsFirst) {
    const start = initial[0] ?? 0;
    for (let leaf = 0; leaf < (grown.leafStarts[1] ?? 0); leaf += 1) {
      values[leaf] = start + (values[leaf] ?? 0);
    }
  }
  const [rows] = inModel.shape ?? [];
  const each = cx.op('Gather', [constantOf(cx, precision, [values.length], values), inModel], {
    shape: [rows, trees],
  });
  const sum = lastOf(cx, cx.reshape(each, [-1, trees / groups, groups], [rows, undefined, groups]));
  const floats = cx.cast(sum, 'float');
  if (startsFirst) return floats;
  return cx.op('Add', [floats, cx.constant(numbersTensor('float', [groups], initial))]);
}

function averages(
  cx: OpContext,
  ensemble: Ensemble,
  isSlow: boolean,
  { inModel }: FoundLeaves,
): TensorValue {
  const { header, trees } = ensemble;
  if (ensemble.grown.roots.length === 0) throw new RangeError('the model has no trees');
  const isWhole = isSlow && header.name !== 'ISOLATION_FOREST';
  const isFloat = !isWhole || (header.task === TASK.CLASSIFICATION && !trees.winnerTakesAll);
  // The general engine adds both of two classes.
  const leaves = isWhole ? unfolded(ensemble.leaves) : ensemble.leaves;
  const values = isWhole ? wholeLeaves(leaves, isFloat) : dividedLeaves(leaves);
  const { width } = leaves;
  const precision = isFloat ? 'float' : 'double';
  const table = constantOf(cx, precision, [values.length / width, width], values);
  const [rows, count] = inModel.shape ?? [];
  const each = cx.op('Gather', [table, inModel], { shape: [rows, count, width] });
  const sum = lastOf(cx, each);
  if (!isWhole) return cx.cast(sum, 'float');
  const divisor = cx.scalar('double', leaves.divisor);
  return cx.cast(cx.op('Div', [cx.cast(sum, 'double'), divisor]), 'float');
}

function constantOf(
  cx: OpContext,
  dtype: Precision,
  shape: readonly number[],
  values: Float64Array,
): TensorValue {
  return cx.constant(tensorOf(dtype, shape, values));
}

function tensorOf(dtype: Precision, shape: readonly number[], values: Float64Array): Tensor {
  const made = dtype === 'float' ? Float32Array.from(values) : values;
  const bytes = new Uint8Array(made.buffer, made.byteOffset, made.byteLength);
  return { dtype, shape, data: { kind: 'bytes', bytes } };
}

/** Sums along axis 1, one after the other: [rows, trees, width] to [rows, width]. */
function lastOf(cx: OpContext, values: TensorValue): TensorValue {
  const [rows, , width] = values.shape ?? [];
  const sums = cx.op('CumSum', [values, cx.scalar('int64', 1)]);
  return cx.op('Gather', [sums, cx.scalar('int64', -1)], {
    shape: [rows, width],
    attributes: { axis: { int: 1 } },
  });
}
