// Batch normalization. With batch statistics (is_training) it is composed of other operators.
// Importer's worker thread. Source: tensorflow/core/kernels/{fused_batch_norm_op,batch_norm_op}.cc.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import { dtypeBytes, isStatic } from '../../lower/values.js';
import type { TensorValue } from '../../lower/values.js';
import { add, mul, sub } from '../arithmetic/algebra.js';
import { isChannelsFirst, toChannelsFirst, toChannelsLast } from '../conv/layout.js';

/** x, scale, offset, mean, variance. */
export type NormOperands = readonly [
  TensorValue,
  TensorValue,
  TensorValue,
  TensorValue,
  TensorValue,
];

/** Normalizes [N, C, spatial...]. */
export function normalise(cx: OpContext, operands: NormOperands, epsilon: number): TensorValue {
  return cx.op('BatchNormalization', operands, { attributes: { epsilon: { float: epsilon } } });
}

/** Uses the batch's own mean and variance: [y, mean, variance without bias]. */
function byBatch(
  cx: OpContext,
  x: TensorValue,
  scale: TensorValue,
  offset: TensorValue,
  epsilon: number,
): [TensorValue, TensorValue, TensorValue] {
  const rank = cx.rank(x);
  const axes = Array.from({ length: rank }, (_, i) => i).filter((axis) => axis !== 1);
  const wide = cx.cast(x, 'float');
  const shape = wide.shape?.map((dim, axis) => (axis === 1 ? dim : 1));
  const mean = (of: TensorValue): TensorValue =>
    cx.op('ReduceMean', [of, cx.int64s(axes)], { shape, attributes: { keepdims: { int: 1 } } });
  const centre = mean(wide);
  const offCentre = sub(cx, wide, centre);
  const variance = mean(mul(cx, offCentre, offCentre));
  const column = (of: TensorValue): TensorValue =>
    cx.unsqueeze(
      of,
      Array.from({ length: rank - 2 }, (_, i) => i + 1),
    );
  const deviation = cx.op('Sqrt', [add(cx, variance, cx.scalar('float', epsilon))]);
  const scaled = mul(
    cx,
    cx.op('Div', [offCentre, deviation], { shape: wide.shape }),
    column(scale),
  );
  const y = cx.cast(add(cx, scaled, column(offset)), x.dtype);
  const all = cx.op('Size', [wide], { dtype: 'int64', shape: [] });
  const each = cx.op('Size', [centre], { dtype: 'int64', shape: [] });
  const count = cx.cast(cx.op('Div', [all, each]), 'float');
  const one = cx.scalar('float', 1);
  const unbiased = cx.op('Div', [count, cx.op('Max', [sub(cx, count, one), one])], { shape: [] });
  return [y, cx.squeeze(centre, axes), cx.squeeze(mul(cx, variance, unbiased), axes)];
}

/** The node's y, mean and variance. */
export function fusedBatchNorm(cx: OpContext): [TensorValue, TensorValue, TensorValue] {
  const isFirst = isChannelsFirst(cx);
  const epsilon = cx.float('epsilon', 1e-4);
  const x = cx.tensor(0);
  const shaped =
    x.shape === undefined ? { ...x, shape: [undefined, undefined, undefined, undefined] } : x;
  const turned = toChannelsFirst(cx, shaped, isFirst);
  const [scale, offset, mean, variance] = [1, 2, 3, 4].map((i) => cx.tensor(i)) as [
    TensorValue,
    TensorValue,
    TensorValue,
    TensorValue,
  ];
  if (!cx.bool('is_training', true)) {
    const y = normalise(cx, [turned, scale, offset, mean, variance], epsilon);
    return [toChannelsLast(cx, y, isFirst), mean, variance];
  }
  const [y, ofBatch, spread] = byBatch(cx, turned, scale, offset, epsilon);
  return [toChannelsLast(cx, y, isFirst), ofBatch, spread];
}

/** The reserved outputs are for gradients: they repeat the statistics. */
const fused =
  (outputs: number): Lowering =>
  (cx) => {
    const [y, mean, variance] = fusedBatchNorm(cx);
    return [y, mean, variance, mean, variance, cx.scalar('float', 0)].slice(0, outputs);
  };

/** gamma applies only with scale_after_normalization. */
const globalNormalisation: Lowering = (cx) => {
  const [x, mean, variance, beta, gamma] = [0, 1, 2, 3, 4].map((i) => cx.tensor(i)) as [
    TensorValue,
    TensorValue,
    TensorValue,
    TensorValue,
    TensorValue,
  ];
  const scale = cx.bool('scale_after_normalization') ? gamma : onesLike(cx, mean);
  const turned = toChannelsFirst(cx, x);
  const y = normalise(cx, [turned, scale, beta, mean, variance], cx.float('variance_epsilon'));
  return toChannelsLast(cx, y);
};

function onesLike(cx: OpContext, value: TensorValue): TensorValue {
  const { dtype, shape } = value;
  if (isStatic(shape)) {
    const one = cx.scalar(dtype, 1).constant?.data;
    const element = one?.kind === 'bytes' ? one.bytes : new Uint8Array(dtypeBytes(dtype));
    return cx.constant({ dtype, shape, data: { kind: 'fill', element } });
  }
  return cx.op('Expand', [cx.scalar(dtype, 1), cx.shapeOf(value)], { dtype, shape });
}

const FLOATING = 'floating';

export const BATCH_NORM: Operators = {
  FusedBatchNorm: { lower: fused(5), dtypes: 'float' },
  FusedBatchNormV2: { lower: fused(5), dtypes: FLOATING },
  FusedBatchNormV3: { lower: fused(6), dtypes: FLOATING },
  BatchNormWithGlobalNormalization: { lower: globalNormalisation, dtypes: FLOATING },
};
