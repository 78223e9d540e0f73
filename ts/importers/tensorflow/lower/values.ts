// Representation of TensorFlow values during lowering. Importer's worker thread; data only.
import { ErrorCode, ServalError } from '../../../base/errors.js';
import { DATA_TYPES, type ElementType } from '../../../model/datatype.js';
import type { Dtype, Shape, Tensor } from '../types.js';

export { elementBytes as dtypeBytes } from '../../../model/datatype.js';

/** A tensor: a value of the ONNX graph, or a constant that nothing has used yet. */
export interface TensorValue {
  readonly kind: 'tensor';
  readonly dtype: Dtype;
  readonly shape: Shape;
  /** Its name in the ONNX graph; undefined for a constant without one (GraphBuilder assigns it). */
  readonly name?: string;
  readonly constant?: Tensor;
  /**
   * Elements of an integer or bool tensor of rank 0 or 1 as far as they are known, for computing
   * shapes. Bools are 0 and 1.
   */
  readonly ints?: readonly (number | undefined)[];
  /**
   * Dims according to the graph. Requests may differ: used only if an operator needs a number, and
   * checked at run time.
   */
  readonly hint?: Shape;
  /** Known range of a random number. */
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

/**
 * A complex tensor, which ONNX does not support: two real tensors of one shape and type, float for
 * complex64 and double for complex128 (docs/decisions/0018).
 */
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
  /**
   * For a list of pieces of different lengths: the number of rows of each (int64, rank 1); the
   * items are padded to the longest. Such lists can only be read and concatenated.
   */
  readonly rowCounts?: TensorValue;
  /** Setting an item beyond the end extends it. */
  readonly isGrowing?: true;
  /**
   * In a loop that fills the list in order: the only operation is setting an item, and only the
   * item is kept.
   */
  readonly collecting?: true;
  readonly lastItem?: TensorValue;
  /** The node that made it. */
  readonly origin?: string;
  /** The items' shape declared by the node itself, before any was set. */
  readonly declared?: Shape;
  /** Items were set one by one. */
  readonly written?: true;
  /** Replaces `items` for a list whose items differ in shape. */
  readonly varied?: VariedItems;
}

/** Items of any shapes with the same rank. */
export interface VariedItems {
  /** All elements, one item after the other; rank 1. */
  readonly flat: TensorValue;
  /** int64 [length, rank]; zeros for an item that was never set. */
  readonly dims: TensorValue;
}

/** Common description of a list's items whose shapes differ. */
export interface VariedPart {
  readonly dtype: Dtype;
  readonly rank: number;
}

/**
 * A ragged tensor that TensorFlow encodes as one variant: the row lengths of each level (int64,
 * rank 1), outermost first, then the values.
 */
export interface VariantValue {
  readonly kind: 'variant';
  readonly parts: readonly TensorValue[];
}

/** A vector or list of variants: a list for each part. */
export interface VariantsValue {
  readonly kind: 'variants';
  readonly origin?: string;
  /** int64 scalar. */
  readonly length: TensorValue;
  /** undefined while the parts are unknown. */
  readonly lists: readonly ListValue[] | undefined;
}

/** A value that only the operators of one family use. */
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

/**
 * ONNX's element type. Errors: Unimplemented for types that ONNX does not have (complex, variant).
 */
export function elementType(dtype: Dtype): ElementType {
  const type = DATA_TYPES[dtype].onnx;
  if (type !== undefined) return type;
  throw new ServalError(ErrorCode.Unimplemented, `tensors of type ${dtype} are not supported`);
}

export const isFloating = (dtype: Dtype): boolean => DATA_TYPES[dtype].kind === 'float';

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

/** Maximum known integers tracked per value: shapes need a few, index lists more. */
const INTS_MAX = 65_536;

/** Concatenates the lists; undefined if one is unknown, or they are too long. */
export function joinedInts(lists: readonly TensorValue['ints'][]): TensorValue['ints'] | undefined {
  const count = lists.reduce((sum, ints) => sum + (ints?.length ?? Infinity), 0);
  return count > INTS_MAX ? undefined : lists.flatMap((ints) => ints ?? []);
}

/**
 * The common knowledge of a value that is either one (branches of a condition, iterations of a
 * loop).
 */
export function commonShape(a: Shape, b: Shape): Shape {
  if (a === undefined || b === undefined || a.length !== b.length) return undefined;
  return a.map((dim, i) => (dim === b[i] ? dim : undefined));
}

/** "[?,3]", "[]" or "unknown rank". */
export const shapeText = (shape: Shape): string =>
  shape === undefined ? 'unknown rank' : `[${shape.map((dim) => dim ?? '?').join(',')}]`;
