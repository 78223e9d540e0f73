// Field numbers and enum values. Data only; any thread. Generated from
// proto/wire/onnx.proto by proto/generate-wire.mjs; do not edit.

export const ATTRIBUTE_PROTO = {
  name: 1,
  f: 2,
  i: 3,
  s: 4,
  t: 5,
  g: 6,
  floats: 7,
  ints: 8,
  strings: 9,
  tensors: 10,
  graphs: 11,
  docString: 13,
  tp: 14,
  typeProtos: 15,
  type: 20,
  refAttrName: 21,
  sparseTensor: 22,
  sparseTensors: 23,
} as const;
export const ATTRIBUTE_PROTO_ATTRIBUTE_TYPE = {
  UNDEFINED: 0,
  FLOAT: 1,
  INT: 2,
  STRING: 3,
  TENSOR: 4,
  GRAPH: 5,
  FLOATS: 6,
  INTS: 7,
  STRINGS: 8,
  TENSORS: 9,
  GRAPHS: 10,
  SPARSE_TENSOR: 11,
  SPARSE_TENSORS: 12,
  TYPE_PROTO: 13,
  TYPE_PROTOS: 14,
} as const;

export const VALUE_INFO_PROTO = {
  name: 1,
  type: 2,
  docString: 3,
  metadataProps: 4,
} as const;

export const NODE_PROTO = {
  input: 1,
  output: 2,
  name: 3,
  opType: 4,
  attribute: 5,
  docString: 6,
  domain: 7,
  overload: 8,
  metadataProps: 9,
} as const;

export const MODEL_PROTO = {
  irVersion: 1,
  producerName: 2,
  producerVersion: 3,
  domain: 4,
  modelVersion: 5,
  docString: 6,
  graph: 7,
  opsetImport: 8,
  metadataProps: 14,
  functions: 25,
} as const;

export const STRING_STRING_ENTRY_PROTO = {
  key: 1,
  value: 2,
} as const;

export const GRAPH_PROTO = {
  node: 1,
  name: 2,
  initializer: 5,
  docString: 10,
  input: 11,
  output: 12,
  valueInfo: 13,
  sparseInitializer: 15,
  metadataProps: 16,
} as const;

export const TENSOR_PROTO = {
  dims: 1,
  dataType: 2,
  floatData: 4,
  int32Data: 5,
  stringData: 6,
  int64Data: 7,
  name: 8,
  rawData: 9,
  doubleData: 10,
  uint64Data: 11,
  docString: 12,
  externalData: 13,
  dataLocation: 14,
  metadataProps: 16,
} as const;
export const TENSOR_PROTO_DATA_TYPE = {
  UNDEFINED: 0,
  FLOAT: 1,
  UINT8: 2,
  INT8: 3,
  UINT16: 4,
  INT16: 5,
  INT32: 6,
  INT64: 7,
  STRING: 8,
  BOOL: 9,
  FLOAT16: 10,
  DOUBLE: 11,
  UINT32: 12,
  UINT64: 13,
  COMPLEX64: 14,
  COMPLEX128: 15,
  BFLOAT16: 16,
} as const;
export const TENSOR_PROTO_DATA_LOCATION = {
  DEFAULT: 0,
  EXTERNAL: 1,
} as const;

export const SPARSE_TENSOR_PROTO = {
  values: 1,
  indices: 2,
  dims: 3,
} as const;

export const TENSOR_SHAPE_PROTO = {
  dim: 1,
} as const;
export const TENSOR_SHAPE_PROTO_DIMENSION = {
  dimValue: 1,
  dimParam: 2,
  denotation: 3,
} as const;

export const TYPE_PROTO = {
  tensorType: 1,
  sequenceType: 4,
  mapType: 5,
  sparseTensorType: 8,
  optionalType: 9,
  denotation: 6,
} as const;
export const TYPE_PROTO_TENSOR = {
  elemType: 1,
  shape: 2,
} as const;
export const TYPE_PROTO_SEQUENCE = {
  elemType: 1,
} as const;
export const TYPE_PROTO_MAP = {
  keyType: 1,
  valueType: 2,
} as const;
export const TYPE_PROTO_OPTIONAL = {
  elemType: 1,
} as const;
export const TYPE_PROTO_SPARSE_TENSOR = {
  elemType: 1,
  shape: 2,
} as const;

export const OPERATOR_SET_ID_PROTO = {
  domain: 1,
  version: 2,
} as const;

export const FUNCTION_PROTO = {
  name: 1,
  input: 4,
  output: 5,
  attribute: 6,
  node: 7,
  docString: 8,
  opsetImport: 9,
  domain: 10,
  attributeProto: 11,
  valueInfo: 12,
  overload: 13,
  metadataProps: 14,
} as const;
