// Random numbers in a graph: folds draws whose value does not matter (dropout that keeps
// everything, including TensorFlow 1's `floor(1 + uniform)`), and finds the draws that reach the
// outputs. Importer's worker thread.
import type { OnnxGraph, OnnxNode } from '../../onnx/builder.js';
import type { Dtype, FlatNode } from '../types.js';
import type { OpContext } from './context.js';
import { numbersTensor, tensorNumbers } from './tensors.js';
import type { DrawnRange, TensorValue, Value } from './values.js';

/** The node that draws. */
export interface DrawSource {
  readonly op: string;
  readonly node: string;
}

/**
 * Uniform numbers of these types are far enough below 1 that sums with numbers up to 1 are exact
 * enough for these decisions.
 */
const EXACT: ReadonlySet<Dtype> = new Set(['float', 'double']);

/** A value that was drawn from [0, 1). */
export const drawnUniform = (value: TensorValue, dims: TensorValue): TensorValue =>
  EXACT.has(value.dtype) ? { ...value, drawn: { low: 0, high: 1, dims } } : value;

/** The element of a constant of rank 0 of float or double. */
function scalarOf(value: Value | undefined): number | undefined {
  if (value?.kind !== 'tensor' || value.constant === undefined) return undefined;
  if (value.shape?.length !== 0 || !EXACT.has(value.dtype)) return undefined;
  const [number] = tensorNumbers(value.constant) ?? [];
  return number;
}

const ARITHMETIC: Readonly<Record<string, (a: number, b: number) => number>> = {
  Add: (a, b) => a + b,
  AddV2: (a, b) => a + b,
  Sub: (a, b) => a - b,
  Mul: (a, b) => a * b,
  RealDiv: (a, b) => a / b,
  Div: (a, b) => a / b,
};

const COMPARISONS: Readonly<Record<string, (a: number, b: number) => boolean>> = {
  Less: (a, b) => a < b,
  LessEqual: (a, b) => a <= b,
  Greater: (a, b) => a > b,
  GreaterEqual: (a, b) => a >= b,
};

/**
 * Output 0 of a node whose float inputs are partly known: arithmetic of two numbers, the floor of a
 * draw, its comparison with a number. undefined: it has to be computed.
 */
export function foldFloats(cx: OpContext): TensorValue | undefined {
  const { op } = cx.node;
  const [a, b] = cx.inputs;
  if (op === 'Floor') return floorOf(cx, a);
  const compare = COMPARISONS[op];
  const arithmetic = ARITHMETIC[op];
  if (compare === undefined && arithmetic === undefined) return undefined;
  const [x, y] = [scalarOf(a), scalarOf(b)];
  if (arithmetic !== undefined) {
    if (x === undefined || y === undefined || a?.kind !== 'tensor') return undefined;
    // Computed with twice the digits and rounded once, which is exact for these four.
    return cx.constant(numbersTensor(a.dtype, [], [arithmetic(x, y)]));
  }
  if (compare === undefined) return undefined;
  if (x !== undefined && y !== undefined) return known(cx, 'bool', Number(compare(x, y)));
  return compared(cx, op, a, b);
}

/** Records the range of a node's result computed from a draw: returns a copy of `value` with it. */
export function withRange(node: FlatNode, inputs: readonly Value[], value: Value): Value {
  if (value.kind !== 'tensor' || value.drawn !== undefined) return value;
  const [a, b] = inputs;
  const range = rangeOf(a);
  const isSum = node.op === 'Add' || node.op === 'AddV2';
  if (range !== undefined) {
    const number = scalarOf(b);
    if (number === undefined) return value;
    const drawn =
      node.op === 'Mul'
        ? scaled(range, number)
        : isSum
          ? moved(range, number)
          : node.op === 'Sub'
            ? moved(range, -number)
            : undefined;
    return drawn === undefined ? value : { ...value, drawn };
  }
  const other = rangeOf(b);
  const number = scalarOf(a);
  if (other === undefined || number === undefined) return value;
  const drawn =
    node.op === 'Mul' ? scaled(other, number) : isSum ? moved(other, number) : undefined;
  return drawn === undefined ? value : { ...value, drawn };
}

const rangeOf = (value: Value | undefined): DrawnRange | undefined =>
  value?.kind === 'tensor' ? value.drawn : undefined;

/** Sums with larger numbers may be rounded up to the next integer. */
function moved(range: DrawnRange, by: number): DrawnRange | undefined {
  if (!(Math.abs(by) <= 1)) return undefined;
  return { ...range, low: range.low + by, high: range.high + by };
}

function scaled(range: DrawnRange, by: number): DrawnRange | undefined {
  return by === 1 ? range : undefined;
}

function floorOf(cx: OpContext, value: Value | undefined): TensorValue | undefined {
  const range = rangeOf(value);
  if (range === undefined || value?.kind !== 'tensor') return undefined;
  const least = Math.floor(range.low);
  if (Math.ceil(range.high) - 1 !== least) return undefined;
  return filled(cx, range, cx.scalar(value.dtype, least), value);
}

function compared(
  cx: OpContext,
  op: string,
  a: Value | undefined,
  b: Value | undefined,
): TensorValue | undefined {
  const isFirst = rangeOf(a) !== undefined;
  const [value, limit] = isFirst ? [a, scalarOf(b)] : [b, scalarOf(a)];
  const range = rangeOf(value);
  if (range === undefined || limit === undefined || value?.kind !== 'tensor') return undefined;
  const said = isFirst ? op : (SWAPPED[op] ?? op);
  const isBelow = range.high <= limit;
  let answer: boolean | undefined;
  if (said === 'GreaterEqual') answer = isBelow ? false : range.low >= limit || undefined;
  else if (said === 'Greater') answer = isBelow ? false : range.low > limit || undefined;
  else if (said === 'Less') answer = isBelow || (range.low >= limit ? false : undefined);
  else answer = isBelow || (range.low > limit ? false : undefined);
  return answer === undefined ? undefined : filled(cx, range, boolean(cx, answer), value);
}

/** The same comparison with its sides swapped. */
const SWAPPED: Readonly<Record<string, string>> = {
  Less: 'Greater',
  LessEqual: 'GreaterEqual',
  Greater: 'Less',
  GreaterEqual: 'LessEqual',
};

const boolean = (cx: OpContext, value: boolean): TensorValue => known(cx, 'bool', Number(value));

const known = (cx: OpContext, dtype: Dtype, value: number): TensorValue =>
  dtype === 'bool'
    ? { ...cx.constant(numbersTensor(dtype, [], [value])), ints: [value] }
    : cx.constant(numbersTensor(dtype, [], [value]));

/** `one` in the shape of the draw, without depending on the draw. */
function filled(
  cx: OpContext,
  { dims }: DrawnRange,
  one: TensorValue,
  like: TensorValue,
): TensorValue {
  if (like.shape?.length === 0) return one;
  return cx.op('Expand', [one, cx.cast(dims, 'int64')], { shape: like.shape });
}

/**
 * The draws that the outputs depend on, in graph order. `draws`: by the name of the drawn value.
 * Draws of which only the shape is used do not count.
 */
export function drawsBehind(
  graph: Pick<OnnxGraph, 'nodes' | 'outputs'>,
  draws: ReadonlyMap<string, DrawSource>,
): DrawSource[] {
  if (draws.size === 0) return [];
  const needed = new Set(graph.outputs.map((one) => one.name));
  const found = new Set<DrawSource>();
  visit(graph.nodes, needed, draws, found);
  return [...found].reverse();
}

const SHOWN_SIGNATURES = 4;

/** One warning for all signatures whose results depend on draws; undefined if there are none. */
export function drawsWarning(
  bySignature: ReadonlyMap<string, readonly DrawSource[]>,
): readonly string[] {
  if (bySignature.size === 0) return [];
  const texts = [...bySignature].map(([signature, [first, ...others]]) => {
    const more = others.length === 0 ? '' : ` and ${others.length} more`;
    return `signature '${signature}' by ${first?.op} '${first?.node}'${more}`;
  });
  const shown = texts.slice(0, SHOWN_SIGNATURES).join(', ');
  const hidden = texts.length - SHOWN_SIGNATURES;
  return [
    `responses depend on random values, which differ from those that TensorFlow would draw: ${shown}` +
      (hidden > 0 ? ` and ${hidden} more signatures` : '') +
      '; --allow-random=false (parameter serval.allow_random in config.pbtxt) refuses them',
  ];
}

const SHAPE_ONLY: ReadonlySet<string> = new Set(['Shape', 'Size']);

function visit(
  nodes: readonly OnnxNode[],
  needed: Set<string>,
  draws: ReadonlyMap<string, DrawSource>,
  found: Set<DrawSource>,
): void {
  for (let i = nodes.length - 1; i >= 0; i--) {
    const node = nodes[i];
    if (node === undefined || !node.outputs.some((name) => needed.has(name))) continue;
    for (const name of node.outputs) {
      const source = draws.get(name);
      if (source !== undefined) found.add(source);
    }
    if (SHAPE_ONLY.has(node.op)) continue;
    for (const name of node.inputs) needed.add(name);
    for (const attribute of Object.values(node.attributes ?? {})) {
      if (!('graph' in attribute)) continue;
      for (const output of attribute.graph.outputs) needed.add(output.name);
      visit(attribute.graph.nodes, needed, draws, found);
    }
  }
}
