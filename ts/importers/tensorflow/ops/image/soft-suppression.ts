// Suppression that lowers the scores of boxes instead of dropping them: a Loop that selects the
// best box and weakens those that overlap it. TensorFlow weakens a box only when it becomes the
// best; the selection is the same. Importer's worker thread. Source:
// tensorflow/core/kernels/image/non_max_suppression_op.cc (DoNonMaxSuppressionOp).
import type { OpContext } from '../../lower/context.js';
import { GraphBuilder } from '../../lower/graph-builder.js';
import { elementType } from '../../lower/values.js';
import type { TensorValue } from '../../lower/values.js';
import {
  add,
  and,
  div,
  equal,
  less,
  max,
  min,
  mul,
  or,
  sub,
  where,
} from '../arithmetic/algebra.js';

export interface SoftSuppression {
  /** [n, 4] and [n], float. */
  readonly boxes: TensorValue;
  readonly scores: TensorValue;
  /** Scalars; `most` int64, the others float. */
  readonly most: TensorValue;
  readonly overlap: TensorValue;
  readonly lowest: TensorValue;
  readonly sigma: number;
}

const float = (cx: OpContext, value: number): TensorValue => cx.scalar('float', value);

/** Corners and area of the boxes; each [n]. */
interface Corners {
  readonly low: readonly [TensorValue, TensorValue];
  readonly high: readonly [TensorValue, TensorValue];
  readonly area: TensorValue;
}

/** Accepts the corners in either order. */
function cornersOf(cx: OpContext, boxes: TensorValue): Corners {
  const [y1, x1, y2, x2] = [0, 1, 2, 3].map((at) =>
    cx.op('Gather', [boxes, cx.scalar('int64', at)], {
      shape: [undefined],
      attributes: { axis: { int: 1 } },
    }),
  ) as [TensorValue, TensorValue, TensorValue, TensorValue];
  const low = [min(cx, y1, y2), min(cx, x1, x2)] as const;
  const high = [max(cx, y1, y2), max(cx, x1, x2)] as const;
  const area = mul(cx, sub(cx, high[0], low[0]), sub(cx, high[1], low[1]));
  return { low, high, area };
}

/** Overlap of each box with box `index`: intersection over union, 0 for boxes without area. */
function overlaps(cx: OpContext, { low, high, area }: Corners, index: TensorValue): TensorValue {
  const zero = float(cx, 0);
  const one = (of: TensorValue): TensorValue => cx.op('Gather', [of, index], { shape: [] });
  const side = (axis: 0 | 1): TensorValue =>
    max(
      cx,
      zero,
      sub(cx, min(cx, high[axis], one(high[axis])), max(cx, low[axis], one(low[axis]))),
    );
  const shared = mul(cx, side(0), side(1));
  const other = one(area);
  const union = sub(cx, add(cx, area, other), shared);
  const areBoxes = and(cx, less(cx, zero, area), less(cx, zero, other));
  return where(cx, areBoxes, div(cx, shared, union), zero);
}

/** One iteration: the best box, its score, whether it counts; the scores afterwards. */
function round(
  cx: OpContext,
  scores: TensorValue,
  corners: Corners,
  given: SoftSuppression,
): readonly TensorValue[] {
  const none = float(cx, -Infinity);
  const best = cx.op('ArgMax', [scores], {
    dtype: 'int64',
    shape: [],
    attributes: { axis: { int: 0 }, keepdims: { int: 0 } },
  });
  const score = cx.op('Gather', [scores, best], { shape: [] });
  const counts = cx.op('Greater', [score, given.lowest], { dtype: 'bool', shape: [] });
  const overlap = overlaps(cx, corners, best);
  const exponent = mul(cx, mul(cx, overlap, overlap), float(cx, -0.5 / given.sigma));
  const weight = where(
    cx,
    less(cx, given.overlap, overlap),
    float(cx, 0),
    cx.op('Exp', [exponent]),
  );
  const places = cx.op(
    'Range',
    [
      cx.scalar('int64', 0),
      cx.op('Size', [scores], { dtype: 'int64', shape: [] }),
      cx.scalar('int64', 1),
    ],
    { shape: [undefined] },
  );
  const isOut = or(cx, equal(cx, places, best), equal(cx, scores, none));
  return [counts, where(cx, isOut, none, mul(cx, scores, weight)), best, score, counts];
}

/** Selected boxes (int64) and their remaining scores, in the order of selection. */
export function softSuppress(
  cx: OpContext,
  given: SoftSuppression,
): readonly [TensorValue, TensorValue] {
  const { model } = cx.builder;
  const none = float(cx, -Infinity);
  // A box that is never selected, so that there is always one to examine.
  const room = (pads: readonly number[]): TensorValue => cx.int64s(pads);
  const boxes = cx.op('Pad', [given.boxes, room([0, 0, 1, 0])], { shape: [undefined, 4] });
  const isLow = less(cx, given.lowest, given.scores);
  const scores = cx.op('Pad', [where(cx, isLow, given.scores, none), room([0, 1]), none], {
    shape: [undefined],
  });
  const corners = cornersOf(cx, boxes);
  const inner = cx.within(new GraphBuilder(model));
  const before: TensorValue = {
    kind: 'tensor',
    dtype: 'float',
    shape: [undefined],
    name: model.name('scores'),
  };
  const results = round(inner, before, corners, given);
  const inputs = [
    { name: model.name('round'), type: elementType('int64'), shape: [] },
    { name: model.name('goes_on'), type: elementType('bool'), shape: [] },
    { name: before.name ?? '', type: elementType('float'), shape: [undefined] },
  ];
  const body = inner.builder.subgraph('soft_suppression', inputs, results);
  const [, indices, values, counts] = cx.builder.add(
    'Loop',
    [
      cx.reshape(given.most, []),
      cx.constant({ dtype: 'bool', shape: [], data: { kind: 'bytes', bytes: Uint8Array.of(1) } }),
      scores,
    ],
    (['float', 'int64', 'float', 'bool'] as const).map((dtype) => ({ dtype, shape: [undefined] })),
    { body: { graph: body } },
  );
  if (indices === undefined || values === undefined) return cx.fail('it selects nothing');
  const kept = (of: TensorValue): TensorValue =>
    cx.op('Compress', [of, counts], { shape: [undefined], attributes: { axis: { int: 0 } } });
  return [kept(indices), kept(values)];
}
