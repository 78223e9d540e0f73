// Selects boxes that do not overlap much. Importer's worker thread. Source:
// tensorflow/core/kernels/image/non_max_suppression_op.cc.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { TensorValue } from '../../lower/values.js';
import { sub } from '../arithmetic/algebra.js';
import { softSuppress } from './soft-suppression.js';

export interface Suppression {
  /** [batch, boxes, 4] and [batch, classes, boxes]. */
  readonly boxes: TensorValue;
  readonly scores: TensorValue;
  /** Scalars. */
  readonly most: TensorValue;
  readonly overlap: TensorValue;
  readonly lowest: TensorValue | undefined;
}

/** Selection: int64 rows of batch, class, box; per class by descending score. */
export function suppress(cx: OpContext, given: Suppression): TensorValue {
  const { boxes, scores, most, overlap, lowest } = given;
  return cx.op(
    'NonMaxSuppression',
    [
      cx.cast(boxes, 'float'),
      cx.cast(scores, 'float'),
      cx.reshape(cx.cast(most, 'int64'), [1]),
      cx.reshape(cx.cast(overlap, 'float'), [1]),
      lowest === undefined ? undefined : cx.reshape(cx.cast(lowest, 'float'), [1]),
    ],
    { dtype: 'int64', shape: [undefined, 3] },
  );
}

interface Form {
  /** Input indices; the overlap of the first version is an attribute. */
  readonly overlap?: number;
  readonly lowest?: number;
}

/** Indices of boxes, int32 of rank 1. */
function selected(cx: OpContext, { overlap, lowest }: Form): TensorValue {
  const rows = suppress(cx, {
    boxes: cx.unsqueeze(cx.tensor(0), [0]),
    scores: cx.unsqueeze(cx.unsqueeze(cx.tensor(1), [0]), [0]),
    most: cx.tensor(2),
    overlap:
      overlap === undefined
        ? cx.scalar('float', cx.float('iou_threshold', 0.5))
        : cx.tensor(overlap),
    lowest: lowest === undefined ? undefined : cx.tensor(lowest),
  });
  const column = cx.op('Gather', [rows, cx.scalar('int64', 2)], {
    shape: [undefined],
    attributes: { axis: { int: 1 } },
  });
  return cx.cast(column, 'int32');
}

const countOf = (cx: OpContext, value: TensorValue): TensorValue =>
  cx.op('Size', [value], { dtype: 'int64', shape: [] });

/** Padded with zeros to max_output_size. */
function filled(cx: OpContext, value: TensorValue): TensorValue {
  if (!cx.bool('pad_to_max_output_size', false)) return value;
  const room = sub(cx, cx.cast(cx.tensor(2), 'int64'), countOf(cx, value));
  const pads = cx.concat([cx.int64s([0]), cx.reshape(room, [1])], 0);
  return cx.op('Pad', [value, pads], { shape: [cx.numbers(2)?.[0]] });
}

const plain =
  (form: Form): Lowering =>
  (cx) =>
    selected(cx, form);

const padded: Lowering = (cx) => {
  const indices = selected(cx, { overlap: 3, lowest: 4 });
  return [filled(cx, indices), cx.cast(countOf(cx, indices), 'int32')];
};

/** Also returns the scores, which a sigma above 0 changes. */
const soft: Lowering = (cx) => {
  const [sigma = NaN] = cx.requireNumbers(5, 'soft_nms_sigma');
  if (!(sigma >= 0)) cx.fail(`soft_nms_sigma ${sigma}: expected 0 or more`);
  const [chosen, scores] =
    sigma === 0
      ? hard(cx)
      : softSuppress(cx, {
          boxes: cx.cast(cx.tensor(0), 'float'),
          scores: cx.cast(cx.tensor(1), 'float'),
          most: cx.cast(cx.tensor(2), 'int64'),
          overlap: cx.cast(cx.tensor(3), 'float'),
          lowest: cx.cast(cx.tensor(4), 'float'),
          sigma,
        });
  const indices = cx.cast(chosen, 'int32');
  const kept = cx.cast(scores, cx.tensor(1).dtype);
  return [filled(cx, indices), filled(cx, kept), cx.cast(countOf(cx, indices), 'int32')];
};

function hard(cx: OpContext): readonly [TensorValue, TensorValue] {
  const indices = selected(cx, { overlap: 3, lowest: 4 });
  return [indices, cx.op('Gather', [cx.tensor(1), indices], { shape: [undefined] })];
}

const FLOATING = 'float, half';

export const SUPPRESSION: Operators = {
  NonMaxSuppression: { lower: plain({}), dtypes: FLOATING },
  NonMaxSuppressionV2: { lower: plain({ overlap: 3 }), dtypes: FLOATING },
  NonMaxSuppressionV3: { lower: plain({ overlap: 3, lowest: 4 }), dtypes: FLOATING },
  NonMaxSuppressionV4: { lower: padded, dtypes: FLOATING },
  NonMaxSuppressionV5: {
    lower: soft,
    dtypes: FLOATING,
    note: 'soft_nms_sigma must be a constant',
  },
};
