// Types of models, as `serval types` generates them, and what they make of a call's inputs and
// outputs. Types only; any thread of any JavaScript runtime.
import type { InferOptions, InferResult, Inputs, Outputs, Parameters } from './types.js';
import type { Tensor } from './types.js';

export interface TensorTypes {
  readonly datatype: string;
  readonly shape: readonly number[];
}

/** One model: its inputs (an optional property is an optional input) and its outputs by name. */
export interface ModelTypes {
  readonly inputs: object;
  readonly outputs: object;
}

/** Models by name. */
export type ModelTypesByName<M> = { readonly [K in keyof M]: ModelTypes };

/** The models of a client without generated types: any name, any inputs. */
export type AnyModels = Readonly<Record<string, AnyModel>>;
export interface AnyModel {
  readonly inputs: Readonly<
    Record<string, { readonly datatype: string; readonly shape: number[] }>
  >;
  readonly outputs: Readonly<
    Record<string, { readonly datatype: string; readonly shape: number[] }>
  >;
}

type Nested<T> = T | readonly Nested<T>[];

/** Accepted values by datatype; other datatypes accept any value. */
export interface DatatypeInputs {
  BOOL: Nested<boolean | 0 | 1 | Uint8Array>;
  UINT8: Nested<number | Uint8Array | Uint8ClampedArray>;
  UINT16: Nested<number | Uint16Array>;
  UINT32: Nested<number | Uint32Array>;
  UINT64: Nested<number | bigint | BigUint64Array>;
  INT8: Nested<number | Int8Array>;
  INT16: Nested<number | Int16Array>;
  INT32: Nested<number | Int32Array>;
  INT64: Nested<number | bigint | BigInt64Array>;
  FP16: Nested<number | Float32Array | Uint16Array>;
  BF16: Nested<number | Float32Array | Uint16Array>;
  FP32: Nested<number | Float32Array>;
  FP64: Nested<number | Float32Array | Float64Array>;
  BYTES: Nested<string | Uint8Array>;
}

/** Returned values by datatype; other datatypes return a list of JSON values. */
export interface DatatypeOutputs {
  BOOL: Uint8Array;
  UINT8: Uint8Array;
  UINT16: Uint16Array;
  UINT32: Uint32Array;
  UINT64: BigUint64Array;
  INT8: Int8Array;
  INT16: Int16Array;
  INT32: Int32Array;
  INT64: BigInt64Array;
  FP16: Float32Array;
  BF16: Float32Array;
  FP32: Float32Array;
  FP64: Float64Array;
  BYTES: readonly string[];
}

type DatatypeOf<T> = T extends { readonly datatype: infer D } ? D : string;
type ShapeOf<T> = T extends { readonly shape: infer S extends readonly number[] }
  ? S
  : readonly number[];
type InputValuesOf<T> =
  DatatypeOf<T> extends keyof DatatypeInputs ? DatatypeInputs[DatatypeOf<T>] : Inputs[string];
type OutputDataOf<T> =
  DatatypeOf<T> extends keyof DatatypeOutputs ? DatatypeOutputs[DatatypeOf<T>] : Tensor['data'];

export type InputOf<T> =
  | InputValuesOf<T>
  | {
      readonly data: InputValuesOf<T>;
      readonly shape?: Readonly<ShapeOf<T>> | readonly number[] | undefined;
      readonly datatype?: DatatypeOf<T> | undefined;
      readonly parameters?: Parameters | undefined;
    };

export interface OutputOf<T> {
  readonly name: string;
  readonly datatype: DatatypeOf<T>;
  readonly shape: Readonly<ShapeOf<T>>;
  readonly data: OutputDataOf<T>;
  readonly parameters: Parameters;
}

/** The inputs of a call of model M. */
export type InputsOf<M extends ModelTypes> = AnyModel extends M
  ? Inputs
  : { readonly [N in keyof M['inputs']]: InputOf<NonNullable<M['inputs'][N]>> };

/** The outputs of a call of model M. */
export type OutputsOf<M extends ModelTypes> = AnyModel extends M
  ? Outputs
  : { readonly [N in keyof M['outputs']]: OutputOf<NonNullable<M['outputs'][N]>> };

type OutputNameOf<M extends ModelTypes> = AnyModel extends M ? string : keyof M['outputs'] & string;

/** The options of a call of model M; `outputs` has its names. */
export interface InferOptionsOf<M extends ModelTypes> extends Omit<InferOptions, 'outputs'> {
  readonly outputs?:
    | readonly (
        | OutputNameOf<M>
        | {
            readonly name: OutputNameOf<M>;
            readonly classification?: number | undefined;
            readonly parameters?: Parameters | undefined;
          }
      )[]
    | undefined;
}

export type InferResultOf<M extends ModelTypes> = InferResult<OutputsOf<M>>;
