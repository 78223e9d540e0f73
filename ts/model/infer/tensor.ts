// Tensors of warmup requests in the V2 protocol's raw form, and their sizes. Control plane; pure.
import { elementCount } from '../shape.js';
import { ErrorCode, ServalError } from '../../base/errors.js';
import { BODY_BYTES_MAX_DEFAULT } from '../../base/limits.js';
import { dataTypeOf } from '../datatype.js';
import type { Datatype } from '../snapshot.js';

/**
 * `raw`: little-endian elements without padding; BYTES elements each have a 4-byte length prefix.
 */
export interface Tensor {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  readonly raw: Uint8Array;
}

/** Limit of one warmup record, tensor or request: the maximum of a request body. */
export const WARMUP_BYTES_MAX = BODY_BYTES_MAX_DEFAULT;

/** Size of the length prefix of a BYTES element. */
export const LENGTH_BYTES = 4;

/** Size of one element; for BYTES the minimum, an empty element. */
export function elementBytes(datatype: Datatype): number {
  return dataTypeOf(datatype).bytes || LENGTH_BYTES;
}

/** Errors: InvalidArgument if the tensor would exceed WARMUP_BYTES_MAX bytes. */
export function countWithinLimit(datatype: Datatype, shape: readonly number[]): number {
  const count = elementCount(shape);
  checkTensorBytes(count * elementBytes(datatype), datatype, shape);
  return count;
}

/** Errors: InvalidArgument above WARMUP_BYTES_MAX. */
export function checkTensorBytes(
  bytes: number,
  datatype: Datatype,
  shape: readonly number[],
): void {
  if (bytes <= WARMUP_BYTES_MAX) return;
  throw new ServalError(
    ErrorCode.InvalidArgument,
    `${datatype} of shape [${shape.join(',')}]: ` +
      `expected at most ${WARMUP_BYTES_MAX} bytes, got ${bytes}`,
  );
}

/** Fills the rest of the buffer with copies of the `patternBytes` bytes at `start`. */
export function repeatPattern(out: Uint8Array, start: number, patternBytes: number): void {
  let filled = start + patternBytes;
  while (filled < out.length) {
    out.copyWithin(filled, start, Math.min(filled, start + out.length - filled));
    filled += filled - start;
  }
}

/** BYTES elements in raw form. */
export function rawStrings(strings: readonly Uint8Array[], bytes: number): Uint8Array {
  const out = new Uint8Array(bytes);
  const view = new DataView(out.buffer);
  let at = 0;
  for (const string of strings) {
    view.setUint32(at, string.length, true);
    out.set(string, at + LENGTH_BYTES);
    at += LENGTH_BYTES + string.length;
  }
  return out;
}
