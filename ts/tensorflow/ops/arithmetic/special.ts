// Special functions, by operators of ours. Source: tensorflow/core/kernels/cwise_ops.h.
// Importer's worker thread.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import { broadcastShapes, type TensorValue } from '../../lower/values.js';
import { computable } from '../tabular/attributes.js';

/** One operator of ours of the node's name, in float where the node's type is shorter. */
const special: Lowering = (cx) => {
  const x = cx.tensor(0);
  const given = computable(cx, x);
  const [value] = cx.custom(cx.node.op, [given], [given]);
  return value === undefined ? cx.fail('has no output') : cx.cast(value, x.dtype);
};

/** Two tensors of one shape: what ONNX's own operators do for themselves. */
function alike(cx: OpContext, a: TensorValue, b: TensorValue): TensorValue[] {
  const shape = broadcastShapes(a.shape, b.shape);
  const spread = (value: TensorValue, to: TensorValue): TensorValue =>
    cx.op('Expand', [value, cx.shapeOf(to)], { shape });
  return [spread(a, b), spread(b, a)];
}

const nextAfter: Lowering = (cx) => {
  const inputs = alike(cx, cx.tensor(0), cx.tensor(1));
  return cx.custom('NextAfter', inputs, [inputs[0] ?? cx.tensor(0)]);
};

const NAMES: readonly string[] = [
  ...['Erfinv', 'Ndtri', 'BesselI0', 'BesselI0e', 'BesselI1', 'BesselI1e', 'BesselJ0', 'BesselJ1'],
  ...['BesselK0', 'BesselK0e', 'BesselK1', 'BesselK1e', 'BesselY0', 'BesselY1'],
];

export const SPECIAL: Operators = {
  ...Object.fromEntries(NAMES.map((name) => [name, { lower: special, dtypes: 'floating' }])),
  NextAfter: { lower: nextAfter, dtypes: 'float, double' },
};
