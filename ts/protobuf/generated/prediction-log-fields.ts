// Field numbers and enum values. Data only; any thread. Generated from
// proto/wire/files/prediction_log.proto by proto/generate-wire.mjs; do not edit.

export const LOG_METADATA = {
  modelSpec: 1,
  samplingConfig: 2,
  savedModelTags: 3,
  timestampSecs: 4,
} as const;

export const REQUEST_LOG = {
  request: 1,
  response: 2,
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
