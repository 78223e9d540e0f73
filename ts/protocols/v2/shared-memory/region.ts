// Triton's shared memory extensions as REST and gRPC share them: what a registration may say, and
// what is said of CUDA's memory, of which there is none. Control plane, the listener's thread.
// Source: Triton's system and CUDA shared memory extensions.
import { ErrorCode, ServalError } from '../../../errors.js';
import type { SharedRegion } from '../../../model/engine-api.js';
import { echoed } from '../../request-text.js';
import { wrongKind } from '../control.js';

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

/** Why no CUDA memory is registered. */
export function cudaRefusal(name: string): ServalError {
  return new ServalError(
    ErrorCode.Unimplemented,
    `failed to register CUDA shared memory region '${echoed(name)}': this server takes system ` +
      'shared memory only',
  );
}

/** Of a status of one. Errors: InvalidArgument. */
export function checkNoCudaRegion(name: string): void {
  if (name === '') return;
  throw new ServalError(
    ErrorCode.InvalidArgument,
    `Unable to find cuda shared memory region: '${echoed(name)}'`,
  );
}
