// Field numbers and enum values. Data only; any thread. Generated from
// proto/wire/session_bundle.proto by proto/generate-wire.mjs; do not edit.

export const TENSOR_BINDING = {
  tensorName: 1,
} as const;

export const REGRESSION_SIGNATURE = {
  input: 1,
  output: 2,
} as const;

export const CLASSIFICATION_SIGNATURE = {
  input: 1,
  classes: 2,
  scores: 3,
} as const;

export const GENERIC_SIGNATURE = {
  map: 1,
} as const;

export const SIGNATURE = {
  regressionSignature: 1,
  classificationSignature: 2,
  genericSignature: 3,
} as const;

export const SIGNATURES = {
  defaultSignature: 1,
  namedSignatures: 2,
} as const;

export const ASSET_FILE = {
  tensorBinding: 1,
  filename: 2,
} as const;
