// What a TensorFlow value is while its graph is lowered. Importer's worker thread; data only.
import { ErrorCode, ServalError } from '../../../base/errors.js';
import { DATA_TYPES, type ElementType } from '../../../model/datatype.js';
import type { Dtype, Shape, Tensor } from '../types.js';

export { elementBytes as dtypeBytes } from '../../../model/datatype.js';

/** A tensor: a value of the ONNX graph, or a constant that nothing has used yet. */
export interface TensorValue {
  readonly kind: 'tensor';
  readonly dtype: Dtype;
  readonly shape: Shape;
  /** Its name in the ONNX graph; undefined for a constant without one (GraphBuilder gives it). */
  readonly name?: string;
  readonly constant?: Tensor;
  /** Elements of an integer or bool tensor of rank 0 or 1 as far as they are known: what shapes are
   * computed from. Bools are 0 and 1. */
  readonly ints?: readonly (number | undefined)[];
  /** What the graph says of the dims. Requests may have others: for what can only be done with a
   * number, and is refused at run time where it was another. */
  readonly hint?: Shape;
  /** What is known of a random number. */
  readonly drawn?: DrawnRange;
}

/** Elements that come from a draw: at least `low`, less than `high`. */
export interface DrawnRange {
  readonly low: number;
  readonly high: number;
  /** The shape, integers of rank 1, known without the draw. */
  readonly dims: TensorValue;
}

/** A variable, by reference or by resource handle. */
export interface VariableValue {
  readonly kind: 'variable';
  /** Key of Initialised.variables. */
  readonly key: string;
}

/** A complex tensor, which ONNX does not carry: two real tensors of one shape and type, float for
 * complex64 and double for complex128 (docs/decisions/0018). */
export interface ComplexValue {
  readonly kind: 'complex';
  readonly dtype: 'complex64' | 'complex128';
  readonly real: TensorValue;
  readonly imaginary: TensorValue;
}

/** A hash table's handle. */
export interface TableValue {
  readonly kind: 'table';
  /** Key of Initialised.tables. */
  readonly key: string;
}

/** A TensorList or TensorArray. All elements have one shape. */
export interface ListValue {
  readonly kind: 'list';
  readonly dtype: Dtype;
  readonly elementShape: Shape;
  /** int64 scalar. */
  readonly length: TensorValue;
  /** [length, ...elementShape]; undefined while no element was ever set. */
  readonly items: TensorValue | undefined;
  /** Of a list of pieces of different lengths: how many rows of its item each has (int64, rank 1);
   * the items are as long as the longest. Only reading them and putting them together works. */
  readonly rowCounts?: TensorValue;
  /** Setting an item behind its end makes it longer. */
  readonly isGrowing?: true;
  /** In a loop that fills the list in order: setting an item is all that is done to it, and only
   * the item is kept. */
  readonly collecting?: true;
  readonly lastItem?: TensorValue;
  /** The node that made it. */
  readonly origin?: string;
  /** What the node itself said of the items' shape, before any was set. */
  readonly declared?: Shape;
  /** Items were set one by one. */
  readonly written?: true;
  /** In place of `items`: of a list whose items have shapes of their own. */
  readonly varied?: VariedItems;
}

/** Items of any shapes, of one rank. */
export interface VariedItems {
  /** All elements, one item after the other; rank 1. */
  readonly flat: TensorValue;
  /** int64 [length, rank]; zeros for an item that was never set. */
  readonly dims: TensorValue;
}

/** What all items of a list are like whose shapes differ. */
export interface VariedPart {
  readonly dtype: Dtype;
  readonly rank: number;
}

/** A ragged tensor that TensorFlow carries as one variant: the row lengths of each level (int64,
 * rank 1), outermost first, then the values. */
export interface VariantValue {
  readonly kind: 'variant';
  readonly parts: readonly TensorValue[];
}

/** A tensor of rank 1, or a list, of such: a list of each part. */
export interface VariantsValue {
  readonly kind: 'variants';
  readonly origin?: string;
  /** int64 scalar. */
  readonly length: TensorValue;
  /** undefined while it is not known what the parts are. */
  readonly lists: readonly ListValue[] | undefined;
}

/** What only the operators of one family understand. */
export interface OpaqueValue {
  readonly kind: 'opaque';
  readonly what: string;
  readonly data: unknown;
}

export type Value =
  | TensorValue
  | ComplexValue
  | VariableValue
  | TableValue
  | ListValue
  | VariantValue
  | VariantsValue
  | OpaqueValue;

/** ONNX's element type. Errors: Unimplemented for those that ONNX has not (complex, variant). */
export function elementType(dtype: Dtype): ElementType {
  const type = DATA_TYPES[dtype].onnx;
  if (type !== undefined) return type;
  throw new ServalError(ErrorCode.Unimplemented, `tensors of type ${dtype} are not supported`);
}

export const isFloating = (dtype: Dtype): boolean => DATA_TYPES[dtype].kind === 'float';

export const elementCount = (shape: readonly number[]): number =>
  shape.reduce((product, dim) => product * dim, 1);

/** Whether every dim is known. */
export function isStatic(shape: Shape): shape is readonly number[] {
  return shape !== undefined && shape.every((dim) => dim !== undefined);
}

/** NumPy's broadcasting, as far as the shapes are known. */
export function broadcastShapes(a: Shape, b: Shape): Shape {
  if (a === undefined || b === undefined) return undefined;
  const rank = Math.max(a.length, b.length);
  const out: (number | undefined)[] = [];
  for (let i = 0; i < rank; i++) {
    const x = i < rank - a.length ? 1 : a[i - (rank - a.length)];
    const y = i < rank - b.length ? 1 : b[i - (rank - b.length)];
    if (x === 1) out.push(y);
    else if (y === 1 || x === y) out.push(x);
    else out.push(x ?? (y !== undefined && y > 1 ? y : undefined));
  }
  return out;
}

/** Known integers that are kept of one value: shapes need a few, lists of indices some more. */
const INTS_MAX = 65_536;

/** The lists one after the other; undefined where one is not known, or they are too many. */
export function joinedInts(lists: readonly TensorValue['ints'][]): TensorValue['ints'] | undefined {
  const count = lists.reduce((sum, ints) => sum + (ints?.length ?? Infinity), 0);
  return count > INTS_MAX ? undefined : lists.flatMap((ints) => ints ?? []);
}

/** What is known of a value that is either one (branches of a condition, rounds of a loop). */
export function commonShape(a: Shape, b: Shape): Shape {
  if (a === undefined || b === undefined || a.length !== b.length) return undefined;
  return a.map((dim, i) => (dim === b[i] ? dim : undefined));
}

/** "[?,3]", "[]" or "unknown rank". */
export const shapeText = (shape: Shape): string =>
  shape === undefined ? 'unknown rank' : `[${shape.map((dim) => dim ?? '?').join(',')}]`;
