// Special functions, by Serval's own operators. Source: tensorflow/core/kernels/cwise_ops.h.
// Importer's worker thread.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import { broadcastShapes, type TensorValue } from '../../lower/values.js';
import { computable } from '../features/attributes.js';

/** Serval's operator with the node's name, in float if the node's type is smaller. */
const special: Lowering = (cx) => {
  const x = cx.tensor(0);
  const given = computable(cx, x);
  const [value] = cx.custom(cx.node.op, [given], [given]);
  return value === undefined ? cx.fail('has no output') : cx.cast(value, x.dtype);
};

/** Broadcasts two tensors to one shape, which ONNX's own operators do themselves. */
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

/** A function of two numbers. */
const ofTwo: Lowering = (cx) => {
  const [a, b] = [cx.tensor(0), cx.tensor(1)];
  const inputs = alike(cx, computable(cx, a), computable(cx, b));
  const [value] = cx.custom(cx.node.op, inputs, [inputs[0] ?? a]);
  return value === undefined ? cx.fail('has no output') : cx.cast(value, a.dtype);
};

/** A function of three tensors of one shape, or scalars. */
const betainc: Lowering = (cx) => {
  const inputs = cx.tensors(0, 3).map((one) => computable(cx, one));
  const [first] = inputs;
  const isKnown = inputs.every(({ shape }) => shape !== undefined);
  const shaped = inputs.find((one) => (one.shape?.length ?? 0) > 0);
  const shape = shaped?.shape ?? (isKnown ? [] : undefined);
  const [value] = cx.custom('Betainc', inputs, [{ dtype: first?.dtype ?? 'float', shape }]);
  return value === undefined ? cx.fail('has no output') : cx.cast(value, cx.tensor(0).dtype);
};

const TWO = ['Igamma', 'Igammac', 'Zeta', 'Polygamma'];

const NAMES: readonly string[] = [
  ...['Erfinv', 'Ndtri', 'BesselI0', 'BesselI0e', 'BesselI1', 'BesselI1e', 'BesselJ0', 'BesselJ1'],
  ...['BesselK0', 'BesselK0e', 'BesselK1', 'BesselK1e', 'BesselY0', 'BesselY1'],
];

export const SPECIAL: Operators = {
  ...Object.fromEntries(NAMES.map((name) => [name, { lower: special, dtypes: 'floating' }])),
  ...Object.fromEntries(TWO.map((name) => [name, { lower: ofTwo, dtypes: 'floating' }])),
  Betainc: { lower: betainc, dtypes: 'floating' },
  NextAfter: { lower: nextAfter, dtypes: 'float, double' },
};
