// Field numbers and enum values. Data only; any thread. Generated from
// proto/wire/tensorflow_graph.proto by proto/generate-wire.mjs; do not edit.

export const NAME_ATTR_LIST = {
  name: 1,
  attr: 2,
} as const;

export const ATTR_VALUE = {
  list: 1,
  s: 2,
  i: 3,
  f: 4,
  b: 5,
  type: 6,
  shape: 7,
  tensor: 8,
  placeholder: 9,
  func: 10,
} as const;
export const ATTR_VALUE_LIST_VALUE = {
  s: 2,
  i: 3,
  f: 4,
  b: 5,
  type: 6,
  shape: 7,
  tensor: 8,
  func: 9,
} as const;

export const NODE_DEF = {
  name: 1,
  op: 2,
  input: 3,
  device: 4,
  attr: 5,
  experimentalDebugInfo: 6,
  experimentalType: 7,
} as const;

export const OP_DEF = {
  name: 1,
  inputArg: 2,
  outputArg: 3,
  attr: 4,
  summary: 5,
  description: 6,
  deprecation: 8,
  isAggregate: 16,
  isStateful: 17,
  isCommutative: 18,
  allowsUninitializedInput: 19,
  controlOutput: 20,
  isDistributedCommunication: 21,
} as const;
export const OP_DEF_ARG_DEF = {
  name: 1,
  description: 2,
  type: 3,
  typeAttr: 4,
  numberAttr: 5,
  typeListAttr: 6,
  handleData: 7,
  isRef: 16,
  experimentalFullType: 17,
} as const;
export const OP_DEF_ATTR_DEF = {
  name: 1,
  type: 2,
  defaultValue: 3,
  description: 4,
  hasMinimum: 5,
  minimum: 6,
  allowedValues: 7,
} as const;

export const OP_LIST = {
  op: 1,
} as const;

export const FUNCTION_DEF = {
  signature: 1,
  nodeDef: 3,
  ret: 4,
  attr: 5,
  controlRet: 6,
  argAttr: 7,
  resourceArgUniqueId: 8,
} as const;

export const FUNCTION_DEF_LIBRARY = {
  function: 1,
  gradient: 2,
  registeredGradients: 3,
} as const;

export const VERSION_DEF = {
  producer: 1,
  minConsumer: 2,
  badConsumers: 3,
} as const;

export const GRAPH_DEF = {
  node: 1,
  library: 2,
  version: 3,
  versions: 4,
  debugInfo: 5,
} as const;

export const ASSET_FILE_DEF = {
  tensorInfo: 1,
  filename: 2,
} as const;

export const COLLECTION_DEF = {
  nodeList: 1,
  bytesList: 2,
  int64List: 3,
  floatList: 4,
  anyList: 5,
} as const;
export const COLLECTION_DEF_NODE_LIST = {
  value: 1,
} as const;
export const COLLECTION_DEF_BYTES_LIST = {
  value: 1,
} as const;
export const COLLECTION_DEF_INT64_LIST = {
  value: 1,
} as const;
export const COLLECTION_DEF_FLOAT_LIST = {
  value: 1,
} as const;
export const COLLECTION_DEF_ANY_LIST = {
  value: 1,
} as const;

export const SAVER_DEF = {
  filenameTensorName: 1,
  saveTensorName: 2,
  restoreOpName: 3,
  maxToKeep: 4,
  sharded: 5,
  keepCheckpointEveryNHours: 6,
  version: 7,
} as const;
export const SAVER_DEF_CHECKPOINT_FORMAT_VERSION = {
  LEGACY: 0,
  V1: 1,
  V2: 2,
} as const;

export const SAVED_OBJECT = {
  children: 1,
  slotVariables: 3,
  userObject: 4,
  asset: 5,
  function: 6,
  variable: 7,
  bareConcreteFunction: 8,
  constant: 9,
  resource: 10,
  saveableObjects: 11,
  capturedTensor: 12,
  registeredName: 13,
  serializedUserProto: 14,
  dependencies: 15,
  registeredSaver: 16,
} as const;
export const SAVED_OBJECT_OBJECT_REFERENCE = {
  nodeId: 1,
  localName: 2,
} as const;

export const SAVED_CONCRETE_FUNCTION = {
  boundInputs: 2,
  canonicalizedInputSignature: 3,
  outputSignature: 4,
} as const;

export const SAVED_OBJECT_GRAPH = {
  nodes: 1,
  concreteFunctions: 2,
} as const;

export const META_GRAPH_DEF = {
  metaInfoDef: 1,
  graphDef: 2,
  saverDef: 3,
  collectionDef: 4,
  signatureDef: 5,
  assetFileDef: 6,
  objectGraphDef: 7,
} as const;
export const META_GRAPH_DEF_META_INFO_DEF = {
  metaGraphVersion: 1,
  strippedOpList: 2,
  anyInfo: 3,
  tags: 4,
  tensorflowVersion: 5,
  tensorflowGitVersion: 6,
  strippedDefaultAttrs: 7,
  functionAliases: 8,
} as const;

export const SAVED_MODEL = {
  savedModelSchemaVersion: 1,
  metaGraphs: 2,
} as const;
