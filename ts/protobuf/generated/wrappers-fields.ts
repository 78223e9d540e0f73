// Field numbers and enum values. Data only; any thread. Generated from
// proto/wire/wrappers.proto by proto/generate-wire.mjs; do not edit.

export const INT64_VALUE = {
  value: 1,
} as const;

export const BOOL_VALUE = {
  value: 1,
} as const;

export const STRING_VALUE = {
  value: 1,
} as const;
