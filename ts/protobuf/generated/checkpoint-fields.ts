// Field numbers and enum values. Data only; any thread. Generated from
// proto/wire/files/checkpoint.proto by proto/generate-wire.mjs; do not edit.

export const BUNDLE_HEADER_PROTO = {
  numShards: 1,
  endianness: 2,
  version: 3,
} as const;
export const BUNDLE_HEADER_PROTO_ENDIANNESS = {
  LITTLE: 0,
  BIG: 1,
} as const;

export const BUNDLE_ENTRY_PROTO = {
  dtype: 1,
  shape: 2,
  shardId: 3,
  offset: 4,
  size: 5,
  crc32c: 6,
  slices: 7,
} as const;

export const TENSOR_SLICE_PROTO = {
  extent: 1,
} as const;
export const TENSOR_SLICE_PROTO_EXTENT = {
  start: 1,
  length: 2,
} as const;

export const SAVED_SLICE_META = {
  name: 1,
  shape: 2,
  type: 3,
  slice: 4,
} as const;

export const SAVED_TENSOR_SLICE_META = {
  tensor: 1,
  versions: 2,
} as const;

export const SAVED_SLICE = {
  name: 1,
  slice: 2,
  data: 3,
} as const;

export const SAVED_TENSOR_SLICES = {
  meta: 1,
  data: 2,
} as const;

export const TRACKABLE_OBJECT_GRAPH = {
  nodes: 1,
} as const;
export const TRACKABLE_OBJECT_GRAPH_TRACKABLE_OBJECT = {
  children: 1,
  attributes: 2,
} as const;
export const TRACKABLE_OBJECT_GRAPH_TRACKABLE_OBJECT_OBJECT_REFERENCE = {
  nodeId: 1,
  localName: 2,
} as const;
export const TRACKABLE_OBJECT_GRAPH_TRACKABLE_OBJECT_SERIALIZED_TENSOR = {
  name: 1,
  fullName: 2,
  checkpointKey: 3,
} as const;
