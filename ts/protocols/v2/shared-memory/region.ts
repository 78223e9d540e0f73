// Common part of Triton's shared memory extensions over REST and gRPC: the valid contents of a
// registration. Control plane, the listener's thread. Source: Triton's system and CUDA shared
// memory extensions.
import { ErrorCode, ServalError } from '../../../base/errors.js';
import type { CudaRegion, SharedRegion } from '../../../model/engine-api.js';
import { base64Bytes, wrongKind } from '../control.js';

function wholeNumber(member: string, value: unknown): number {
  if (typeof value !== 'number') throw wrongKind(member, 'a whole number', value);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new ServalError(
    ErrorCode.InvalidArgument,
    `${member}: expected a whole number from 0 to ${Number.MAX_SAFE_INTEGER}, got ${value}`,
  );
}

/** Errors: InvalidArgument naming the member. */
export function sharedRegion(
  name: string,
  key: unknown,
  offset: unknown,
  byteSize: unknown,
): SharedRegion {
  if (name === '') {
    throw new ServalError(
      ErrorCode.InvalidArgument,
      'failed to register shared memory region: expected a name, got none',
    );
  }
  if (typeof key !== 'string') throw wrongKind('key', 'a string', key);
  return {
    name,
    key,
    offset: wholeNumber('offset', offset),
    byte_size: wholeNumber('byte_size', byteSize),
  };
}

/** Errors: InvalidArgument naming the member. */
export function cudaRegion(name: string, device: unknown, byteSize: unknown): CudaRegion {
  return {
    name,
    device_id: wholeNumber('device_id', device),
    byte_size: wholeNumber('byte_size', byteSize),
  };
}

/**
 * The bytes of `{"b64": TEXT}`; Triton's C++ client inserts line breaks. Errors: InvalidArgument
 * naming the member.
 */
export function rawHandle(value: unknown): Uint8Array {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw wrongKind('raw_handle', 'an object with b64', value);
  }
  const text: unknown = Object.hasOwn(value, 'b64') ? Reflect.get(value, 'b64') : undefined;
  const lines = typeof text === 'string' ? text.replaceAll('\n', '') : text;
  return base64Bytes('raw_handle.b64', lines);
}
