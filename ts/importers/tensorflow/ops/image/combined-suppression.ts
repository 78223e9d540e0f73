// Selects boxes per class over a batch, then the best of all classes together. Importer's worker
// thread. Source: tensorflow/core/kernels/image/non_max_suppression_op.cc
// (CombinedNonMaxSuppression).
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { TensorValue } from '../../lower/values.js';
import { min, where } from '../arithmetic/algebra.js';
import { type Dim, dimOf, dimVector, knownDims, mulDims, reshapeTo } from '../conv/dims.js';
import { ofRank } from '../conv/layout.js';
import { suppress } from './suppression.js';

const LOWEST = -3.4028234663852886e38;

/** Scores [batch * classes, boxes] with the lowest float for boxes that are not selected. */
function keptScores(
  cx: OpContext,
  boxes: TensorValue,
  scores: TensorValue,
  [images, count]: readonly [Dim, Dim],
): TensorValue {
  const rows = suppress(cx, {
    boxes,
    scores: cx.unsqueeze(scores, [1]),
    most: cx.tensor(2),
    overlap: cx.tensor(4),
    lowest: cx.tensor(5),
  });
  const places = cx.op('Gather', [rows, cx.int64s([0, 2])], {
    shape: [undefined, 2],
    attributes: { axis: { int: 1 } },
  });
  const values = cx.op('GatherND', [scores, places], { shape: [undefined] });
  const none = cx.op('Expand', [cx.scalar('float', LOWEST), dimVector(cx, [images, count])], {
    shape: knownDims([images, count]),
  });
  return cx.op('ScatterND', [none, places, values], { shape: none.shape });
}

/** Number of results: with pad_per_class at most as many as the classes can fill. */
function total(cx: OpContext, classes: Dim): Dim {
  const [each] = cx.requireNumbers(2, 'max_output_size_per_class');
  const [all] = cx.requireNumbers(3, 'max_total_size');
  if (all === undefined || each === undefined || all < 1)
    return cx.fail('max_total_size: expected 1 or more');
  if (!cx.bool('pad_per_class', false)) return all;
  if (typeof classes === 'number') return Math.min(all, each * classes);
  return min(cx, cx.int64s([all]), mulDims(cx, each, classes) as TensorValue) as Dim;
}

/** The best `count` of [batch, any], with space for missing ones. */
function best(cx: OpContext, scores: TensorValue, count: Dim): readonly [TensorValue, TensorValue] {
  const room = dimVector(cx, [0, 0, 0, count]);
  const wide = cx.op('Pad', [scores, room, cx.scalar('float', LOWEST)], {
    shape: [scores.shape?.[0], undefined],
  });
  const shape = [scores.shape?.[0], knownDims([count])[0]];
  return cx.ops(
    'TopK',
    [wide, dimVector(cx, [count])],
    [
      { dtype: 'float', shape },
      { dtype: 'int64', shape },
    ],
    { axis: { int: 1 } },
  ) as [TensorValue, TensorValue];
}

const combined: Lowering = (cx) => {
  const given = ofRank(cx, cx.tensor(0), 4);
  const [batch, count, sets] = [0, 1, 2].map((axis) => dimOf(cx, given, axis)) as [Dim, Dim, Dim];
  const scores = cx.transpose(ofRank(cx, cx.tensor(1), 3), [0, 2, 1]);
  const classes = dimOf(cx, scores, 1);
  const images = mulDims(cx, batch, classes);
  // Boxes [batch, classes, boxes, 4], whether they are shared or not.
  const perSet = cx.transpose(given, [0, 2, 1, 3]);
  const perClass =
    sets === classes
      ? perSet
      : cx.op('Expand', [perSet, dimVector(cx, [1, classes, 1, 1])], {
          shape: knownDims([batch, classes, count, 4]),
        });
  const boxes = reshapeTo(cx, perClass, [images, count, 4]);
  const kept = keptScores(cx, boxes, reshapeTo(cx, scores, [images, count]), [images, count]);
  const size = total(cx, classes);
  const all = mulDims(cx, classes, count);
  const [values, places] = best(cx, reshapeTo(cx, kept, [batch, all]), size);
  return answers(cx, { boxes: reshapeTo(cx, boxes, [batch, all, 4]), count, values, places });
};

interface Best {
  readonly boxes: TensorValue;
  readonly count: Dim;
  readonly values: TensorValue;
  readonly places: TensorValue;
}

/** Boxes, scores, classes, and the valid number per image; the others are 0. */
function answers(cx: OpContext, { boxes, count, values, places }: Best): TensorValue[] {
  const zero = cx.scalar('float', 0);
  const { shape } = values;
  const isReal = cx.op('Greater', [values, cx.scalar('float', LOWEST)], { dtype: 'bool', shape });
  const inside = where(cx, isReal, places, cx.scalar('int64', 0));
  const corners = cx.op('GatherND', [boxes, cx.unsqueeze(inside, [2])], {
    shape: shape && [...shape, 4],
    attributes: { batch_dims: { int: 1 } },
  });
  const clipped = cx.bool('clip_boxes', true)
    ? cx.op('Clip', [corners, zero, cx.scalar('float', 1)])
    : corners;
  const each = typeof count === 'number' ? cx.scalar('int64', count) : count;
  const kinds = cx.cast(cx.op('Div', [inside, each], { shape }), 'float');
  const valid = cx.op('ReduceSum', [cx.cast(isReal, 'int32'), cx.int64s([1])], {
    shape: [shape?.[0]],
    attributes: { keepdims: { int: 0 } },
  });
  return [
    where(cx, cx.unsqueeze(isReal, [2]), clipped, zero),
    where(cx, isReal, values, zero),
    where(cx, isReal, kinds, zero),
    valid,
  ];
}

export const COMBINED_SUPPRESSION: Operators = {
  CombinedNonMaxSuppression: {
    lower: combined,
    dtypes: 'float',
    note: 'the sizes (inputs 2 and 3) must be constants',
  },
};
