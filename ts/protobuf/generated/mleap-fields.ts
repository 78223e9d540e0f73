// Field numbers and enum values. Data only; any thread. Generated from
// proto/wire/files/mleap.proto by proto/generate-wire.mjs; do not edit.

export const MODEL = {
  op: 1,
  attributes: 2,
} as const;

export const ATTRIBUTES = {
  list: 1,
} as const;

export const VALUE = {
  scalar: 1,
  list: 2,
  tensor: 3,
} as const;

export const SCALAR = {
  boolean: 1,
  string: 2,
  int: 3,
  long: 4,
  float: 5,
  double: 6,
  tensor: 8,
  basicType: 9,
  dataShape: 10,
  model: 11,
} as const;

export const TENSOR = {
  base: 1,
  shape: 2,
  value: 3,
} as const;

export const TENSOR_SHAPE = {
  dimensions: 1,
} as const;
export const TENSOR_SHAPE_TENSOR_DIMENSION = {
  size: 1,
} as const;

export const DATA_SHAPE = {
  base: 1,
  isNullable: 2,
  tensorShape: 3,
} as const;

export const NODE = {
  name: 1,
  shape: 2,
} as const;

export const NODE_SHAPE = {
  inputs: 1,
  outputs: 2,
} as const;

export const SOCKET = {
  port: 1,
  name: 2,
} as const;

export const TREE_NODE = {
  internal: 1,
  leaf: 2,
} as const;
export const TREE_NODE_INTERNAL = {
  split: 1,
} as const;
export const TREE_NODE_LEAF = {
  values: 1,
} as const;

export const SPLIT = {
  categorical: 1,
  continuous: 2,
} as const;
export const SPLIT_CATEGORICAL = {
  featureIndex: 1,
  isLeft: 2,
  numCategories: 3,
  categories: 4,
} as const;
export const SPLIT_CONTINUOUS = {
  featureIndex: 1,
  threshold: 2,
} as const;

export const CLUSTER_NODE = {
  index: 1,
  values: 3,
  numChildren: 4,
} as const;
