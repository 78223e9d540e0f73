// Reads the elements of constants and makes constants from numbers. Importer's worker thread.
import { closeSync, openSync, readSync } from 'node:fs';
import { elementCount } from '../../../model/shape.js';
import { ErrorCode, ServalError } from '../../../base/errors.js';
import { DATA_TYPES } from '../../../model/datatype.js';
import type { Dtype, Tensor } from '../types.js';
import { shapeText } from './values.js';

/** Maximum elements that are examined individually during lowering. */
const SMALL_ELEMENTS_MAX = 65_536;

/** Maximum size of a constant that the file gives by one repeated element, once expanded. */
const FILL_BYTES_MAX = 134_217_728;

/**
 * The raw little-endian elements; reads the file if they are in one. The result may be a view and
 * must not be changed. Errors: ModelInvalid if the file is too short, or one element is repeated
 * too often; Unimplemented for strings.
 */
export function tensorBytes(tensor: Tensor): Uint8Array {
  const { data } = tensor;
  switch (data.kind) {
    case 'bytes':
      return data.bytes;
    case 'file':
      return readBytes(data.path, data.offset, data.byteLength);
    case 'fill':
      return filledBytes(tensor.shape, data.element);
    case 'strings':
      throw new ServalError(ErrorCode.Unimplemented, 'expected numbers, got strings');
  }
}

/** A file of a few bytes may request any number of elements. */
function filledBytes(shape: readonly number[], element: Uint8Array): Uint8Array {
  const bytes = elementCount(shape) * element.length;
  if (bytes > FILL_BYTES_MAX) {
    throw new ServalError(
      ErrorCode.ModelInvalid,
      `a constant of shape ${shapeText(shape)} that repeats one element: expected at most ` +
        `${FILL_BYTES_MAX} bytes, got ${bytes}`,
    );
  }
  const out = Buffer.alloc(bytes);
  if (element.some((byte) => byte !== 0)) out.fill(element);
  return out;
}

function readBytes(path: string, offset: number, byteLength: number): Uint8Array {
  const out = Buffer.allocUnsafe(byteLength);
  const file = openSync(path, 'r');
  try {
    let done = 0;
    while (done < byteLength) {
      const read = readSync(file, out, done, byteLength - done, offset + done);
      if (read === 0) {
        throw new ServalError(
          ErrorCode.ModelInvalid,
          `${path}: expected ${byteLength} bytes at byte ${offset}, got ${done}`,
        );
      }
      done += read;
    }
  } finally {
    closeSync(file);
  }
  return out;
}

/**
 * The elements as numbers (bools 0 and 1; 64-bit integers beyond 2^53 lose precision), or undefined
 * for types without numbers and for more than 65,536 elements.
 */
export function tensorNumbers(tensor: Tensor): readonly number[] | undefined {
  const { bytes: width, elements } = DATA_TYPES[tensor.dtype];
  const count = elementCount(tensor.shape);
  if (elements === undefined || count > SMALL_ELEMENTS_MAX) return undefined;
  const bytes = tensorBytes(tensor);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: count }, (_, i) => Number(elements.get(view, i * width)));
}

/** The strings of a string tensor; undefined for other types. */
export function tensorStrings(tensor: Tensor): readonly Uint8Array[] | undefined {
  const { data } = tensor;
  if (data.kind === 'strings') return data.values;
  if (data.kind !== 'fill' || tensor.dtype !== 'string') return undefined;
  return Array.from({ length: elementCount(tensor.shape) }, () => data.element);
}

/** A constant of these numbers, row-major. Errors: Unimplemented for types without numbers. */
export function numbersTensor(
  dtype: Dtype,
  shape: readonly number[],
  values: readonly number[],
): Tensor {
  const { bytes: width, elements } = DATA_TYPES[dtype];
  if (elements === undefined) {
    throw new ServalError(ErrorCode.Unimplemented, `constants of type ${dtype} are not supported`);
  }
  const bytes = new Uint8Array(values.length * width);
  const view = new DataView(bytes.buffer);
  values.forEach((value, i) => elements.set(view, i * width, value));
  return { dtype, shape, data: { kind: 'bytes', bytes } };
}

/** A constant of strings. */
export function stringsTensor(
  shape: readonly number[],
  values: readonly (Uint8Array | string)[],
): Tensor {
  const bytes = values.map((one) => (typeof one === 'string' ? Buffer.from(one) : one));
  return { dtype: 'string', shape, data: { kind: 'strings', values: bytes } };
}
