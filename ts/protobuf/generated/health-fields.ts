// Field numbers and enum values. Data only; any thread. Generated from
// proto/wire/health.proto by proto/generate-wire.mjs; do not edit.

export const HEALTH_CHECK_REQUEST = {
  service: 1,
} as const;

export const HEALTH_CHECK_RESPONSE = {
  status: 1,
} as const;
export const HEALTH_CHECK_RESPONSE_SERVING_STATUS = {
  UNKNOWN: 0,
  SERVING: 1,
  NOT_SERVING: 2,
  SERVICE_UNKNOWN: 3,
} as const;
