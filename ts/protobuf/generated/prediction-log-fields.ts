// Field numbers and enum values. Data only; any thread. Generated from
// proto/wire/prediction_log.proto by proto/generate-wire.mjs; do not edit.

export const PREDICT_LOG = {
  request: 1,
  response: 2,
} as const;

export const CLASSIFY_LOG = {
  request: 1,
  response: 2,
} as const;

export const REGRESS_LOG = {
  request: 1,
  response: 2,
} as const;

export const MULTI_INFERENCE_LOG = {
  request: 1,
  response: 2,
} as const;

export const SESSION_RUN_LOG = {
  request: 1,
  response: 2,
} as const;

export const PREDICT_STREAMED_LOG = {
  request: 1,
  response: 2,
} as const;

export const LOG_METADATA = {
  modelSpec: 1,
  samplingConfig: 2,
  savedModelTags: 3,
  timestampSecs: 4,
} as const;

export const PREDICTION_LOG = {
  logMetadata: 1,
  classifyLog: 2,
  regressLog: 3,
  multiInferenceLog: 4,
  sessionRunLog: 5,
  predictLog: 6,
  predictStreamedLog: 7,
} as const;
