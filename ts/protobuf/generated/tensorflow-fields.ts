// Field numbers and enum values. Data only; any thread. Generated from
// proto/wire/tensorflow.proto by proto/generate-wire.mjs; do not edit.

export const DATA_TYPE = {
  DT_INVALID: 0,
  DT_FLOAT: 1,
  DT_DOUBLE: 2,
  DT_INT32: 3,
  DT_UINT8: 4,
  DT_INT16: 5,
  DT_INT8: 6,
  DT_STRING: 7,
  DT_COMPLEX64: 8,
  DT_INT64: 9,
  DT_BOOL: 10,
  DT_QINT8: 11,
  DT_QUINT8: 12,
  DT_QINT32: 13,
  DT_BFLOAT16: 14,
  DT_QINT16: 15,
  DT_QUINT16: 16,
  DT_UINT16: 17,
  DT_COMPLEX128: 18,
  DT_HALF: 19,
  DT_RESOURCE: 20,
  DT_VARIANT: 21,
  DT_UINT32: 22,
  DT_UINT64: 23,
  DT_FLOAT8_E5M2: 24,
  DT_FLOAT8_E4M3FN: 25,
  DT_FLOAT8_E4M3FNUZ: 26,
  DT_FLOAT8_E4M3B11FNUZ: 27,
  DT_FLOAT8_E5M2FNUZ: 28,
  DT_INT4: 29,
  DT_UINT4: 30,
  DT_INT2: 31,
  DT_UINT2: 32,
  DT_FLOAT_REF: 101,
  DT_DOUBLE_REF: 102,
  DT_INT32_REF: 103,
  DT_UINT8_REF: 104,
  DT_INT16_REF: 105,
  DT_INT8_REF: 106,
  DT_STRING_REF: 107,
  DT_COMPLEX64_REF: 108,
  DT_INT64_REF: 109,
  DT_BOOL_REF: 110,
  DT_QINT8_REF: 111,
  DT_QUINT8_REF: 112,
  DT_QINT32_REF: 113,
  DT_BFLOAT16_REF: 114,
  DT_QINT16_REF: 115,
  DT_QUINT16_REF: 116,
  DT_UINT16_REF: 117,
  DT_COMPLEX128_REF: 118,
  DT_HALF_REF: 119,
  DT_RESOURCE_REF: 120,
  DT_VARIANT_REF: 121,
  DT_UINT32_REF: 122,
  DT_UINT64_REF: 123,
  DT_FLOAT8_E5M2_REF: 124,
  DT_FLOAT8_E4M3FN_REF: 125,
  DT_FLOAT8_E4M3FNUZ_REF: 126,
  DT_FLOAT8_E4M3B11FNUZ_REF: 127,
  DT_FLOAT8_E5M2FNUZ_REF: 128,
  DT_INT4_REF: 129,
  DT_UINT4_REF: 130,
  DT_INT2_REF: 131,
  DT_UINT2_REF: 132,
} as const;

export const TENSOR_SHAPE_PROTO = {
  dim: 2,
  unknownRank: 3,
} as const;
export const TENSOR_SHAPE_PROTO_DIM = {
  size: 1,
  name: 2,
} as const;

export const TENSOR_PROTO = {
  dtype: 1,
  tensorShape: 2,
  versionNumber: 3,
  tensorContent: 4,
  floatVal: 5,
  doubleVal: 6,
  intVal: 7,
  stringVal: 8,
  scomplexVal: 9,
  int64Val: 10,
  boolVal: 11,
  dcomplexVal: 12,
  halfVal: 13,
  resourceHandleVal: 14,
  variantVal: 15,
  uint32Val: 16,
  uint64Val: 17,
  float8Val: 18,
} as const;

export const NAMED_TENSOR_PROTO = {
  name: 1,
  tensor: 2,
} as const;

export const BYTES_LIST = {
  value: 1,
} as const;

export const FLOAT_LIST = {
  value: 1,
} as const;

export const INT64_LIST = {
  value: 1,
} as const;

export const FEATURE = {
  bytesList: 1,
  floatList: 2,
  int64List: 3,
} as const;

export const FEATURES = {
  feature: 1,
} as const;

export const EXAMPLE = {
  features: 1,
} as const;

export const TENSOR_INFO = {
  name: 1,
  cooSparse: 4,
  compositeTensor: 5,
  dtype: 2,
  tensorShape: 3,
} as const;
export const TENSOR_INFO_COO_SPARSE = {
  valuesTensorName: 1,
  indicesTensorName: 2,
  denseShapeTensorName: 3,
} as const;
export const TENSOR_INFO_COMPOSITE_TENSOR = {
  typeSpec: 1,
  components: 2,
} as const;

export const SIGNATURE_DEF = {
  inputs: 1,
  outputs: 2,
  methodName: 3,
  defaults: 4,
} as const;

export const RUN_OPTIONS = {
  timeoutInMs: 2,
} as const;
