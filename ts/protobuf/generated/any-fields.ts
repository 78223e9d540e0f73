// Field numbers and enum values. Data only; any thread. Generated from
// proto/wire/any.proto by proto/generate-wire.mjs; do not edit.

export const ANY = {
  typeUrl: 1,
  value: 2,
} as const;
