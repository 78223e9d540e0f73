// Keras' recurrent layers: a While around the standard cell becomes one ONNX LSTM, GRU or RNN. Only
// if the body is exactly that cell; all others (masks, other activations, dropout) stay loops.
// Importer's worker thread. Source: tensorflow-import.md 4.3 "RNN fusing".
import type { OpContext } from '../../lower/context.js';
import type { OnnxAttributes } from '../../lower/graph-builder.js';
import type { ListValue, TensorValue, Value } from '../../lower/values.js';
import type { FlatFunction, Ref } from '../../types.js';
import { withItem } from '../control-flow/list-access.js';
import { finishCollected } from '../control-flow/loop-lists.js';
import { gruOf, type Gru, lstmOf, type Lstm, type Rnn, rnnOf } from './cells.js';
import { Pattern } from './patterns.js';
import { type Sequence, sequenceOf } from './sequences.js';

/** The loop's results, computed by one operator; undefined if it is not such a loop. */
export function fusedCell(
  cx: OpContext,
  condition: FlatFunction,
  body: FlatFunction,
  args: readonly Value[],
): readonly Value[] | undefined {
  const pattern = new Pattern(body);
  const sequence = sequenceOf(condition, pattern, args);
  if (sequence === undefined) return undefined;
  const lstm = lstmOf(pattern, sequence);
  if (lstm !== undefined) return new Fusing(cx, pattern, sequence, args).lstm(lstm);
  const rnn = rnnOf(pattern, sequence);
  if (rnn !== undefined) return new Fusing(cx, pattern, sequence, args).rnn(rnn);
  const gru = gruOf(pattern, sequence, (weights) => unitsOf(cx, body, args, weights));
  return gru === undefined ? undefined : new Fusing(cx, pattern, sequence, args).gru(gru);
}

/** Rows of the recurrent weights. */
function unitsOf(
  cx: OpContext,
  body: FlatFunction,
  args: readonly Value[],
  weights: Ref,
): number | undefined {
  const value = outside(cx, body, args, weights);
  return value?.shape?.[0];
}

/** A value that is the same in every iteration, computed before the first. */
function outside(
  cx: OpContext,
  body: FlatFunction,
  args: readonly Value[],
  ref: Ref,
): TensorValue | undefined {
  const [value] = cx.around.inline({ ...body, returns: [ref], control: [] }, args);
  return value?.kind === 'tensor' ? value : undefined;
}

class Fusing {
  readonly #cx: OpContext;
  readonly #pattern: Pattern;
  readonly #sequence: Sequence;
  readonly #args: readonly Value[];

  constructor(cx: OpContext, pattern: Pattern, sequence: Sequence, args: readonly Value[]) {
    this.#cx = cx;
    this.#pattern = pattern;
    this.#sequence = sequence;
    this.#args = args;
  }

  lstm(cell: Lstm): readonly Value[] | undefined {
    return this.#simple('LSTM', cell, [0, 3, 1, 2], [cell.h, cell.c]);
  }

  rnn(cell: Rnn): readonly Value[] | undefined {
    return this.#simple('RNN', cell, [0], [cell.h]);
  }

  /** A cell whose gates are all parts of x * W + h * U + b. `order`: their order in ONNX. */
  #simple(
    type: 'LSTM' | 'RNN',
    cell: Rnn,
    order: readonly number[],
    states: readonly number[],
  ): readonly Value[] | undefined {
    const weights = this.#fixed(cell.weights);
    const recurrent = this.#fixed(cell.recurrent);
    const bias = cell.bias === undefined ? undefined : this.#fixed(cell.bias);
    const units = recurrent?.shape?.[0];
    const before = states.flatMap((index) => this.#state(index) ?? []);
    if (!isMatrix(weights, units, order.length)) return undefined;
    if (!isMatrix(recurrent, units, order.length)) return undefined;
    if (units === undefined || before.length !== states.length) return undefined;
    if (cell.bias !== undefined && !isBias(bias, order.length * units)) return undefined;
    const gates = (value: TensorValue): TensorValue => this.#ordered(value, order);
    const { steps, x } = this.#steps();
    if (x === undefined) return undefined;
    const both = bias === undefined ? undefined : this.#withZeros(gates(bias));
    return this.#run(
      type,
      { hidden_size: { int: units } },
      [
        x,
        this.#turned(gates(weights)),
        this.#turned(gates(recurrent)),
        both,
        undefined,
        ...before.map((state) => this.#cx.unsqueeze(state, [0])),
      ],
      steps,
      states,
    );
  }

  gru(cell: Gru): readonly Value[] | undefined {
    const cx = this.#cx;
    const weights = this.#fixed(cell.weights);
    const recurrent = this.#fixed(cell.recurrent);
    const units = recurrent?.shape?.[0];
    const h = this.#state(cell.h);
    if (!isMatrix(weights, units, 3) || !isMatrix(recurrent, units, 3)) return undefined;
    if (h === undefined || units === undefined) return undefined;
    const biases = [cell.bias, cell.recurrentBias].map((ref) =>
      ref === undefined ? undefined : this.#fixed(ref),
    );
    const [own, other] = biases;
    if (cell.bias !== undefined && !isBias(own, 3 * units)) return undefined;
    if (cell.recurrentBias !== undefined && !isBias(other, 3 * units)) return undefined;
    const { steps, x } = this.#steps();
    if (x === undefined) return undefined;
    const zeros = cx.op('Expand', [cx.scalar(weights.dtype, 0), cx.int64s([3 * units])], {
      shape: [3 * units],
      dtype: weights.dtype,
    });
    const both = cx.unsqueeze(cx.concat([own ?? zeros, other ?? zeros], 0), [0]);
    return this.#run(
      'GRU',
      { hidden_size: { int: units }, linear_before_reset: { int: 1 } },
      [x, this.#turned(weights), this.#turned(recurrent), both, undefined, cx.unsqueeze(h, [0])],
      steps,
      [cell.h],
    );
  }

  /**
   * Adds the operator and returns the loop's results. Without any step or row the operator is not
   * run: the runtime's kernels crash the process if there is no row. `states`: the first is h.
   */
  #run(
    type: 'LSTM' | 'GRU' | 'RNN',
    attributes: OnnxAttributes,
    inputs: readonly (TensorValue | undefined)[],
    steps: TensorValue,
    states: readonly number[],
  ): readonly Value[] {
    const cx = this.#cx;
    const [x] = inputs;
    const before = inputs.slice(5) as readonly TensorValue[];
    const [h] = before;
    if (x === undefined || h === undefined) return cx.fail('it has no input');
    const specs = [
      { dtype: h.dtype, shape: [undefined, ...(h.shape ?? [])] },
      ...before.map(({ dtype, shape }) => ({ dtype, shape })),
    ];
    const rows = cx.slice(cx.shapeOf(x), [0], [2], [0]);
    const count = cx.op('ReduceProd', [rows], { shape: [], attributes: { keepdims: { int: 0 } } });
    const isAny = cx.op('Greater', [count, cx.scalar('int64', 0)], { dtype: 'bool', shape: [] });
    const some = cx.around.nested((at) => at.ops(type, inputs, specs, attributes), cx);
    const none = cx.around.nested((at) => {
      const dims = at.concat([steps, at.shapeOf(h)], 0);
      const { dtype } = h;
      return [
        at.op('Expand', [at.scalar(dtype, 0), dims], { dtype, shape: specs[0]?.shape }),
        ...before,
      ];
    }, cx);
    const outputs = specs.map(({ dtype, shape }): TensorValue => {
      const name = cx.builder.model.name(type);
      cx.builder.describe(name, dtype);
      return { kind: 'tensor', name, dtype, shape };
    });
    cx.builder.push(
      'If',
      [cx.builder.use(isAny)],
      outputs.map(({ name }) => name ?? ''),
      {
        then_branch: { graph: some.finish('steps', [], some.results as readonly TensorValue[]) },
        else_branch: { graph: none.finish('nothing', [], none.results as readonly TensorValue[]) },
      },
    );
    const [y, ...last] = outputs;
    if (y === undefined) return cx.fail('it gives nothing');
    return this.#results(
      steps,
      y,
      new Map(
        last.map((value, i): [number, TensorValue] => [states[i] ?? -1, cx.squeeze(value, [0])]),
      ),
      states[0] ?? -1,
    );
  }

  #fixed(ref: Ref): TensorValue | undefined {
    return outside(this.#cx, this.#pattern.body, this.#args, ref);
  }

  #state(index: number): TensorValue | undefined {
    const value = this.#args[index];
    return value?.kind === 'tensor' && value.dtype === 'float' && value.shape?.length === 2
      ? value
      : undefined;
  }

  #tensor(index: number): TensorValue {
    const value = this.#args[index] ?? this.#cx.fail(`it has no value ${index}`);
    return this.#cx.asTensor(value, index);
  }

  /** The number of iterations (int64 [1]), and their elements. */
  #steps(): { readonly steps: TensorValue; readonly x: TensorValue | undefined } {
    const cx = this.#cx;
    const items = (this.#args[this.#sequence.input] as ListValue).items as TensorValue;
    const rows = cx.slice(cx.shapeOf(items), [0], [1], [0]);
    const limits = this.#sequence.limits.map((limit) =>
      'constant' in limit
        ? cx.int64s([limit.constant])
        : cx.cast(cx.reshape(this.#tensor(limit.argument), [1]), 'int64'),
    );
    const least = cx.op('Min', [rows, ...limits], { shape: [1] });
    const steps = cx.op('Max', [least, cx.int64s([0])], { shape: [1] });
    const x = cx.op('Slice', [items, cx.int64s([0]), steps, cx.int64s([0])], {
      shape: items.shape && [undefined, ...items.shape.slice(1)],
    });
    return { steps, x: items.dtype === 'float' && items.shape?.length === 3 ? x : undefined };
  }

  /** Columns of the gates in ONNX's order. */
  #ordered(value: TensorValue, order: readonly number[]): TensorValue {
    const cx = this.#cx;
    if (order.length === 1) return value;
    const axis = (value.shape?.length ?? 1) - 1;
    const columns = value.shape?.[axis];
    const shape = value.shape?.map((dim, i) =>
      i === axis && columns !== undefined ? columns / order.length : dim,
    );
    const parts = cx.ops(
      'Split',
      [value],
      order.map(() => ({ dtype: value.dtype, shape })),
      { axis: { int: axis }, num_outputs: { int: order.length } },
    );
    return cx.concat(
      order.flatMap((gate) => parts[gate] ?? []),
      axis,
    );
  }

  /** [in, gates] -> [1, gates, in]. */
  #turned(value: TensorValue): TensorValue {
    return this.#cx.unsqueeze(this.#cx.transpose(value, [1, 0]), [0]);
  }

  /** Biases of the input, and zeros for the state: [1, 2 * gates]. */
  #withZeros(bias: TensorValue): TensorValue {
    const cx = this.#cx;
    const zeros = cx.op('Sub', [bias, bias]);
    return cx.unsqueeze(cx.concat([bias, zeros], 0), [0]);
  }

  #results(
    steps: TensorValue,
    y: TensorValue,
    states: ReadonlyMap<number, TensorValue>,
    h: number,
  ): readonly Value[] {
    const cx = this.#cx;
    const { counters, output, writesAll } = this.#sequence;
    const before = this.#args[output] as ListValue;
    const last = states.get(h) ?? cx.fail('the cell has no state');
    const list = writesAll
      ? finishCollected(cx, before, cx.squeeze(y, [1]))
      : withItem(cx, before, cx.scalar('int64', 0), last);
    return this.#args.map((value, index) => {
      if (index === output) return list;
      if (counters.has(index) && value.kind === 'tensor') {
        return cx.cast(cx.squeeze(steps, [0]), value.dtype);
      }
      return states.get(index) ?? value;
    });
  }
}

function isMatrix(
  value: TensorValue | undefined,
  units: number | undefined,
  gates: number,
): value is TensorValue {
  return (
    value?.dtype === 'float' &&
    value.shape?.length === 2 &&
    units !== undefined &&
    value.shape[1] === gates * units
  );
}

const isBias = (value: TensorValue | undefined, columns: number): value is TensorValue =>
  value?.dtype === 'float' && value.shape?.length === 1 && value.shape[0] === columns;
