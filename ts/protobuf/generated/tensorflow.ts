// Generated from proto/wire/tensorflow.proto by proto/generate-wire.mjs; do not edit.
import { OPAQUE, choice, many, map, message, one, oneOf } from '../schema.js';
import type { MessageSchema } from '../schema.js';

export const DATA_TYPE = choice({
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
});

export const TENSOR_SHAPE_PROTO: MessageSchema = message('TensorShapeProto', () => ({
  dim: many(2, TENSOR_SHAPE_PROTO_DIM),
  unknown_rank: one(3, 'bool'),
}));

const TENSOR_SHAPE_PROTO_DIM: MessageSchema = message('TensorShapeProto.Dim', () => ({
  size: one(1, 'int64'),
  name: one(2, 'string'),
}));

export const TENSOR_PROTO: MessageSchema = message('TensorProto', () => ({
  dtype: one(1, DATA_TYPE),
  tensor_shape: one(2, TENSOR_SHAPE_PROTO),
  version_number: one(3, 'int32'),
  tensor_content: one(4, 'bytes'),
  float_val: many(5, 'float'),
  double_val: many(6, 'double'),
  int_val: many(7, 'int32'),
  string_val: many(8, 'bytes'),
  scomplex_val: many(9, 'float'),
  int64_val: many(10, 'int64'),
  bool_val: many(11, 'bool'),
  dcomplex_val: many(12, 'double'),
  half_val: many(13, 'int32'),
  resource_handle_val: many(14, OPAQUE),
  variant_val: many(15, OPAQUE),
  uint32_val: many(16, 'uint32'),
  uint64_val: many(17, 'uint64'),
  float8_val: one(18, 'bytes'),
}));

export const SIGNATURE_DEF: MessageSchema = message('SignatureDef', () => ({
  inputs: map(1, 'string', TENSOR_INFO),
  outputs: map(2, 'string', TENSOR_INFO),
  method_name: one(3, 'string'),
  defaults: map(4, 'string', TENSOR_PROTO),
}));

export const TENSOR_INFO: MessageSchema = message('TensorInfo', () => ({
  name: oneOf('encoding', 1, 'string'),
  coo_sparse: oneOf('encoding', 4, TENSOR_INFO_COO_SPARSE),
  composite_tensor: oneOf('encoding', 5, TENSOR_INFO_COMPOSITE_TENSOR),
  dtype: one(2, DATA_TYPE),
  tensor_shape: one(3, TENSOR_SHAPE_PROTO),
}));

const TENSOR_INFO_COO_SPARSE: MessageSchema = message('TensorInfo.CooSparse', () => ({
  values_tensor_name: one(1, 'string'),
  indices_tensor_name: one(2, 'string'),
  dense_shape_tensor_name: one(3, 'string'),
}));

const TENSOR_INFO_COMPOSITE_TENSOR: MessageSchema = message('TensorInfo.CompositeTensor', () => ({
  type_spec: one(1, OPAQUE),
  components: many(2, TENSOR_INFO),
}));
