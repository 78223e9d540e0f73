// tensorflow.DataType: numbers to the importer's names, and sizes. Importer's worker thread; pure.
// Source: tensorflow/core/framework/types.proto.
import type { Dtype } from '../types.js';

const CODES: Readonly<Record<Dtype, number>> = {
  float: 1,
  double: 2,
  int32: 3,
  uint8: 4,
  int16: 5,
  int8: 6,
  string: 7,
  complex64: 8,
  int64: 9,
  bool: 10,
  qint8: 11,
  quint8: 12,
  qint32: 13,
  bfloat16: 14,
  qint16: 15,
  quint16: 16,
  uint16: 17,
  complex128: 18,
  half: 19,
  resource: 20,
  variant: 21,
  uint32: 22,
  uint64: 23,
};
const BY_CODE: ReadonlyMap<number, Dtype> = new Map(
  (Object.keys(CODES) as Dtype[]).map((dtype) => [CODES[dtype], dtype]),
);
/** What is added to the number of a reference to the type. */
const REFERENCE = 100;

const ELEMENT_BYTES: Readonly<Record<Dtype, number>> = {
  float: 4,
  double: 8,
  int32: 4,
  uint8: 1,
  int16: 2,
  int8: 1,
  string: 0,
  complex64: 8,
  int64: 8,
  bool: 1,
  qint8: 1,
  quint8: 1,
  qint32: 4,
  bfloat16: 2,
  qint16: 2,
  quint16: 2,
  uint16: 2,
  complex128: 16,
  half: 2,
  resource: 0,
  variant: 0,
  uint32: 4,
  uint64: 8,
};

/** undefined: a type that this importer does not know (or none at all: 0). */
export function dtypeOfCode(code: number): Dtype | undefined {
  return BY_CODE.get(code > REFERENCE ? code - REFERENCE : code);
}

export function codeOfDtype(dtype: Dtype): number {
  return CODES[dtype];
}

/** 0 for types whose elements are no fixed number of bytes. */
export function elementBytes(dtype: Dtype): number {
  return ELEMENT_BYTES[dtype];
}

/** Whether a word is one of the names. */
export function isDtype(name: string): name is Dtype {
  return Object.hasOwn(CODES, name);
}

/** "DT_FLOAT" and so on to numbers, references included, for text forms. */
export function dtypeEnum(): Readonly<Record<string, number>> {
  const values: Record<string, number> = { DT_INVALID: 0 };
  for (const [dtype, code] of Object.entries(CODES)) {
    values[`DT_${dtype.toUpperCase()}`] = code;
    values[`DT_${dtype.toUpperCase()}_REF`] = code + REFERENCE;
  }
  // Known by name only, so that a text file that mentions them can be read.
  const newer = [
    'FLOAT8_E5M2',
    'FLOAT8_E4M3FN',
    'FLOAT8_E4M3FNUZ',
    'FLOAT8_E4M3B11FNUZ',
    'FLOAT8_E5M2FNUZ',
    'INT4',
    'UINT4',
    'INT2',
    'UINT2',
  ];
  newer.forEach((name, index) => {
    values[`DT_${name}`] = 24 + index;
    values[`DT_${name}_REF`] = 24 + index + REFERENCE;
  });
  return values;
}
