// The fields of every entry of a map field. Data only; any thread. Generated
// by proto/generate-wire.mjs; do not edit.

export const MAP_ENTRY = {
  key: 1,
  value: 2,
} as const;
