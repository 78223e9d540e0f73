// Arguments and results of the library's calls. Types only; any thread.
// scripts/packaging/library-types.d.ts repeats them for users of the package.
import type { Datatype, TensorInfo } from '../model/snapshot.js';

export type TypedArray =
  | Int8Array
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array
  | Float32Array
  | Float64Array;

export type Scalar = number | bigint | boolean | string | null | Uint8Array;

/** A scalar, nested lists, or a typed array; lists may contain typed arrays. */
export type Values = Scalar | TypedArray | readonly Values[];

export type Parameters = Readonly<Record<string, string | number | boolean>>;

/** Values with facts that they do not carry themselves. */
export interface TensorInput {
  readonly data: Values;
  readonly shape?: readonly number[] | undefined;
  /** Needed for a tabular model, or checked against the model's. */
  readonly datatype?: string | undefined;
  /** Parameters of V2's tensor: `features`, `precision` and the others of tabular models. */
  readonly parameters?: Parameters | undefined;
}

export type InputValue = Values | TensorInput;
export type Inputs = Readonly<Record<string, InputValue>>;

/**
 * By datatype: a typed array; FP16 and BF16 as Float32Array, BOOL as Uint8Array of 0 and 1; BYTES a
 * list of strings, with a Uint8Array for an element that is not UTF-8. For a tabular model a list
 * of cells: number, bigint, boolean, string, null for a missing one, lists for vectors.
 */
export type TensorData = TypedArray | readonly (string | Uint8Array)[] | readonly Cell[];
export type Cell = number | bigint | boolean | string | null | readonly Cell[];

export interface Tensor {
  readonly name: string;
  readonly datatype: string;
  /** For a tabular model the last dimension is -1 if lists differ in length. */
  readonly shape: readonly number[];
  readonly data: TensorData;
}

/** By output name, in the order of the response. */
export type Outputs = Readonly<Record<string, Tensor>>;

export interface InferOptions {
  /** The wanted outputs; default: all. */
  readonly outputs?: readonly string[] | undefined;
  /** Parameters of V2's request: `priority`, `timeout` (microseconds), `strict` and the others. */
  readonly parameters?: Parameters | undefined;
  /** Cancels the call: it rejects with Cancelled. */
  readonly signal?: AbortSignal | undefined;
}

/** The known facts of an input. */
export type InputInfo = Pick<TensorInfo, 'name' | 'datatype' | 'shape' | 'unknownRank'>;

export interface EncodedTensor {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;
  readonly parameters: Parameters;
}
