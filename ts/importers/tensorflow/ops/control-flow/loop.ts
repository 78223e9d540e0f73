// While in its functional forms, as ONNX Loop. Values that the body passes on unchanged come from
// the enclosing graph; all others are carried as tensors with shapes that hold in every iteration.
// Importer's worker thread. Source: tensorflow-import.md 4.3 "Control flow".
import type { OnnxValue } from '../../../onnx/builder.js';
import type {
  AssignedVariables,
  Lowering,
  OpContext,
  Operators,
  Subgraph,
} from '../../lower/context.js';
import { commonShape, elementType, type TensorValue, type Value } from '../../lower/values.js';
import type { FlatFunction } from '../../types.js';
import { fusedCell } from '../rnn/fused-cells.js';
import { inside, truth } from './branch.js';
import { checkAlike, checkAlikeVariants, flatten, isSame, rebuild } from './flat-values.js';
import { passedOn } from './loop-analysis.js';
import { type Collected, collected, finishCollected, withFlows } from './loop-lists.js';

/**
 * Attempts until the carried shapes hold: each weakens them, at first where a change was observed,
 * then all dims, then the ranks.
 */
const ATTEMPTS_MAX = 12;
const DIMS_KEPT = 6;
const RANKS_KEPT = 8;

/** A loop-carried value: its description, and its tensors' shapes. */
interface Carried {
  /** Index among the loop's values. */
  readonly index: number;
  initial: Value;
  /** Tensors before the first iteration. */
  readonly tensors: readonly TensorValue[];
  shapes: TensorValue['shape'][];
}

/** One attempt at the body. */
interface Body {
  readonly graph: Subgraph;
  /** Names of the carried tensors inside, in order. */
  readonly names: readonly string[];
  /** The loop's values after an iteration. */
  readonly results: readonly Value[];
  readonly condition: TensorValue;
  readonly assigned: AssignedVariables;
}

export function runLoop(
  cx: OpContext,
  condition: FlatFunction,
  body: FlatFunction,
  given: readonly Value[],
): readonly Value[] {
  const args = withFlows(body, given);
  const fused = fusedCell(cx, condition, body, args);
  if (fused !== undefined) return fused;
  const same = passedOn(body);
  const lists = collected(cx, condition, body, args);
  const carried: Carried[] = [];
  args.forEach((initial, index) => {
    if (same.has(index) || lists.has(index)) return;
    const tensors = flatten(cx, initial);
    carried.push({ index, initial, tensors, shapes: tensors.map((one) => one.shape) });
  });
  return new LoopLowering(cx, condition, body, args, carried, lists).run();
}

class LoopLowering {
  readonly #cx: OpContext;
  readonly #condition: FlatFunction;
  readonly #body: FlatFunction;
  readonly #args: readonly Value[];
  readonly #carried: readonly Carried[];
  readonly #lists: ReadonlyMap<number, Collected>;
  /** Variables that the body assigns: carried like the others. */
  readonly #states: { readonly key: string; shape: TensorValue['shape'] }[] = [];

  constructor(
    cx: OpContext,
    condition: FlatFunction,
    body: FlatFunction,
    args: readonly Value[],
    carried: readonly Carried[],
    lists: ReadonlyMap<number, Collected>,
  ) {
    this.#cx = cx;
    this.#condition = condition;
    this.#body = body;
    this.#args = args;
    this.#carried = carried;
    this.#lists = lists;
  }

  run(): readonly Value[] {
    const cx = this.#cx;
    const [first] = cx.around.inline(this.#condition, this.#args);
    const begins = truth(cx, tensorOf(cx, first, 'the condition'));
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const body = this.#attempt();
      if (!this.#widen(body)) return this.#emit(begins, body);
      if (attempt >= DIMS_KEPT) this.#forget(attempt < RANKS_KEPT);
    }
    return cx.fail('the shapes of its values differ after every iteration');
  }

  /** Lowers condition and body with the assumed carried values. */
  #attempt(): Body {
    const cx = this.#cx;
    const names: string[] = [];
    const fresh = (dtype: TensorValue['dtype'], shape: TensorValue['shape']): TensorValue => {
      const name = cx.builder.model.name('loop');
      names.push(name);
      return { kind: 'tensor', name, dtype, shape };
    };
    const inner = [...this.#args];
    for (const one of this.#carried) {
      const tensors = one.tensors.map((tensor, i) => fresh(tensor.dtype, one.shapes[i]));
      inner[one.index] = rebuild(one.initial, tensors);
    }
    for (const index of this.#lists.keys()) {
      const list = inner[index];
      if (list?.kind === 'list') inner[index] = { ...list, collecting: true };
    }
    let results: readonly Value[] = [];
    let condition: TensorValue | undefined;
    const make = (): Subgraph =>
      cx.around.nested((at) => {
        for (const { key, shape } of this.#states) {
          at.around.assignVariable(key, fresh(at.around.readVariable(key).dtype, shape));
        }
        results = at.around.inline(this.#body, inner);
        const next = results.map((value, i) => (this.#lists.has(i) ? (inner[i] ?? value) : value));
        const [again] = at.around.inline(this.#condition, next);
        condition = truth(at, tensorOf(at, again, 'the condition'));
        return results;
      }, cx);
    const { result: graph, assigned } = cx.around.assignedBy(make);
    if (condition === undefined) return cx.fail('its condition returns no value');
    return { graph, names, results, condition, assigned };
  }

  /**
   * Removes from the carried shapes what the iteration did not keep; returns whether anything was
   * removed, or a variable turned out to be assigned.
   */
  #widen(body: Body): boolean {
    let changed = false;
    const at = inside(this.#cx, body.graph);
    for (const one of this.#carried) {
      const after = body.results[one.index];
      if (after === undefined) return this.#cx.fail('its body returns too few values');
      if (after.kind !== one.initial.kind) {
        return this.#cx.fail(
          `value ${one.index} is a ${one.initial.kind} before and a ${after.kind} after an iteration`,
        );
      }
      if (one.initial.kind === 'list' && after.kind === 'list') {
        checkAlike(at, one.initial, after);
        if (after.written === true && one.initial.written !== true) {
          one.initial = { ...one.initial, written: true };
          changed = true;
        }
      }
      if (one.initial.kind === 'variants' && after.kind === 'variants') {
        checkAlikeVariants(at, one.initial, after);
      }
      if (one.tensors.length === 0 && !isSame(one.initial, after)) {
        return this.#cx.fail(`value ${one.index} is a different ${after.kind} after an iteration`);
      }
      flatten(at, after).forEach((tensor, i) => {
        const dtype = one.tensors[i]?.dtype;
        if (tensor.dtype !== dtype) {
          this.#cx.fail(
            `value ${one.index} is ${dtype} before and ${tensor.dtype} after an iteration`,
          );
        }
        const shape = commonShape(one.shapes[i], tensor.shape);
        changed ||= JSON.stringify(shape) !== JSON.stringify(one.shapes[i]);
        one.shapes[i] = shape;
      });
    }
    for (const [key, value] of body.assigned) {
      const known = this.#states.find((one) => one.key === key);
      const before = this.#cx.around.readVariable(key).shape;
      const shape = commonShape(known === undefined ? before : known.shape, value.shape);
      if (known === undefined) this.#states.push({ key, shape });
      else if (JSON.stringify(shape) === JSON.stringify(known.shape)) continue;
      else known.shape = shape;
      changed = true;
    }
    return changed;
  }

  /** A permutation of values would need as many attempts as values; this limits them. */
  #forget(keepsRank: boolean): void {
    const less = (shape: TensorValue['shape']): TensorValue['shape'] =>
      keepsRank ? shape?.map(() => undefined) : undefined;
    for (const one of this.#carried) one.shapes = one.shapes.map(less);
    for (const one of this.#states) one.shape = less(one.shape);
  }

  #emit(begins: TensorValue, body: Body): readonly Value[] {
    const cx = this.#cx;
    const at = inside(cx, body.graph);
    const before = [
      ...this.#carried.flatMap((one) => one.tensors),
      ...this.#states.map(({ key }) => cx.around.readVariable(key)),
    ];
    const after = [
      ...this.#carried.flatMap((one) => flatten(at, body.results[one.index] as Value)),
      ...this.#states.map(({ key }) => body.assigned.get(key) ?? cx.around.readVariable(key)),
    ];
    const scans = [...this.#lists].map(([index, list]) => list.item(body.results[index]));
    const graph = body.graph.finish('body', this.#inputs(before, body.names), [
      body.condition,
      ...after,
      ...scans,
    ]);
    const outputs = [...after, ...scans].map((value, i): TensorValue => {
      const name = cx.builder.model.name('Loop');
      cx.builder.describe(name, value.dtype);
      const shape = i < after.length ? this.#shapeOf(i) : withRows(value.shape);
      return { kind: 'tensor', name, dtype: value.dtype, shape };
    });
    cx.builder.push(
      'Loop',
      ['', cx.builder.use(begins), ...before.map((v) => cx.builder.use(v))],
      outputs.map((one) => one.name ?? ''),
      { body: { graph } },
    );
    return this.#values(outputs, after.length);
  }

  #inputs(before: readonly TensorValue[], names: readonly string[]): OnnxValue[] {
    const { model } = this.#cx.builder;
    return [
      { name: model.name('round'), type: 'int64', shape: [] },
      { name: model.name('goes_on'), type: 'bool', shape: [] },
      ...before.map((value, i) => ({ name: names[i] ?? '', type: elementType(value.dtype) })),
    ];
  }

  #shapeOf(i: number): TensorValue['shape'] {
    const shapes = [
      ...this.#carried.flatMap((one) => one.shapes),
      ...this.#states.map((one) => one.shape),
    ];
    return shapes[i];
  }

  #values(outputs: readonly TensorValue[], carriedCount: number): readonly Value[] {
    const values = [...this.#args];
    let next = 0;
    for (const one of this.#carried) {
      const own = outputs.slice(next, next + one.tensors.length);
      next += own.length;
      values[one.index] = rebuild(one.initial, own);
    }
    for (const { key } of this.#states) {
      const value = outputs[next];
      if (value !== undefined) this.#cx.around.assignVariable(key, value);
      next += 1;
    }
    [...this.#lists.keys()].forEach((index, i) => {
      const rows = outputs[carriedCount + i];
      const before = this.#args[index];
      if (rows === undefined || before?.kind !== 'list') return;
      values[index] = finishCollected(this.#cx, before, rows);
    });
    return values;
  }
}

/** One additional leading dim: the iterations. */
const withRows = (shape: TensorValue['shape']): TensorValue['shape'] =>
  shape === undefined ? undefined : [undefined, ...shape];

function tensorOf(cx: OpContext, value: Value | undefined, what: string): TensorValue {
  if (value?.kind === 'tensor') return value;
  return cx.fail(`${what} is a ${value?.kind ?? 'missing value'}`);
}

const whileLoop: Lowering = (cx) =>
  runLoop(
    cx,
    cx.around.function(cx.functionRef('cond')),
    cx.around.function(cx.functionRef('body')),
    cx.inputs,
  );

export const LOOPS: Operators = {
  While: { lower: whileLoop, dtypes: 'any' },
  StatelessWhile: { lower: whileLoop, dtypes: 'any' },
};
