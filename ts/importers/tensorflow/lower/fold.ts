// Constant folding of small integer arithmetic during lowering, which shapes are computed with.
// Supports partly known elements ("[?,7,7]"). Importer's worker thread; pure.
import type { Dtype, FlatNode } from '../types.js';
import { joinedInts } from './values.js';
import type { TensorValue, Value } from './values.js';

type Ints = readonly (number | undefined)[];

/** The known part of one output: integers or bools (0 and 1) of rank 0 or 1. */
export interface FoldedInts {
  readonly dtype: Dtype;
  readonly scalar: boolean;
  readonly ints: Ints;
}

interface Operand {
  readonly dtype: Dtype;
  readonly scalar: boolean;
  readonly ints: Ints;
}

type Fold = (operands: readonly Operand[], node: FlatNode) => FoldedInts | undefined;

const FOLDABLE: ReadonlySet<Dtype> = new Set(['int32', 'int64', 'bool']);

/** Output 0 of the node as far as it can be computed here; undefined if nothing is known. */
export function foldNode(node: FlatNode, inputs: readonly Value[]): FoldedInts | undefined {
  const fold = FOLDS[node.op];
  if (fold === undefined) return undefined;
  const operands: Operand[] = [];
  for (const input of inputs) {
    if (input.kind !== 'tensor') return undefined;
    const operand = asOperand(input);
    if (operand === undefined) return undefined;
    operands.push(operand);
  }
  const folded = fold(operands, node);
  return folded !== undefined && folded.ints.every(inRange(folded.dtype)) ? folded : undefined;
}

function asOperand(value: TensorValue): Operand | undefined {
  if (value.ints === undefined || value.shape === undefined || !FOLDABLE.has(value.dtype)) {
    return undefined;
  }
  return { dtype: value.dtype, scalar: value.shape.length === 0, ints: value.ints };
}

const INT32_RANGE = 2 ** 31;

const inRange =
  (dtype: Dtype) =>
  (one: number | undefined): boolean => {
    if (one === undefined) return true;
    if (!Number.isSafeInteger(one)) return false;
    return dtype !== 'int32' || (one >= -INT32_RANGE && one < INT32_RANGE);
  };

function intAttribute(node: FlatNode, name: string): number {
  const value = node.attributes.get(name);
  return value?.kind === 'int' ? Number(value.value) : 0;
}

/** Element by element; a scalar is broadcast. */
function elementwise(apply: (a: number, b: number) => number, dtype?: Dtype): Fold {
  return ([a, b]) => {
    if (a === undefined || b === undefined) return undefined;
    const count = a.scalar || a.ints.length === 1 ? b.ints.length : a.ints.length;
    const fits = (one: Operand): boolean => one.ints.length === 1 || one.ints.length === count;
    if (!fits(a) || !fits(b)) return undefined;
    const at = (one: Operand, i: number): number | undefined =>
      one.ints[one.ints.length === 1 ? 0 : i];
    const ints = Array.from({ length: count }, (_, i) => {
      const [x, y] = [at(a, i), at(b, i)];
      return x === undefined || y === undefined ? undefined : apply(x, y);
    });
    return { dtype: dtype ?? a.dtype, scalar: a.scalar && b.scalar, ints };
  };
}

function unary(apply: (a: number) => number): Fold {
  return ([a]) =>
    a === undefined
      ? undefined
      : {
          ...a,
          ints: a.ints.map((one) => (one === undefined ? undefined : apply(one))),
        };
}

function reduced(apply: (all: readonly number[]) => number): Fold {
  return ([a, axes], node) => {
    if (a === undefined || a.scalar || axes === undefined) return undefined;
    const over = axes.ints.length === 1 && (axes.ints[0] === 0 || axes.ints[0] === -1);
    if (!over || a.ints.some((one) => one === undefined)) return undefined;
    const keeps = node.attributes.get('keep_dims');
    const scalar = !(keeps?.kind === 'bool' && keeps.value);
    return { dtype: a.dtype, scalar, ints: [apply(a.ints as readonly number[])] };
  };
}

const bool = (apply: (a: number, b: number) => boolean): Fold =>
  elementwise((a, b) => (apply(a, b) ? 1 : 0), 'bool');

const floorMod = (a: number, b: number): number => (b === 0 ? NaN : a - b * Math.floor(a / b));

function pack(operands: readonly Operand[], node: FlatNode): FoldedInts | undefined {
  const [first] = operands;
  const flat = operands.every((one) => one.scalar) && [0, -1].includes(intAttribute(node, 'axis'));
  if (first === undefined || !flat) return undefined;
  return { dtype: first.dtype, scalar: false, ints: operands.flatMap((one) => one.ints) };
}

function joined(parts: readonly Operand[]): FoldedInts | undefined {
  const [first] = parts;
  const ints = joinedInts(parts.map((one) => one.ints));
  if (first === undefined || ints === undefined) return undefined;
  if (parts.some((one) => one.scalar)) return undefined;
  return { dtype: first.dtype, scalar: false, ints };
}

function gather([params, indices, axis]: readonly Operand[]): FoldedInts | undefined {
  if (params === undefined || params.scalar || indices === undefined) return undefined;
  if (axis !== undefined && axis.ints[0] !== 0) return undefined;
  const known = indices.ints.every(
    (one) => one !== undefined && one >= 0 && one < params.ints.length,
  );
  if (!known) return undefined;
  const ints = indices.ints.map((one) => params.ints[one ?? 0]);
  return { dtype: params.dtype, scalar: indices.scalar, ints };
}

function stridedSlice(operands: readonly Operand[], node: FlatNode): FoldedInts | undefined {
  const [a, begin, end, strides] = operands;
  const masks = ['ellipsis_mask', 'new_axis_mask'].some((name) => intAttribute(node, name) !== 0);
  if (a === undefined || a.scalar || masks || begin?.ints.length !== 1) return undefined;
  const [from, to, step] = [begin.ints[0], end?.ints[0], strides?.ints[0]];
  if (from === undefined || to === undefined || step === undefined || step === 0) return undefined;
  const count = a.ints.length;
  if (intAttribute(node, 'shrink_axis_mask') !== 0) {
    const at = from < 0 ? from + count : from;
    if (at < 0 || at >= count) return undefined;
    return { dtype: a.dtype, scalar: true, ints: [a.ints[at]] };
  }
  const clamp = (at: number): number => {
    const absolute = at < 0 ? at + count : at;
    return step > 0
      ? Math.min(Math.max(absolute, 0), count)
      : Math.min(Math.max(absolute, -1), count - 1);
  };
  const first = intAttribute(node, 'begin_mask') ? (step > 0 ? 0 : count - 1) : clamp(from);
  const last = intAttribute(node, 'end_mask') ? (step > 0 ? count : -1) : clamp(to);
  const ints: (number | undefined)[] = [];
  for (let at = first; step > 0 ? at < last : at > last; at += step) ints.push(a.ints[at]);
  return { dtype: a.dtype, scalar: false, ints };
}

function slice([a, begin, size]: readonly Operand[]): FoldedInts | undefined {
  const [from, count] = [begin?.ints[0], size?.ints[0]];
  if (a === undefined || a.scalar || from === undefined || count === undefined) return undefined;
  const end = count < 0 ? a.ints.length : from + count;
  if (from < 0 || end > a.ints.length) return undefined;
  return { dtype: a.dtype, scalar: false, ints: a.ints.slice(from, end) };
}

const RANGE_MAX = 1024;

function range([start, limit, delta]: readonly Operand[]): FoldedInts | undefined {
  const [from, to, step] = [start?.ints[0], limit?.ints[0], delta?.ints[0]];
  if (start === undefined || from === undefined || to === undefined || !step) return undefined;
  const count = Math.max(0, Math.ceil((to - from) / step));
  if (count > RANGE_MAX) return undefined;
  const ints = Array.from({ length: count }, (_, i) => from + i * step);
  return { dtype: start.dtype, scalar: false, ints };
}

function fill([dims, value]: readonly Operand[]): FoldedInts | undefined {
  const [count] = dims?.ints ?? [];
  if (dims === undefined || value === undefined || dims.ints.length > 1) return undefined;
  if (dims.ints.length === 0) return { ...value, scalar: true };
  if (count === undefined || count < 0 || count > RANGE_MAX) return undefined;
  return { dtype: value.dtype, scalar: false, ints: Array(count).fill(value.ints[0]) as Ints };
}

function select([condition, yes, no]: readonly Operand[]): FoldedInts | undefined {
  if (condition === undefined || yes === undefined || no === undefined) return undefined;
  if (condition.ints.length !== 1 || condition.ints[0] === undefined) return undefined;
  if (yes.ints.length !== no.ints.length || yes.scalar !== no.scalar) return undefined;
  return condition.ints[0] === 0 ? no : yes;
}

const FOLDS: Readonly<Record<string, Fold>> = {
  Add: elementwise((a, b) => a + b),
  AddV2: elementwise((a, b) => a + b),
  Sub: elementwise((a, b) => a - b),
  Mul: elementwise((a, b) => a * b),
  FloorDiv: elementwise((a, b) => (b === 0 ? NaN : Math.floor(a / b))),
  TruncateDiv: elementwise((a, b) => (b === 0 ? NaN : Math.trunc(a / b))),
  FloorMod: elementwise(floorMod),
  Maximum: elementwise(Math.max),
  Minimum: elementwise(Math.min),
  Neg: unary((a) => 0 - a),
  Abs: unary(Math.abs),
  LogicalNot: unary((a) => (a === 0 ? 1 : 0)),
  LogicalAnd: elementwise((a, b) => a & b),
  LogicalOr: elementwise((a, b) => a | b),
  Equal: bool((a, b) => a === b),
  NotEqual: bool((a, b) => a !== b),
  Less: bool((a, b) => a < b),
  LessEqual: bool((a, b) => a <= b),
  Greater: bool((a, b) => a > b),
  GreaterEqual: bool((a, b) => a >= b),
  Prod: reduced((all) => all.reduce((product, one) => product * one, 1)),
  Sum: reduced((all) => all.reduce((sum, one) => sum + one, 0)),
  Max: reduced((all) => all.reduce((a, b) => Math.max(a, b), -Infinity)),
  Min: reduced((all) => all.reduce((a, b) => Math.min(a, b), Infinity)),
  Pack: pack,
  ConcatV2: (operands) =>
    operands.at(-1)?.ints[0] === undefined ? undefined : joined(operands.slice(0, -1)),
  Concat: (operands) => joined(operands.slice(1)),
  Gather: gather,
  GatherV2: gather,
  StridedSlice: stridedSlice,
  Slice: slice,
  Range: range,
  Fill: fill,
  Select: select,
  SelectV2: select,
};
