// Field numbers and enum values. Data only; any thread. Generated from
// proto/wire/files/descriptor.proto by proto/generate-wire.mjs; do not edit.

export const FILE_DESCRIPTOR_SET = {
  file: 1,
} as const;

export const FILE_DESCRIPTOR_PROTO = {
  name: 1,
  package: 2,
  messageType: 4,
  enumType: 5,
  extension: 7,
  syntax: 12,
} as const;

export const DESCRIPTOR_PROTO = {
  name: 1,
  field: 2,
  nestedType: 3,
  enumType: 4,
  extension: 6,
} as const;

export const FIELD_DESCRIPTOR_PROTO = {
  name: 1,
  extendee: 2,
  number: 3,
  label: 4,
  type: 5,
  typeName: 6,
  defaultValue: 7,
  options: 8,
} as const;
export const FIELD_DESCRIPTOR_PROTO_LABEL = {
  LABEL_UNKNOWN: 0,
  LABEL_OPTIONAL: 1,
  LABEL_REQUIRED: 2,
  LABEL_REPEATED: 3,
} as const;

export const FIELD_OPTIONS = {
  packed: 2,
} as const;

export const ENUM_DESCRIPTOR_PROTO = {
  name: 1,
  value: 2,
} as const;

export const ENUM_VALUE_DESCRIPTOR_PROTO = {
  name: 1,
  number: 2,
} as const;
