// Field numbers and enum values. Data only; any thread. Generated from
// proto/wire/tensorflow_example.proto by proto/generate-wire.mjs; do not edit.

export const FEATURE_LIST = {
  feature: 1,
} as const;

export const FEATURE_LISTS = {
  featureList: 1,
} as const;

export const SEQUENCE_EXAMPLE = {
  context: 1,
  featureLists: 2,
} as const;
