// Field numbers and enum values. Data only; any thread. Generated from
// proto/wire/reflection.proto by proto/generate-wire.mjs; do not edit.

export const SERVER_REFLECTION_REQUEST = {
  host: 1,
  fileByFilename: 3,
  fileContainingSymbol: 4,
  fileContainingExtension: 5,
  allExtensionNumbersOfType: 6,
  listServices: 7,
} as const;

export const EXTENSION_REQUEST = {
  containingType: 1,
  extensionNumber: 2,
} as const;

export const SERVER_REFLECTION_RESPONSE = {
  validHost: 1,
  originalRequest: 2,
  fileDescriptorResponse: 4,
  allExtensionNumbersResponse: 5,
  listServicesResponse: 6,
  errorResponse: 7,
} as const;

export const FILE_DESCRIPTOR_RESPONSE = {
  fileDescriptorProto: 1,
} as const;

export const EXTENSION_NUMBER_RESPONSE = {
  baseTypeName: 1,
  extensionNumber: 2,
} as const;

export const LIST_SERVICE_RESPONSE = {
  service: 1,
} as const;

export const SERVICE_RESPONSE = {
  name: 1,
} as const;

export const ERROR_RESPONSE = {
  errorCode: 1,
  errorMessage: 2,
} as const;
