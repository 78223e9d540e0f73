// Running sums and products. Tier T1. Source: tensorflow/core/kernels/scan_ops.h.
// Importer's worker thread.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import { GraphBuilder } from '../../lower/graph-builder.js';
import { elementType } from '../../lower/values.js';
import type { TensorValue } from '../../lower/values.js';
import { inFloat, onlyNumber } from '../arithmetic/algebra.js';
import { TO_END } from '../shape/slice.js';

const flag = (cx: OpContext, name: string): { int: number } => ({
  int: cx.bool(name, false) ? 1 : 0,
});

const cumsum: Lowering = (cx) =>
  inFloat(cx, [cx.tensor(0)], (x) => {
    const axis = cx.reshape(cx.tensor(1), []);
    return cx.op('CumSum', [x as TensorValue, axis], {
      attributes: { exclusive: flag(cx, 'exclusive'), reverse: flag(cx, 'reverse') },
    });
  });

/** ONNX has no running product: a Scan along the axis carries it. */
const cumprod: Lowering = (cx) => {
  const found = onlyNumber(cx, 1) ?? cx.fail('the axis must be a constant');
  const axis = cx.axis(found, cx.rank(cx.tensor(0)));
  return inFloat(cx, [cx.tensor(0)], (x) => runningProduct(cx, x as TensorValue, axis));
};

/** A row of ones comes first, because a Scan of no rows is an error: what is before the last row
 * of the products is the exclusive form, what is after the first the inclusive one. */
function runningProduct(cx: OpContext, x: TensorValue, axis: number): TensorValue {
  const rest = (x.shape ?? []).map((_, each) => each).filter((each) => each !== axis);
  const dims = cx.op('Gather', [cx.shapeOf(x), cx.int64s(rest)], { shape: [rest.length] });
  const ones = cx.op('Expand', [cx.scalar(x.dtype, 1), dims], {
    shape: rest.map((each) => x.shape?.[each]),
  });
  const isReverse = cx.bool('reverse', false);
  const row = cx.unsqueeze(ones, [axis]);
  const rows = cx.concat(isReverse ? [x, row] : [row, x], axis);
  const direction = { ints: [isReverse ? 1 : 0] };
  const [, products] = cx.ops(
    'Scan',
    [ones, rows],
    [
      { dtype: x.dtype, shape: ones.shape },
      { dtype: x.dtype, shape: rows.shape },
    ],
    {
      body: { graph: productBody(cx, ones) },
      num_scan_inputs: { int: 1 },
      scan_input_axes: { ints: [axis] },
      scan_output_axes: { ints: [axis] },
      scan_input_directions: direction,
      scan_output_directions: direction,
    },
  );
  if (products === undefined) return cx.fail('has no outputs');
  const isFromFirst = cx.bool('exclusive', false) !== isReverse;
  const [start, end] = isFromFirst ? [0, -1] : [1, TO_END];
  return { ...cx.slice(products, [start], [end], [axis]), shape: x.shape };
}

function productBody(cx: OpContext, like: TensorValue): ReturnType<GraphBuilder['subgraph']> {
  const { model } = cx.builder;
  const body = new GraphBuilder(model);
  const { dtype } = like;
  // A Scan must know the ranks of what its body gives.
  const shape = like.shape?.map(() => undefined) ?? [];
  const input = (hint: string): TensorValue & { name: string } => ({
    kind: 'tensor',
    dtype,
    shape,
    name: model.name(hint),
  });
  const [product, element] = [input('product'), input('element')];
  const [next] = body.add('Mul', [product, element], [{ dtype, shape }]);
  if (next === undefined) return cx.fail('has no product');
  const inputs = [product, element].map(({ name }) => ({ name, type: elementType(dtype), shape }));
  const graph = body.subgraph('running_product', inputs, [next, next]);
  return { ...graph, outputs: graph.outputs.map((one) => ({ ...one, shape })) };
}

export const SCAN: Operators = {
  Cumsum: { lower: cumsum },
  Cumprod: { lower: cumprod, note: 'the axis must be a constant' },
};
