// Generated from proto/wire/tensorflow_graph.proto by proto/generate-wire.mjs; do not edit.
import { OPAQUE, choice, many, map, message, one, oneOf } from '../schema.js';
import type { MessageSchema } from '../schema.js';
import { ANY } from './any.js';
import { DATA_TYPE, SIGNATURE_DEF, TENSOR_INFO, TENSOR_PROTO, TENSOR_SHAPE_PROTO } from './tensorflow.js';

export const GRAPH_DEF: MessageSchema = message('GraphDef', () => ({
  node: many(1, NODE_DEF),
  library: one(2, FUNCTION_DEF_LIBRARY),
  version: one(3, 'int32'),
  versions: one(4, VERSION_DEF),
  debug_info: one(5, OPAQUE),
}));

const NODE_DEF: MessageSchema = message('NodeDef', () => ({
  name: one(1, 'string'),
  op: one(2, 'string'),
  input: many(3, 'string'),
  device: one(4, 'string'),
  attr: map(5, 'string', ATTR_VALUE),
  experimental_debug_info: one(6, OPAQUE),
  experimental_type: one(7, OPAQUE),
}));

const ATTR_VALUE: MessageSchema = message('AttrValue', () => ({
  list: oneOf('value', 1, ATTR_VALUE_LIST_VALUE),
  s: oneOf('value', 2, 'bytes'),
  i: oneOf('value', 3, 'int64'),
  f: oneOf('value', 4, 'float'),
  b: oneOf('value', 5, 'bool'),
  type: oneOf('value', 6, DATA_TYPE),
  shape: oneOf('value', 7, TENSOR_SHAPE_PROTO),
  tensor: oneOf('value', 8, TENSOR_PROTO),
  placeholder: oneOf('value', 9, 'string'),
  func: oneOf('value', 10, NAME_ATTR_LIST),
}));

const ATTR_VALUE_LIST_VALUE: MessageSchema = message('AttrValue.ListValue', () => ({
  s: many(2, 'bytes'),
  i: many(3, 'int64'),
  f: many(4, 'float'),
  b: many(5, 'bool'),
  type: many(6, DATA_TYPE),
  shape: many(7, TENSOR_SHAPE_PROTO),
  tensor: many(8, TENSOR_PROTO),
  func: many(9, NAME_ATTR_LIST),
}));

const NAME_ATTR_LIST: MessageSchema = message('NameAttrList', () => ({
  name: one(1, 'string'),
  attr: map(2, 'string', ATTR_VALUE),
}));

const FUNCTION_DEF_LIBRARY: MessageSchema = message('FunctionDefLibrary', () => ({
  function: many(1, FUNCTION_DEF),
  gradient: many(2, OPAQUE),
  registered_gradients: many(3, OPAQUE),
}));

const FUNCTION_DEF: MessageSchema = message('FunctionDef', () => ({
  signature: one(1, OP_DEF),
  node_def: many(3, NODE_DEF),
  ret: map(4, 'string', 'string'),
  attr: map(5, 'string', ATTR_VALUE),
  control_ret: map(6, 'string', 'string'),
  arg_attr: many(7, OPAQUE),
  resource_arg_unique_id: many(8, OPAQUE),
}));

const OP_DEF: MessageSchema = message('OpDef', () => ({
  name: one(1, 'string'),
  input_arg: many(2, OP_DEF_ARG_DEF),
  output_arg: many(3, OP_DEF_ARG_DEF),
  attr: many(4, OP_DEF_ATTR_DEF),
  summary: one(5, 'string'),
  description: one(6, 'string'),
  deprecation: one(8, OPAQUE),
  is_aggregate: one(16, 'bool'),
  is_stateful: one(17, 'bool'),
  is_commutative: one(18, 'bool'),
  allows_uninitialized_input: one(19, 'bool'),
  control_output: many(20, 'string'),
  is_distributed_communication: one(21, 'bool'),
}));

const OP_DEF_ARG_DEF: MessageSchema = message('OpDef.ArgDef', () => ({
  name: one(1, 'string'),
  description: one(2, 'string'),
  type: one(3, DATA_TYPE),
  type_attr: one(4, 'string'),
  number_attr: one(5, 'string'),
  type_list_attr: one(6, 'string'),
  handle_data: many(7, OPAQUE),
  is_ref: one(16, 'bool'),
  experimental_full_type: one(17, OPAQUE),
}));

const OP_DEF_ATTR_DEF: MessageSchema = message('OpDef.AttrDef', () => ({
  name: one(1, 'string'),
  type: one(2, 'string'),
  default_value: one(3, ATTR_VALUE),
  description: one(4, 'string'),
  has_minimum: one(5, 'bool'),
  minimum: one(6, 'int64'),
  allowed_values: one(7, ATTR_VALUE),
}));

const VERSION_DEF: MessageSchema = message('VersionDef', () => ({
  producer: one(1, 'int32'),
  min_consumer: one(2, 'int32'),
  bad_consumers: many(3, 'int32'),
}));

export const META_GRAPH_DEF: MessageSchema = message('MetaGraphDef', () => ({
  meta_info_def: one(1, META_GRAPH_DEF_META_INFO_DEF),
  graph_def: one(2, GRAPH_DEF),
  saver_def: one(3, SAVER_DEF),
  collection_def: map(4, 'string', COLLECTION_DEF),
  signature_def: map(5, 'string', SIGNATURE_DEF),
  asset_file_def: many(6, ASSET_FILE_DEF),
  object_graph_def: one(7, SAVED_OBJECT_GRAPH),
}));

const META_GRAPH_DEF_META_INFO_DEF: MessageSchema = message('MetaGraphDef.MetaInfoDef', () => ({
  meta_graph_version: one(1, 'string'),
  stripped_op_list: one(2, OP_LIST),
  any_info: one(3, ANY),
  tags: many(4, 'string'),
  tensorflow_version: one(5, 'string'),
  tensorflow_git_version: one(6, 'string'),
  stripped_default_attrs: one(7, 'bool'),
  function_aliases: many(8, OPAQUE),
}));

const OP_LIST: MessageSchema = message('OpList', () => ({
  op: many(1, OP_DEF),
}));

const SAVER_DEF: MessageSchema = message('SaverDef', () => ({
  filename_tensor_name: one(1, 'string'),
  save_tensor_name: one(2, 'string'),
  restore_op_name: one(3, 'string'),
  max_to_keep: one(4, 'int32'),
  sharded: one(5, 'bool'),
  keep_checkpoint_every_n_hours: one(6, 'float'),
  version: one(7, SAVER_DEF_CHECKPOINT_FORMAT_VERSION),
}));

const SAVER_DEF_CHECKPOINT_FORMAT_VERSION = choice({
  LEGACY: 0,
  V1: 1,
  V2: 2,
});

const COLLECTION_DEF: MessageSchema = message('CollectionDef', () => ({
  node_list: oneOf('kind', 1, COLLECTION_DEF_NODE_LIST),
  bytes_list: oneOf('kind', 2, COLLECTION_DEF_BYTES_LIST),
  int64_list: oneOf('kind', 3, COLLECTION_DEF_INT64_LIST),
  float_list: oneOf('kind', 4, COLLECTION_DEF_FLOAT_LIST),
  any_list: oneOf('kind', 5, COLLECTION_DEF_ANY_LIST),
}));

const COLLECTION_DEF_NODE_LIST: MessageSchema = message('CollectionDef.NodeList', () => ({
  value: many(1, 'string'),
}));

const COLLECTION_DEF_BYTES_LIST: MessageSchema = message('CollectionDef.BytesList', () => ({
  value: many(1, 'bytes'),
}));

const COLLECTION_DEF_INT64_LIST: MessageSchema = message('CollectionDef.Int64List', () => ({
  value: many(1, 'int64'),
}));

const COLLECTION_DEF_FLOAT_LIST: MessageSchema = message('CollectionDef.FloatList', () => ({
  value: many(1, 'float'),
}));

const COLLECTION_DEF_ANY_LIST: MessageSchema = message('CollectionDef.AnyList', () => ({
  value: many(1, ANY),
}));

export const ASSET_FILE_DEF: MessageSchema = message('AssetFileDef', () => ({
  tensor_info: one(1, TENSOR_INFO),
  filename: one(2, 'string'),
}));

const SAVED_OBJECT_GRAPH: MessageSchema = message('SavedObjectGraph', () => ({
  nodes: many(1, SAVED_OBJECT),
  concrete_functions: map(2, 'string', SAVED_CONCRETE_FUNCTION),
}));

const SAVED_OBJECT: MessageSchema = message('SavedObject', () => ({
  children: many(1, SAVED_OBJECT_OBJECT_REFERENCE),
  slot_variables: many(3, OPAQUE),
  user_object: one(4, OPAQUE),
  asset: one(5, OPAQUE),
  function: one(6, OPAQUE),
  variable: one(7, OPAQUE),
  bare_concrete_function: one(8, OPAQUE),
  constant: one(9, OPAQUE),
  resource: one(10, OPAQUE),
  saveable_objects: many(11, OPAQUE),
  captured_tensor: one(12, OPAQUE),
  registered_name: one(13, 'string'),
  serialized_user_proto: one(14, OPAQUE),
  dependencies: many(15, OPAQUE),
  registered_saver: one(16, 'string'),
}));

const SAVED_OBJECT_OBJECT_REFERENCE: MessageSchema = message('SavedObject.ObjectReference', () => ({
  node_id: one(1, 'int32'),
  local_name: one(2, 'string'),
}));

const SAVED_CONCRETE_FUNCTION: MessageSchema = message('SavedConcreteFunction', () => ({
  bound_inputs: many(2, 'int32'),
  canonicalized_input_signature: one(3, OPAQUE),
  output_signature: one(4, OPAQUE),
}));

export const SAVED_MODEL: MessageSchema = message('SavedModel', () => ({
  saved_model_schema_version: one(1, 'int64'),
  meta_graphs: many(2, META_GRAPH_DEF),
}));
