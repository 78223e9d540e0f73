// Field numbers and enum values. Data only; any thread. Generated from
// proto/wire/tensorflow_serving.proto by proto/generate-wire.mjs; do not edit.

export const MODEL_SPEC = {
  name: 1,
  version: 2,
  versionLabel: 4,
  signatureName: 3,
} as const;

export const PREDICT_STREAMED_OPTIONS = {
  requestState: 1,
  splitDimensions: 2,
  returnSingleResponse: 3,
} as const;
export const PREDICT_STREAMED_OPTIONS_REQUEST_STATE = {
  NONE: 0,
  SPLIT: 1,
  END_SPLIT: 2,
  CANCEL: 3,
} as const;

export const PREDICT_REQUEST = {
  modelSpec: 1,
  inputs: 2,
  outputFilter: 3,
  predictStreamedOptions: 5,
  clientId: 6,
  requestOptions: 7,
} as const;
export const PREDICT_REQUEST_REQUEST_OPTIONS = {
  clientId: 1,
  deterministicMode: 2,
  returnAdditionalArraysFromPrefill: 3,
  returnStoptokens: 4,
  maxCacheLength: 6,
  returnAllStoptokens: 9,
} as const;
export const PREDICT_REQUEST_REQUEST_OPTIONS_DETERMINISTIC_MODE = {
  DETERMINISTIC_MODE_UNSPECIFIED: 0,
  FIXED_DECODER_SLOT: 1,
} as const;

export const PREDICT_RESPONSE = {
  outputs: 1,
  modelSpec: 2,
} as const;

export const EXAMPLE_LIST = {
  examples: 1,
} as const;

export const EXAMPLE_LIST_WITH_CONTEXT = {
  examples: 1,
  context: 2,
} as const;

export const INPUT = {
  exampleList: 1,
  exampleListWithContext: 2,
} as const;

export const CLASS = {
  label: 1,
  score: 2,
} as const;

export const CLASSIFICATIONS = {
  classes: 1,
} as const;

export const CLASSIFICATION_RESULT = {
  classifications: 1,
} as const;

export const CLASSIFICATION_REQUEST = {
  modelSpec: 1,
  input: 2,
} as const;

export const CLASSIFICATION_RESPONSE = {
  result: 1,
  modelSpec: 2,
} as const;

export const REGRESSION = {
  value: 1,
} as const;

export const REGRESSION_RESULT = {
  regressions: 1,
} as const;

export const REGRESSION_REQUEST = {
  modelSpec: 1,
  input: 2,
} as const;

export const REGRESSION_RESPONSE = {
  result: 1,
  modelSpec: 2,
} as const;

export const INFERENCE_TASK = {
  modelSpec: 1,
  methodName: 2,
} as const;

export const INFERENCE_RESULT = {
  modelSpec: 1,
  classificationResult: 2,
  regressionResult: 3,
} as const;

export const MULTI_INFERENCE_REQUEST = {
  tasks: 1,
  input: 2,
} as const;

export const MULTI_INFERENCE_RESPONSE = {
  results: 1,
} as const;

export const SIGNATURE_DEF_MAP = {
  signatureDef: 1,
} as const;

export const GET_MODEL_METADATA_REQUEST = {
  modelSpec: 1,
  metadataField: 2,
} as const;

export const GET_MODEL_METADATA_RESPONSE = {
  modelSpec: 1,
  metadata: 2,
} as const;

export const STATUS_PROTO = {
  errorCode: 1,
  errorMessage: 2,
} as const;

export const MODEL_VERSION_STATUS = {
  version: 1,
  state: 2,
  status: 3,
} as const;
export const MODEL_VERSION_STATUS_STATE = {
  UNKNOWN: 0,
  START: 10,
  LOADING: 20,
  AVAILABLE: 30,
  UNLOADING: 40,
  END: 50,
} as const;

export const GET_MODEL_STATUS_REQUEST = {
  modelSpec: 1,
} as const;

export const GET_MODEL_STATUS_RESPONSE = {
  modelVersionStatus: 1,
} as const;

export const MODEL_TYPE = {
  MODEL_TYPE_UNSPECIFIED: 0,
  TENSORFLOW: 1,
  OTHER: 2,
} as const;

export const FILE_SYSTEM_STORAGE_PATH_SOURCE_CONFIG = {
} as const;
export const FILE_SYSTEM_STORAGE_PATH_SOURCE_CONFIG_SERVABLE_VERSION_POLICY = {
  latest: 100,
  all: 101,
  specific: 102,
} as const;
export const FILE_SYSTEM_STORAGE_PATH_SOURCE_CONFIG_SERVABLE_VERSION_POLICY_LATEST = {
  numVersions: 1,
} as const;
export const FILE_SYSTEM_STORAGE_PATH_SOURCE_CONFIG_SERVABLE_VERSION_POLICY_SPECIFIC = {
  versions: 1,
} as const;

export const LOG_COLLECTOR_CONFIG = {
  type: 1,
  filenamePrefix: 2,
} as const;

export const SAMPLING_CONFIG = {
  samplingRate: 1,
  attributes: 2,
} as const;

export const LOGGING_CONFIG = {
  logCollectorConfig: 1,
  samplingConfig: 2,
  customLoggingConfig: 3,
} as const;

export const MODEL_CONFIG = {
  name: 1,
  basePath: 2,
  modelType: 3,
  modelPlatform: 4,
  loggingConfig: 6,
  modelVersionPolicy: 7,
  versionLabels: 8,
} as const;

export const MODEL_CONFIG_LIST = {
  config: 1,
} as const;

export const MODEL_SERVER_CONFIG = {
  modelConfigList: 1,
  customModelConfig: 2,
} as const;

export const METRIC = {
  name: 1,
  int64ValueIncrease: 2,
} as const;

export const RELOAD_CONFIG_REQUEST = {
  config: 1,
  metricNames: 2,
} as const;

export const RELOAD_CONFIG_RESPONSE = {
  status: 1,
  metric: 2,
} as const;

export const SESSION_RUN_REQUEST = {
  modelSpec: 1,
  feed: 2,
  fetch: 3,
  target: 4,
  options: 5,
  tensorNameIsAlias: 6,
} as const;

export const SESSION_RUN_RESPONSE = {
  tensor: 1,
  metadata: 2,
  modelSpec: 3,
} as const;
