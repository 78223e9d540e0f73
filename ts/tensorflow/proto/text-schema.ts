// Names, numbers and types of the fields that TensorFlow's text forms may hold. Importer's worker
// thread; pure. Messages that are not read here are opaque: their inside is not looked at.
// Source: tensorflow/core/framework and protobuf; contrib/session_bundle/manifest.proto.
import { dtypeEnum } from './dtypes.js';

export type TextScalar =
  | 'int32'
  | 'int64'
  | 'uint32'
  | 'uint64'
  | 'float'
  | 'double'
  | 'bool'
  | 'string'
  | 'bytes';

export type TextFieldType =
  | { readonly kind: 'scalar'; readonly scalar: TextScalar }
  | { readonly kind: 'enum'; readonly values: Readonly<Record<string, number>> }
  /** Late, because messages hold each other. */
  | { readonly kind: 'message'; readonly schema: () => TextSchema }
  | { readonly kind: 'opaque' };

export interface TextSchema {
  readonly name: string;
  readonly fields: Readonly<Record<string, readonly [number: number, type: TextFieldType]>>;
}

const of = (scalar: TextScalar): TextFieldType => ({ kind: 'scalar', scalar });
const STRING = of('string');
const BYTES = of('bytes');
const INT32 = of('int32');
const INT64 = of('int64');
const FLOAT = of('float');
const DOUBLE = of('double');
const BOOL = of('bool');
const OPAQUE: TextFieldType = { kind: 'opaque' };
const TYPE: TextFieldType = { kind: 'enum', values: dtypeEnum() };

const to = (schema: () => TextSchema): TextFieldType => ({ kind: 'message', schema });

const map = (name: string, value: TextFieldType): TextFieldType => {
  const entry: TextSchema = { name, fields: { key: [1, STRING], value: [2, value] } };
  return to(() => entry);
};

const SHAPE: TextSchema = {
  name: 'TensorShapeProto',
  fields: {
    dim: [
      2,
      to(() => ({
        name: 'TensorShapeProto.Dim',
        fields: { size: [1, INT64], name: [2, STRING] },
      })),
    ],
    unknown_rank: [3, BOOL],
  },
};

const TENSOR: TextSchema = {
  name: 'TensorProto',
  fields: {
    dtype: [1, TYPE],
    tensor_shape: [2, to(() => SHAPE)],
    version_number: [3, INT32],
    tensor_content: [4, BYTES],
    float_val: [5, FLOAT],
    double_val: [6, DOUBLE],
    int_val: [7, INT32],
    string_val: [8, BYTES],
    scomplex_val: [9, FLOAT],
    int64_val: [10, INT64],
    bool_val: [11, BOOL],
    dcomplex_val: [12, DOUBLE],
    half_val: [13, INT32],
    resource_handle_val: [14, OPAQUE],
    variant_val: [15, OPAQUE],
    uint32_val: [16, of('uint32')],
    uint64_val: [17, of('uint64')],
    float8_val: [18, BYTES],
  },
};

const FUNCTION_NAME: TextSchema = {
  name: 'NameAttrList',
  fields: {
    name: [1, STRING],
    attr: [
      2,
      map(
        'NameAttrList.AttrEntry',
        to(() => ATTRIBUTE),
      ),
    ],
  },
};

const LIST: TextSchema = {
  name: 'AttrValue.ListValue',
  fields: {
    s: [2, BYTES],
    i: [3, INT64],
    f: [4, FLOAT],
    b: [5, BOOL],
    type: [6, TYPE],
    shape: [7, to(() => SHAPE)],
    tensor: [8, to(() => TENSOR)],
    func: [9, to(() => FUNCTION_NAME)],
  },
};

const ATTRIBUTE: TextSchema = {
  name: 'AttrValue',
  fields: {
    list: [1, to(() => LIST)],
    s: [2, BYTES],
    i: [3, INT64],
    f: [4, FLOAT],
    b: [5, BOOL],
    type: [6, TYPE],
    shape: [7, to(() => SHAPE)],
    tensor: [8, to(() => TENSOR)],
    placeholder: [9, STRING],
    func: [10, to(() => FUNCTION_NAME)],
  },
};

const NODE: TextSchema = {
  name: 'NodeDef',
  fields: {
    name: [1, STRING],
    op: [2, STRING],
    input: [3, STRING],
    device: [4, STRING],
    attr: [
      5,
      map(
        'NodeDef.AttrEntry',
        to(() => ATTRIBUTE),
      ),
    ],
    experimental_debug_info: [6, OPAQUE],
    experimental_type: [7, OPAQUE],
  },
};

const ARGUMENT: TextSchema = {
  name: 'OpDef.ArgDef',
  fields: {
    name: [1, STRING],
    description: [2, STRING],
    type: [3, TYPE],
    type_attr: [4, STRING],
    number_attr: [5, STRING],
    type_list_attr: [6, STRING],
    handle_data: [7, OPAQUE],
    is_ref: [16, BOOL],
    experimental_full_type: [17, OPAQUE],
  },
};

const OP: TextSchema = {
  name: 'OpDef',
  fields: {
    name: [1, STRING],
    input_arg: [2, to(() => ARGUMENT)],
    output_arg: [3, to(() => ARGUMENT)],
    attr: [
      4,
      to(() => ({
        name: 'OpDef.AttrDef',
        fields: {
          name: [1, STRING],
          type: [2, STRING],
          default_value: [3, to(() => ATTRIBUTE)],
          description: [4, STRING],
          has_minimum: [5, BOOL],
          minimum: [6, INT64],
          allowed_values: [7, to(() => ATTRIBUTE)],
        },
      })),
    ],
    summary: [5, STRING],
    description: [6, STRING],
    deprecation: [8, OPAQUE],
    is_aggregate: [16, BOOL],
    is_stateful: [17, BOOL],
    is_commutative: [18, BOOL],
    allows_uninitialized_input: [19, BOOL],
    control_output: [20, STRING],
    is_distributed_communication: [21, BOOL],
  },
};

const FUNCTION: TextSchema = {
  name: 'FunctionDef',
  fields: {
    signature: [1, to(() => OP)],
    node_def: [3, to(() => NODE)],
    ret: [4, map('FunctionDef.RetEntry', STRING)],
    attr: [
      5,
      map(
        'FunctionDef.AttrEntry',
        to(() => ATTRIBUTE),
      ),
    ],
    control_ret: [6, map('FunctionDef.ControlRetEntry', STRING)],
    arg_attr: [7, OPAQUE],
    resource_arg_unique_id: [8, OPAQUE],
  },
};

export const GRAPH_DEF: TextSchema = {
  name: 'GraphDef',
  fields: {
    node: [1, to(() => NODE)],
    library: [
      2,
      to(() => ({
        name: 'FunctionDefLibrary',
        fields: {
          function: [1, to(() => FUNCTION)],
          gradient: [2, OPAQUE],
          registered_gradients: [3, OPAQUE],
        },
      })),
    ],
    version: [3, INT32],
    versions: [
      4,
      to(() => ({
        name: 'VersionDef',
        fields: { producer: [1, INT32], min_consumer: [2, INT32], bad_consumers: [3, INT32] },
      })),
    ],
    debug_info: [5, OPAQUE],
  },
};

const TENSOR_INFO: TextSchema = {
  name: 'TensorInfo',
  fields: {
    name: [1, STRING],
    dtype: [2, TYPE],
    tensor_shape: [3, to(() => SHAPE)],
    coo_sparse: [
      4,
      to(() => ({
        name: 'TensorInfo.CooSparse',
        fields: {
          values_tensor_name: [1, STRING],
          indices_tensor_name: [2, STRING],
          dense_shape_tensor_name: [3, STRING],
        },
      })),
    ],
    composite_tensor: [
      5,
      to(() => ({
        name: 'TensorInfo.CompositeTensor',
        fields: { type_spec: [1, OPAQUE], components: [2, to(() => TENSOR_INFO)] },
      })),
    ],
  },
};

const SIGNATURE: TextSchema = {
  name: 'SignatureDef',
  fields: {
    inputs: [
      1,
      map(
        'SignatureDef.InputsEntry',
        to(() => TENSOR_INFO),
      ),
    ],
    outputs: [
      2,
      map(
        'SignatureDef.OutputsEntry',
        to(() => TENSOR_INFO),
      ),
    ],
    method_name: [3, STRING],
    defaults: [
      4,
      map(
        'SignatureDef.DefaultsEntry',
        to(() => TENSOR),
      ),
    ],
  },
};

const ASSET_FILE_DEF: TextSchema = {
  name: 'AssetFileDef',
  fields: { tensor_info: [1, to(() => TENSOR_INFO)], filename: [2, STRING] },
};

const ANY: TextSchema = {
  name: 'google.protobuf.Any',
  fields: { type_url: [1, STRING], value: [2, BYTES] },
};

const listOf = (name: string, value: TextFieldType): TextFieldType =>
  to(() => ({ name: `CollectionDef.${name}`, fields: { value: [1, value] } }));

const COLLECTION: TextSchema = {
  name: 'CollectionDef',
  fields: {
    node_list: [1, listOf('NodeList', STRING)],
    bytes_list: [2, listOf('BytesList', BYTES)],
    int64_list: [3, listOf('Int64List', INT64)],
    float_list: [4, listOf('FloatList', FLOAT)],
    any_list: [
      5,
      listOf(
        'AnyList',
        to(() => ANY),
      ),
    ],
  },
};

const META_INFO: TextSchema = {
  name: 'MetaInfoDef',
  fields: {
    meta_graph_version: [1, STRING],
    stripped_op_list: [2, to(() => ({ name: 'OpList', fields: { op: [1, to(() => OP)] } }))],
    any_info: [3, to(() => ANY)],
    tags: [4, STRING],
    tensorflow_version: [5, STRING],
    tensorflow_git_version: [6, STRING],
    stripped_default_attrs: [7, BOOL],
    function_aliases: [8, OPAQUE],
  },
};

export const META_GRAPH_DEF: TextSchema = {
  name: 'MetaGraphDef',
  fields: {
    meta_info_def: [1, to(() => META_INFO)],
    graph_def: [2, to(() => GRAPH_DEF)],
    saver_def: [
      3,
      to(() => ({
        name: 'SaverDef',
        fields: {
          filename_tensor_name: [1, STRING],
          save_tensor_name: [2, STRING],
          restore_op_name: [3, STRING],
          max_to_keep: [4, INT32],
          sharded: [5, BOOL],
          keep_checkpoint_every_n_hours: [6, FLOAT],
          version: [7, { kind: 'enum', values: { LEGACY: 0, V1: 1, V2: 2 } }],
        },
      })),
    ],
    collection_def: [
      4,
      map(
        'MetaGraphDef.CollectionDefEntry',
        to(() => COLLECTION),
      ),
    ],
    signature_def: [
      5,
      map(
        'MetaGraphDef.SignatureDefEntry',
        to(() => SIGNATURE),
      ),
    ],
    asset_file_def: [6, to(() => ASSET_FILE_DEF)],
    object_graph_def: [7, OPAQUE],
  },
};

export const SAVED_MODEL: TextSchema = {
  name: 'SavedModel',
  fields: {
    saved_model_schema_version: [1, INT64],
    meta_graphs: [2, to(() => META_GRAPH_DEF)],
  },
};

const BINDING: TextSchema = { name: 'TensorBinding', fields: { tensor_name: [1, STRING] } };
const TO_BINDING = to(() => BINDING);

const MANIFEST_SIGNATURE: TextSchema = {
  name: 'tensorflow.serving.Signature',
  fields: {
    regression_signature: [
      1,
      to(() => ({
        name: 'RegressionSignature',
        fields: { input: [1, TO_BINDING], output: [2, TO_BINDING] },
      })),
    ],
    classification_signature: [
      2,
      to(() => ({
        name: 'ClassificationSignature',
        fields: { input: [1, TO_BINDING], classes: [2, TO_BINDING], scores: [3, TO_BINDING] },
      })),
    ],
    generic_signature: [
      3,
      to(() => ({
        name: 'GenericSignature',
        fields: { map: [1, map('GenericSignature.MapEntry', TO_BINDING)] },
      })),
    ],
  },
};

/** Messages that an expanded Any may hold here. */
export const ANY_MESSAGES: ReadonlyMap<string, TextSchema> = new Map([
  ['tensorflow.GraphDef', GRAPH_DEF],
  ['tensorflow.AssetFileDef', ASSET_FILE_DEF],
  [
    'tensorflow.serving.Signatures',
    {
      name: 'tensorflow.serving.Signatures',
      fields: {
        default_signature: [1, to(() => MANIFEST_SIGNATURE)],
        named_signatures: [
          2,
          map(
            'NamedSignaturesEntry',
            to(() => MANIFEST_SIGNATURE),
          ),
        ],
      },
    } satisfies TextSchema,
  ],
  [
    'tensorflow.serving.AssetFile',
    {
      name: 'tensorflow.serving.AssetFile',
      fields: { tensor_binding: [1, TO_BINDING], filename: [2, STRING] },
    } satisfies TextSchema,
  ],
]);
