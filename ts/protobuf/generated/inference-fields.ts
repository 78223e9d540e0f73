// Field numbers and enum values. Data only; any thread. Generated from
// proto/wire/inference.proto by proto/generate-wire.mjs; do not edit.

export const SERVER_LIVE_RESPONSE = {
  live: 1,
} as const;

export const SERVER_READY_RESPONSE = {
  ready: 1,
} as const;

export const MODEL_READY_REQUEST = {
  name: 1,
  version: 2,
} as const;

export const MODEL_READY_RESPONSE = {
  ready: 1,
} as const;

export const SERVER_METADATA_RESPONSE = {
  name: 1,
  version: 2,
  extensions: 3,
} as const;

export const MODEL_METADATA_REQUEST = {
  name: 1,
  version: 2,
} as const;

export const MODEL_METADATA_RESPONSE = {
  name: 1,
  versions: 2,
  platform: 3,
  inputs: 4,
  outputs: 5,
  properties: 6,
} as const;
export const MODEL_METADATA_RESPONSE_TENSOR_METADATA = {
  name: 1,
  datatype: 2,
  shape: 3,
} as const;

export const INFER_PARAMETER = {
  boolParam: 1,
  int64Param: 2,
  stringParam: 3,
  doubleParam: 4,
  uint64Param: 5,
} as const;

export const INFER_TENSOR_CONTENTS = {
  boolContents: 1,
  intContents: 2,
  int64Contents: 3,
  uintContents: 4,
  uint64Contents: 5,
  fp32Contents: 6,
  fp64Contents: 7,
  bytesContents: 8,
} as const;

export const MODEL_INFER_REQUEST = {
  modelName: 1,
  modelVersion: 2,
  id: 3,
  parameters: 4,
  inputs: 5,
  outputs: 6,
  rawInputContents: 7,
} as const;
export const MODEL_INFER_REQUEST_INFER_INPUT_TENSOR = {
  name: 1,
  datatype: 2,
  shape: 3,
  parameters: 4,
  contents: 5,
} as const;
export const MODEL_INFER_REQUEST_INFER_REQUESTED_OUTPUT_TENSOR = {
  name: 1,
  parameters: 2,
} as const;

export const MODEL_INFER_RESPONSE = {
  modelName: 1,
  modelVersion: 2,
  id: 3,
  parameters: 4,
  outputs: 5,
  rawOutputContents: 6,
} as const;
export const MODEL_INFER_RESPONSE_INFER_OUTPUT_TENSOR = {
  name: 1,
  datatype: 2,
  shape: 3,
  parameters: 4,
  contents: 5,
} as const;

export const MODEL_STREAM_INFER_RESPONSE = {
  errorMessage: 1,
  inferResponse: 2,
} as const;

export const MODEL_CONFIG_REQUEST = {
  name: 1,
  version: 2,
} as const;

export const MODEL_CONFIG_RESPONSE = {
  config: 1,
} as const;

export const MODEL_STATISTICS_REQUEST = {
  name: 1,
  version: 2,
} as const;

export const STATISTIC_DURATION = {
  count: 1,
  ns: 2,
} as const;

export const INFER_STATISTICS = {
  success: 1,
  fail: 2,
  queue: 3,
  computeInput: 4,
  computeInfer: 5,
  computeOutput: 6,
  cacheHit: 7,
  cacheMiss: 8,
} as const;

export const INFER_RESPONSE_STATISTICS = {
  computeInfer: 1,
  computeOutput: 2,
  success: 3,
  fail: 4,
  emptyResponse: 5,
  cancel: 6,
} as const;

export const INFER_BATCH_STATISTICS = {
  batchSize: 1,
  computeInput: 2,
  computeInfer: 3,
  computeOutput: 4,
} as const;

export const MEMORY_USAGE = {
  type: 1,
  id: 2,
  byteSize: 3,
} as const;

export const MODEL_STATISTICS = {
  name: 1,
  version: 2,
  lastInference: 3,
  inferenceCount: 4,
  executionCount: 5,
  inferenceStats: 6,
  batchStats: 7,
  memoryUsage: 8,
  responseStats: 9,
} as const;

export const MODEL_STATISTICS_RESPONSE = {
  modelStats: 1,
} as const;

export const MODEL_REPOSITORY_PARAMETER = {
  boolParam: 1,
  int64Param: 2,
  stringParam: 3,
  bytesParam: 4,
} as const;

export const REPOSITORY_INDEX_REQUEST = {
  repositoryName: 1,
  ready: 2,
} as const;

export const REPOSITORY_INDEX_RESPONSE = {
  models: 1,
} as const;
export const REPOSITORY_INDEX_RESPONSE_MODEL_INDEX = {
  name: 1,
  version: 2,
  state: 3,
  reason: 4,
} as const;

export const REPOSITORY_MODEL_LOAD_REQUEST = {
  repositoryName: 1,
  modelName: 2,
  parameters: 3,
} as const;

export const REPOSITORY_MODEL_UNLOAD_REQUEST = {
  repositoryName: 1,
  modelName: 2,
  parameters: 3,
} as const;

export const TRACE_SETTING_REQUEST = {
  settings: 1,
  modelName: 2,
} as const;
export const TRACE_SETTING_REQUEST_SETTING_VALUE = {
  value: 1,
} as const;

export const TRACE_SETTING_RESPONSE = {
  settings: 1,
} as const;
export const TRACE_SETTING_RESPONSE_SETTING_VALUE = {
  value: 1,
} as const;

export const LOG_SETTINGS_REQUEST = {
  settings: 1,
} as const;
export const LOG_SETTINGS_REQUEST_SETTING_VALUE = {
  boolParam: 1,
  uint32Param: 2,
  stringParam: 3,
} as const;

export const LOG_SETTINGS_RESPONSE = {
  settings: 1,
} as const;
export const LOG_SETTINGS_RESPONSE_SETTING_VALUE = {
  boolParam: 1,
  uint32Param: 2,
  stringParam: 3,
} as const;

export const SYSTEM_SHARED_MEMORY_STATUS_REQUEST = {
  name: 1,
} as const;

export const SYSTEM_SHARED_MEMORY_STATUS_RESPONSE = {
  regions: 1,
} as const;
export const SYSTEM_SHARED_MEMORY_STATUS_RESPONSE_REGION_STATUS = {
  name: 1,
  key: 2,
  offset: 3,
  byteSize: 4,
} as const;

export const SYSTEM_SHARED_MEMORY_REGISTER_REQUEST = {
  name: 1,
  key: 2,
  offset: 3,
  byteSize: 4,
} as const;

export const SYSTEM_SHARED_MEMORY_UNREGISTER_REQUEST = {
  name: 1,
} as const;

export const CUDA_SHARED_MEMORY_STATUS_REQUEST = {
  name: 1,
} as const;

export const CUDA_SHARED_MEMORY_STATUS_RESPONSE = {
  regions: 1,
} as const;
export const CUDA_SHARED_MEMORY_STATUS_RESPONSE_REGION_STATUS = {
  name: 1,
  deviceId: 2,
  byteSize: 3,
} as const;

export const CUDA_SHARED_MEMORY_REGISTER_REQUEST = {
  name: 1,
  rawHandle: 2,
  deviceId: 3,
  byteSize: 4,
} as const;

export const CUDA_SHARED_MEMORY_UNREGISTER_REQUEST = {
  name: 1,
} as const;
