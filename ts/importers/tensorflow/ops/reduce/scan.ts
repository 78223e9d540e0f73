// Cumulative sums, products and log-sum-exps. Source: tensorflow/core/kernels/scan_ops.h.
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

/** A running value along an axis that ONNX has no operator for: a Scan carries it. */
interface Running {
  /** Value before the first element. */
  readonly start: number;
  readonly name: string;
  /** The value after one more element, in the Scan's body. */
  next(body: GraphBuilder, value: TensorValue, element: TensorValue): TensorValue;
}

const only = (made: readonly TensorValue[]): TensorValue => made[0] as TensorValue;

const PRODUCT: Running = {
  start: 1,
  name: 'product',
  next: (body, value, element) => {
    const { dtype, shape } = value;
    return only(body.add('Mul', [value, element], [{ dtype, shape }]));
  },
};

/** max + log(1 + exp(min - max)); -Infinity if both are. Source: LogSumExp in scan_ops.h. */
const LOG_SUM: Running = {
  start: Number.NEGATIVE_INFINITY,
  name: 'log_sum',
  next: (body, value, element) => {
    const { dtype, shape } = value;
    const of = (op: string, ...inputs: TensorValue[]) =>
      only(body.add(op, inputs, [{ dtype, shape }]));
    const [least, most] = [of('Min', value, element), of('Max', value, element)];
    const sum = of('Add', most, of('Softplus', of('Sub', least, most)));
    const isNone = only(
      body.add('IsInf', [most], [{ dtype: 'bool', shape }], { detect_positive: { int: 0 } }),
    );
    return of('Where', isNone, most, sum);
  },
};

const constantAxis = (cx: OpContext): number => {
  const found = onlyNumber(cx, 1) ?? cx.fail('the axis must be a constant');
  return cx.axis(found, cx.rank(cx.tensor(0)));
};

const cumprod: Lowering = (cx) => {
  const axis = constantAxis(cx);
  return inFloat(cx, [cx.tensor(0)], (x) => running(cx, x as TensorValue, axis, PRODUCT));
};

/** Computed in double, which keeps what log(1 + x) loses for a small x. */
const cumulativeLogsumexp: Lowering = (cx) => {
  const x = cx.tensor(0);
  const sums = running(cx, cx.cast(x, 'double'), constantAxis(cx), LOG_SUM);
  return cx.cast(sums, x.dtype);
};

/**
 * A row of start values comes first, because a Scan without rows is an error: all results but the
 * last row are the exclusive form, all but the first the inclusive one.
 */
function running(cx: OpContext, x: TensorValue, axis: number, kind: Running): TensorValue {
  const rest = (x.shape ?? []).map((_, each) => each).filter((each) => each !== axis);
  const dims = cx.op('Gather', [cx.shapeOf(x), cx.int64s(rest)], { shape: [rest.length] });
  const start = cx.op('Expand', [cx.scalar(x.dtype, kind.start), dims], {
    shape: rest.map((each) => x.shape?.[each]),
  });
  const isReverse = cx.bool('reverse', false);
  const row = cx.unsqueeze(start, [axis]);
  const rows = cx.concat(isReverse ? [x, row] : [row, x], axis);
  const direction = { ints: [isReverse ? 1 : 0] };
  const [, results] = cx.ops(
    'Scan',
    [start, rows],
    [
      { dtype: x.dtype, shape: start.shape },
      { dtype: x.dtype, shape: rows.shape },
    ],
    {
      body: { graph: runningBody(cx, start, kind) },
      num_scan_inputs: { int: 1 },
      scan_input_axes: { ints: [axis] },
      scan_output_axes: { ints: [axis] },
      scan_input_directions: direction,
      scan_output_directions: direction,
    },
  );
  if (results === undefined) return cx.fail('has no outputs');
  const isFromFirst = cx.bool('exclusive', false) !== isReverse;
  const [from, end] = isFromFirst ? [0, -1] : [1, TO_END];
  return { ...cx.slice(results, [from], [end], [axis]), shape: x.shape };
}

function runningBody(
  cx: OpContext,
  like: TensorValue,
  kind: Running,
): ReturnType<GraphBuilder['subgraph']> {
  const { model } = cx.builder;
  const body = new GraphBuilder(model);
  const { dtype } = like;
  // A Scan must know the ranks of its body's results.
  const shape = like.shape?.map(() => undefined) ?? [];
  const input = (hint: string): TensorValue & { name: string } => ({
    kind: 'tensor',
    dtype,
    shape,
    name: model.name(hint),
  });
  const [value, element] = [input(kind.name), input('element')];
  const next = kind.next(body, value, element);
  const inputs = [value, element].map(({ name }) => ({ name, type: elementType(dtype), shape }));
  const graph = body.subgraph(`running_${kind.name}`, inputs, [next, next]);
  return { ...graph, outputs: graph.outputs.map((one) => ({ ...one, shape })) };
}

export const SCAN: Operators = {
  Cumsum: { lower: cumsum },
  Cumprod: { lower: cumprod, note: 'the axis must be a constant' },
  CumulativeLogsumexp: {
    lower: cumulativeLogsumexp,
    dtypes: 'floating',
    note: 'the axis must be a constant',
  },
};
