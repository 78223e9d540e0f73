// Recurrent cells that are one operator in TensorFlow: one step, or all steps as an ONNX Scan.
// Importer's worker thread. Source: tensorflow/core/kernels/rnn/{lstm_ops,gru_ops}.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import { elementType, type TensorValue } from '../../lower/values.js';
import type { Shape } from '../../types.js';

/** Column order of the gates: input, cell (candidate), forget, output. */
type GateOrder = readonly [input: number, cell: number, forget: number, output: number];

const FIRST_VERSION: GateOrder = [0, 1, 2, 3];
const SECOND_VERSION: GateOrder = [0, 2, 1, 3];

interface LstmCell {
  readonly order: GateOrder;
  readonly forgetBias: number;
  /** 0 or less: cells are not clipped. */
  readonly clip: number;
  /** Weights from the cell to the input, forget and output gate. */
  readonly peephole: readonly [TensorValue, TensorValue, TensorValue] | undefined;
}

/** Seven values in the operators' order: i, cs, f, o, ci, co, h. */
type LstmStep = readonly TensorValue[];

function lstmStep(
  cx: OpContext,
  gates: TensorValue,
  before: TensorValue,
  cell: LstmCell,
): LstmStep {
  const { dtype } = before;
  const { shape } = before;
  const two = (type: string, a: TensorValue, b: TensorValue): TensorValue =>
    cx.op(type, [a, b], { dtype, shape });
  const one = (type: string, a: TensorValue): TensorValue => cx.op(type, [a], { dtype, shape });
  const parts = cx.ops(
    'Split',
    [gates],
    [0, 1, 2, 3].map(() => ({ dtype, shape })),
    { axis: { int: 1 }, num_outputs: { int: 4 } },
  );
  const part = (gate: number): TensorValue =>
    parts[cell.order[gate] ?? 0] ?? cx.fail('it has no gates');
  const peeped = (gate: TensorValue, state: TensorValue, weights?: TensorValue): TensorValue =>
    weights === undefined ? gate : two('Add', gate, two('Mul', state, weights));
  const [toInput, toForget, toOutput] = cell.peephole ?? [];
  const input = one('Sigmoid', peeped(part(0), before, toInput));
  const biased =
    cell.forgetBias === 0 ? part(2) : two('Add', part(2), cx.scalar(dtype, cell.forgetBias));
  const forget = one('Sigmoid', peeped(biased, before, toForget));
  const candidate = one('Tanh', part(1));
  const kept = two('Add', two('Mul', candidate, input), two('Mul', before, forget));
  const state =
    cell.clip <= 0
      ? kept
      : cx.op('Clip', [kept, cx.scalar(dtype, -cell.clip), cx.scalar(dtype, cell.clip)], {
          dtype,
          shape,
        });
  const output = one('Sigmoid', peeped(part(3), state, toOutput));
  const squashed = one('Tanh', state);
  return [input, state, forget, output, candidate, squashed, two('Mul', squashed, output)];
}

/** x * its rows of the weights + bias, for all steps at once. */
function fromInput(
  cx: OpContext,
  x: TensorValue,
  weights: TensorValue,
  bias: TensorValue,
): { readonly gates: TensorValue; readonly recurrent: TensorValue } {
  const columns = weights.shape?.[1];
  const shape = x.shape === undefined ? undefined : [...x.shape.slice(0, -1), columns];
  const inputs = x.shape?.at(-1);
  const split =
    inputs === undefined
      ? cx.slice(cx.shapeOf(x), [-1], [Number.MAX_SAFE_INTEGER], [0])
      : cx.int64s([inputs]);
  const rows = (from: TensorValue, to: TensorValue): TensorValue =>
    cx.op('Slice', [weights, from, to, cx.int64s([0])], { shape: [undefined, columns] });
  const product = cx.op('MatMul', [x, rows(cx.int64s([0]), split)], { shape });
  return {
    gates: cx.op('Add', [product, bias], { shape }),
    recurrent: rows(split, cx.int64s([Number.MAX_SAFE_INTEGER])),
  };
}

function withRecurrent(
  cx: OpContext,
  gates: TensorValue,
  h: TensorValue,
  recurrent: TensorValue,
): TensorValue {
  const shape = [h.shape?.[0], recurrent.shape?.[1]];
  return cx.op('Add', [gates, cx.op('MatMul', [h, recurrent], { shape })], { shape });
}

/** The cell of a node whose cell weights begin at input `first`. */
const cellOf = (cx: OpContext, order: GateOrder, first: number): LstmCell => ({
  order,
  forgetBias: order === FIRST_VERSION ? cx.float('forget_bias', 1) : 0,
  clip: cx.float('cell_clip', order === FIRST_VERSION ? 3 : 0),
  peephole: cx.bool('use_peephole', false)
    ? [cx.tensor(first), cx.tensor(first + 1), cx.tensor(first + 2)]
    : undefined,
});

const lstmBlockCell: Lowering = (cx) => {
  const { gates, recurrent } = fromInput(cx, cx.tensor(0), cx.tensor(3), cx.tensor(7));
  const all = withRecurrent(cx, gates, cx.tensor(2), recurrent);
  return lstmStep(cx, all, cx.tensor(1), cellOf(cx, FIRST_VERSION, 4));
};

const blockLstm =
  (order: GateOrder): Lowering =>
  (cx) => {
    const all = cx.tensor(1);
    const steps = cx.cast(cx.reshape(cx.tensor(0), [1]), 'int64');
    const x = cx.op('Slice', [all, cx.int64s([0]), steps, cx.int64s([0])], {
      shape: all.shape && [undefined, ...all.shape.slice(1)],
    });
    const { gates, recurrent } = fromInput(cx, x, cx.tensor(4), cx.tensor(8));
    // The runtime's Scan fails without steps, so one is added and dropped afterwards.
    const more = cx.op('Pad', [gates, cx.int64s([0, 0, 0, 1, 0, 0])], {
      shape: gates.shape && [undefined, ...gates.shape.slice(1)],
    });
    const made = scanned(cx, more, recurrent, cellOf(cx, order, 5));
    const rows = made.map((one) => cx.slice(one, [0], [-1], [0]));
    const count = cx.slice(cx.shapeOf(all), [0], [1], [0]);
    const missing = cx.op('Sub', [count, cx.slice(cx.shapeOf(x), [0], [1], [0])], { shape: [1] });
    const pads = cx.concat([cx.int64s([0, 0, 0]), missing, cx.int64s([0, 0])], 0);
    const shape: Shape = [all.shape?.[0], ...(rows[0]?.shape?.slice(1) ?? [undefined, undefined])];
    // Steps after seq_len_max are zeros.
    return rows.map((one) => cx.op('Pad', [one, pads], { shape }));
  };

/** All steps: seven tensors [steps, batch, units]. */
function scanned(
  cx: OpContext,
  gates: TensorValue,
  recurrent: TensorValue,
  cell: LstmCell,
): TensorValue[] {
  const { builder } = cx;
  const { model } = builder;
  const cells = cx.tensor(2);
  const outputs = cx.tensor(3);
  const { dtype } = cells;
  const shape: Shape = [cells.shape?.[0] ?? outputs.shape?.[0], cells.shape?.[1]];
  const inner = (of: Shape): TensorValue & { name: string } => ({
    kind: 'tensor',
    name: model.name('step'),
    dtype,
    shape: of,
  });
  const [c, h, x] = [inner(shape), inner(shape), inner(gates.shape?.slice(1))];
  const body = cx.around.nested(
    (at) => lstmStep(at, withRecurrent(at, x, h, recurrent), c, cell),
    cx,
  );
  const results = body.results as readonly TensorValue[];
  const state = [results[1], results[6]].map((one) => one ?? cx.fail('a step gives nothing'));
  const type = elementType(dtype);
  const graph = body.finish(
    'step',
    [c, h, x].map(({ name }) => ({ name, type })),
    [...state, ...results],
  );
  const names = [...state, ...results].map(() => model.name('Scan'));
  for (const name of names) builder.describe(name, dtype);
  builder.push(
    'Scan',
    [cells, outputs, gates].map((one) => builder.use(one)),
    names,
    {
      body: { graph: { ...graph, outputs: graph.outputs.map(ranked) } },
      num_scan_inputs: { int: 1 },
    },
  );
  return names
    .slice(state.length)
    .map((name): TensorValue => ({ kind: 'tensor', name, dtype, shape: [undefined, ...shape] }));
}

/** The runtime's Scan needs its outputs' ranks. */
const ranked = <T>(value: T): T & { shape: readonly undefined[] } => ({
  ...value,
  shape: [undefined, undefined],
});

/** Returns r, u, c, h. */
const gruBlockCell: Lowering = (cx) => {
  const [x, before] = [cx.tensor(0), cx.tensor(1)];
  const { dtype, shape } = before;
  const two = (type: string, a: TensorValue, b: TensorValue): TensorValue =>
    cx.op(type, [a, b], { dtype, shape });
  const gates = fromInput(cx, x, cx.tensor(2), cx.tensor(4));
  const both = cx.op('Sigmoid', [withRecurrent(cx, gates.gates, before, gates.recurrent)]);
  const [reset, update] = cx.ops(
    'Split',
    [both],
    [
      { dtype, shape },
      { dtype, shape },
    ],
    { axis: { int: 1 }, num_outputs: { int: 2 } },
  );
  if (reset === undefined || update === undefined) return cx.fail('it has no gates');
  const own = fromInput(cx, x, cx.tensor(3), cx.tensor(5));
  const candidate = cx.op(
    'Tanh',
    [withRecurrent(cx, own.gates, two('Mul', before, reset), own.recurrent)],
    { dtype, shape },
  );
  const rest = two('Sub', cx.scalar(dtype, 1), update);
  const h = two('Add', two('Mul', rest, candidate), two('Mul', update, before));
  return [reset, update, candidate, h];
};

export const BLOCK_CELLS: Operators = {
  LSTMBlockCell: { lower: lstmBlockCell, dtypes: 'float, half' },
  BlockLSTM: { lower: blockLstm(FIRST_VERSION), dtypes: 'float, half' },
  BlockLSTMV2: { lower: blockLstm(SECOND_VERSION), dtypes: 'float, half' },
  GRUBlockCell: { lower: gruBlockCell, dtypes: 'float' },
};
