// Data types: one table of their names in TensorFlow, V2 and ONNX, the width of their elements, and
// how elements are read and written. Control plane, any thread; pure. Source:
// tensorflow/core/framework/types.proto and tensor.proto; Predict Protocol V2; onnx.proto.
import { DATA_TYPE, TENSOR_PROTO } from '../protobuf/generated/tensorflow-fields.js';
import { bfloat16ToNumber, halfToNumber, numberToBfloat16, numberToHalf } from './half.js';
import type { Datatype, TabularDatatype } from './snapshot.js';

/** TensorFlow's data types in lower case; reference types (code + 100) map to their plain type. */
export type Dtype =
  | 'float'
  | 'double'
  | 'int32'
  | 'uint8'
  | 'int16'
  | 'int8'
  | 'string'
  | 'complex64'
  | 'int64'
  | 'bool'
  | 'qint8'
  | 'quint8'
  | 'qint32'
  | 'bfloat16'
  | 'qint16'
  | 'quint16'
  | 'uint16'
  | 'complex128'
  | 'half'
  | 'resource'
  | 'variant'
  | 'uint32'
  | 'uint64';

/** ONNX's names of element types. */
export type ElementType =
  | 'float'
  | 'uint8'
  | 'int8'
  | 'uint16'
  | 'int16'
  | 'int32'
  | 'int64'
  | 'string'
  | 'bool'
  | 'float16'
  | 'double'
  | 'uint32'
  | 'uint64'
  | 'bfloat16';

/** A number as its type requires: 64-bit integers as bigint. */
export type Scalar = number | bigint;

/**
 * Reads and writes one little-endian element. Writing keeps the lowest bits of a number, as
 * TensorFlow's arithmetic does.
 */
export interface Elements {
  get(view: DataView, at: number): Scalar;
  set(view: DataView, at: number, value: Scalar): void;
}

export interface DataType {
  /** tensorflow.DataType. */
  readonly code: number;
  /** Size of one element; 0 if it is not fixed. */
  readonly bytes: number;
  /** The field of TensorProto that lists values of the type. */
  readonly valueField: number;
  readonly kind: 'signed' | 'unsigned' | 'bool' | 'float' | 'complex' | 'text' | 'handle';
  /** The datatype that serves it; undefined: it is not served. */
  readonly v2: Datatype | undefined;
  readonly onnx: ElementType | undefined;
  /** The field of V2's InferTensorContents; undefined: there is none. */
  readonly contents: string | undefined;
  /** undefined: elements are not single numbers. */
  readonly elements: Elements | undefined;
}

const elements = (get: Elements['get'], set: Elements['set']): Elements => ({ get, set });
const FLOAT = elements(
  (view, at) => view.getFloat32(at, true),
  (view, at, value) => view.setFloat32(at, Number(value), true),
);
const DOUBLE = elements(
  (view, at) => view.getFloat64(at, true),
  (view, at, value) => view.setFloat64(at, Number(value), true),
);
const HALF = elements(
  (view, at) => halfToNumber(view.getUint16(at, true)),
  (view, at, value) => view.setUint16(at, numberToHalf(Number(value)), true),
);
const BFLOAT16 = elements(
  (view, at) => bfloat16ToNumber(view.getUint16(at, true)),
  (view, at, value) => view.setUint16(at, numberToBfloat16(Number(value)), true),
);
const INT8 = elements(
  (view, at) => view.getInt8(at),
  (view, at, value) => view.setInt8(at, Number(value)),
);
const UINT8 = elements(
  (view, at) => view.getUint8(at),
  (view, at, value) => view.setUint8(at, Number(value)),
);
const INT16 = elements(
  (view, at) => view.getInt16(at, true),
  (view, at, value) => view.setInt16(at, Number(value), true),
);
const UINT16 = elements(
  (view, at) => view.getUint16(at, true),
  (view, at, value) => view.setUint16(at, Number(value), true),
);
const INT32 = elements(
  (view, at) => view.getInt32(at, true),
  (view, at, value) => view.setInt32(at, Number(value), true),
);
const UINT32 = elements(
  (view, at) => view.getUint32(at, true),
  (view, at, value) => view.setUint32(at, Number(value), true),
);
const INT64 = elements(
  (view, at) => view.getBigInt64(at, true),
  (view, at, value) => view.setBigInt64(at, BigInt(value), true),
);
const UINT64 = elements(
  (view, at) => view.getBigUint64(at, true),
  (view, at, value) => view.setBigUint64(at, BigInt(value), true),
);
const BOOL = elements(
  (view, at) => view.getUint8(at),
  (view, at, value) => view.setUint8(at, Number(value) === 0 ? 0 : 1),
);

type Unprefixed<Name> = Name extends `DT_${infer Rest}` ? Rest : never;
type CodeName = Unprefixed<keyof typeof DATA_TYPE>;
const row = (
  name: CodeName,
  bytes: number,
  valueField: keyof typeof TENSOR_PROTO,
  kind: DataType['kind'],
  v2?: Datatype,
  onnx?: ElementType,
  contents?: string,
  numbers?: Elements,
): DataType => ({
  code: DATA_TYPE[`DT_${name}`],
  bytes,
  valueField: TENSOR_PROTO[valueField],
  kind,
  v2,
  onnx,
  contents,
  elements: numbers,
});

/** Quantized types are served as their underlying integers. */
export const DATA_TYPES: Readonly<Record<Dtype, DataType>> = {
  float: row('FLOAT', 4, 'floatVal', 'float', 'FP32', 'float', 'fp32_contents', FLOAT),
  double: row('DOUBLE', 8, 'doubleVal', 'float', 'FP64', 'double', 'fp64_contents', DOUBLE),
  int32: row('INT32', 4, 'intVal', 'signed', 'INT32', 'int32', 'int_contents', INT32),
  uint8: row('UINT8', 1, 'intVal', 'unsigned', 'UINT8', 'uint8', 'uint_contents', UINT8),
  int16: row('INT16', 2, 'intVal', 'signed', 'INT16', 'int16', 'int_contents', INT16),
  int8: row('INT8', 1, 'intVal', 'signed', 'INT8', 'int8', 'int_contents', INT8),
  string: row('STRING', 0, 'stringVal', 'text', 'BYTES', 'string', 'bytes_contents'),
  complex64: row('COMPLEX64', 8, 'scomplexVal', 'complex'),
  int64: row('INT64', 8, 'int64Val', 'signed', 'INT64', 'int64', 'int64_contents', INT64),
  bool: row('BOOL', 1, 'boolVal', 'bool', 'BOOL', 'bool', 'bool_contents', BOOL),
  qint8: row('QINT8', 1, 'intVal', 'signed', 'INT8', 'int8', 'int_contents', INT8),
  quint8: row('QUINT8', 1, 'intVal', 'unsigned', 'UINT8', 'uint8', 'uint_contents', UINT8),
  qint32: row('QINT32', 4, 'intVal', 'signed', 'INT32', 'int32', 'int_contents', INT32),
  bfloat16: row('BFLOAT16', 2, 'halfVal', 'float', 'BF16', 'bfloat16', undefined, BFLOAT16),
  qint16: row('QINT16', 2, 'intVal', 'signed', 'INT16', 'int16', 'int_contents', INT16),
  quint16: row('QUINT16', 2, 'intVal', 'unsigned', 'UINT16', 'uint16', 'uint_contents', UINT16),
  uint16: row('UINT16', 2, 'intVal', 'unsigned', 'UINT16', 'uint16', 'uint_contents', UINT16),
  complex128: row('COMPLEX128', 16, 'dcomplexVal', 'complex'),
  half: row('HALF', 2, 'halfVal', 'float', 'FP16', 'float16', undefined, HALF),
  resource: row('RESOURCE', 0, 'resourceHandleVal', 'handle'),
  variant: row('VARIANT', 0, 'variantVal', 'handle'),
  uint32: row('UINT32', 4, 'uint32Val', 'unsigned', 'UINT32', 'uint32', 'uint_contents', UINT32),
  uint64: row('UINT64', 8, 'uint64Val', 'unsigned', 'UINT64', 'uint64', 'uint64_contents', UINT64),
};

/** Offset of reference types in DataType's numbers. */
const REFERENCE = 100;

const DTYPES = Object.keys(DATA_TYPES) as readonly Dtype[];
const BY_CODE: ReadonlyMap<number, Dtype> = new Map(
  DTYPES.map((dtype) => [DATA_TYPES[dtype].code, dtype]),
);

export const isQuantized = (dtype: Dtype): boolean => dtype.startsWith('q');

const PLAIN = DTYPES.filter((dtype) => !isQuantized(dtype)).map((dtype) => DATA_TYPES[dtype]);
const BY_V2: ReadonlyMap<Datatype | undefined, DataType> = new Map(
  PLAIN.map((type) => [type.v2, type]),
);
/** V2's datatypes, in the order of TensorFlow's numbers; without those of tabular models. */
export const V2_DATATYPES: readonly Datatype[] = [...BY_V2.keys()].filter(
  (datatype) => datatype !== undefined,
);
/**
 * Mapped to the types that carry them on the wire, also shown by protocols without a name for them.
 */
const TABULAR: Readonly<Record<TabularDatatype, DataType>> = {
  STRING: DATA_TYPES.string,
  DATE: DATA_TYPES.string,
  TIMESTAMP: DATA_TYPES.string,
  VECTOR: DATA_TYPES.double,
  DECIMAL: DATA_TYPES.double,
};
const isTabular = (datatype: Datatype): datatype is TabularDatatype =>
  Object.hasOwn(TABULAR, datatype);
const BY_ONNX: ReadonlyMap<ElementType | undefined, DataType> = new Map(
  PLAIN.map((type) => [type.onnx, type]),
);

/** The type of a V2 datatype: every one is in the table. */
export function dataTypeOf(datatype: Datatype): DataType {
  return isTabular(datatype) ? TABULAR[datatype] : (BY_V2.get(datatype) as DataType);
}

/** The type of an ONNX element type: every one is in the table. */
export function dataTypeOfOnnx(type: ElementType): DataType {
  return BY_ONNX.get(type) as DataType;
}

/** undefined: a type that this server does not know (or none: 0). */
export function dtypeOfCode(code: number): Dtype | undefined {
  return BY_CODE.get(code > REFERENCE ? code - REFERENCE : code);
}

export function codeOfDtype(dtype: Dtype): number {
  return DATA_TYPES[dtype].code;
}

/** 0 for types whose elements have no fixed size. */
export function elementBytes(dtype: Dtype): number {
  return DATA_TYPES[dtype].bytes;
}

/** Whether a word is one of TensorFlow's names. */
export function isDtype(name: string): name is Dtype {
  return Object.hasOwn(DATA_TYPES, name);
}

/** The name in Triton's configuration (TYPE_...) of a V2 datatype. */
export function configTypeOf(datatype: Datatype): string {
  const { v2 } = dataTypeOf(datatype);
  return v2 === 'BYTES' ? 'TYPE_STRING' : `TYPE_${v2}`;
}

/** The inverse; undefined for TYPE_INVALID and unknown names. */
export function datatypeOfConfig(name: string): Datatype | undefined {
  return V2_DATATYPES.find((datatype) => configTypeOf(datatype) === name);
}
