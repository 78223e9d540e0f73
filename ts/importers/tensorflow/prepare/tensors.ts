// Elements of constants during initialisation: reading them, building tensors from them, and moving
// them without interpreting them. Importer's worker thread (reads files).
import { closeSync, openSync, readSync } from 'node:fs';
import { modelInvalid } from '../../../base/errors.js';
import { elementCountWithin } from '../../../model/shape.js';
import { crc32c, maskCrc } from '../../../protobuf/crc32c.js';
import { DATA_TYPES, isQuantized } from '../../../model/datatype.js';
import type { Elements, Scalar } from '../../../model/datatype.js';
import type { Dtype, Tensor } from '../types.js';
import { COMPUTED_ELEMENTS_MAX } from './limits.js';

/** Bytes of one element. Errors: ModelInvalid for strings and handles. */
export function elementBytes(dtype: Dtype): number {
  const { bytes } = DATA_TYPES[dtype];
  if (bytes === 0) throw modelInvalid(`expected numbers, got ${dtype}`);
  return bytes;
}

/** Errors: ModelInvalid above the limit of one computed tensor. */
export function computedCount(shape: readonly number[]): number {
  const count = elementCountWithin(shape, COMPUTED_ELEMENTS_MAX);
  if (count !== undefined) return count;
  const why = `unknown dimensions or more than ${COMPUTED_ELEMENTS_MAX} elements`;
  throw modelInvalid(`shape [${shape.join(', ')}] has ${why}`);
}

function elementsIn(dtype: Dtype): Elements {
  const { elements } = DATA_TYPES[dtype];
  if (elements === undefined || isQuantized(dtype))
    throw modelInvalid(`cannot compute with ${dtype}`);
  return elements;
}

/**
 * The raw little-endian elements; may be a view. Errors: ModelInvalid: not numbers, too many of
 * them, fewer bytes than the shape needs.
 */
export function bytesOf(tensor: Tensor): Uint8Array {
  const { data } = tensor;
  const expected = computedCount(tensor.shape) * elementBytes(tensor.dtype);
  let bytes: Uint8Array;
  switch (data.kind) {
    case 'bytes':
      bytes = data.bytes;
      break;
    case 'file':
      if (data.byteLength !== expected) throw wrongSize(expected, data.byteLength);
      bytes = readElements(data.path, data.offset, data.byteLength, data.maskedCrc32c);
      break;
    case 'fill':
      bytes = Buffer.alloc(expected);
      if (expected > 0) (bytes as Buffer).fill(data.element);
      break;
    case 'strings':
      throw modelInvalid('expected numbers, got strings');
  }
  if (bytes.length !== expected) throw wrongSize(expected, bytes.length);
  return bytes;
}

function wrongSize(expected: number, got: number): Error {
  return modelInvalid(`expected ${expected} bytes of elements, got ${got}`);
}

function opened(path: string): number {
  try {
    return openSync(path, 'r');
  } catch (error) {
    throw modelInvalid((error as Error).message);
  }
}

function readElements(
  path: string,
  offset: number,
  byteLength: number,
  maskedCrc32c: number | undefined,
): Uint8Array {
  const bytes = Buffer.allocUnsafe(byteLength);
  const file = opened(path);
  try {
    for (let done = 0; done < byteLength; ) {
      const read = readSync(file, bytes, done, byteLength - done, offset + done);
      if (read === 0)
        throw modelInvalid(`${path}: the file ends within the ${byteLength} bytes at ${offset}`);
      done += read;
    }
  } finally {
    closeSync(file);
  }
  if (maskedCrc32c !== undefined && maskCrc(crc32c(bytes)) !== maskedCrc32c) {
    throw modelInvalid(`${path}: the ${byteLength} bytes at ${offset} do not match their checksum`);
  }
  return bytes;
}

/** Errors: ModelInvalid: an unsupported type; those of bytesOf. */
export function numbersOf(tensor: Tensor): Scalar[] {
  const elements = elementsIn(tensor.dtype);
  const size = elementBytes(tensor.dtype);
  const bytes = bytesOf(tensor);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const values = new Array<Scalar>(bytes.length / size);
  for (let index = 0; index < values.length; index += 1) {
    values[index] = elements.get(view, index * size);
  }
  return values;
}

export function tensorOf(
  dtype: Dtype,
  shape: readonly number[],
  values: readonly Scalar[],
): Tensor {
  const elements = elementsIn(dtype);
  const size = elementBytes(dtype);
  const bytes = new Uint8Array(values.length * size);
  const view = new DataView(bytes.buffer);
  values.forEach((value, index) => elements.set(view, index * size, value));
  return { dtype, shape, data: { kind: 'bytes', bytes } };
}

export function stringsTensor(shape: readonly number[], values: readonly Uint8Array[]): Tensor {
  return { dtype: 'string', shape, data: { kind: 'strings', values } };
}

/** Errors: ModelInvalid: not strings, or not the number that the shape needs. */
export function stringsOf(tensor: Tensor): readonly Uint8Array[] {
  const { data, shape } = tensor;
  if (tensor.dtype !== 'string' || data.kind === 'bytes' || data.kind === 'file') {
    throw modelInvalid(`expected strings, got ${tensor.dtype}`);
  }
  const count = computedCount(shape);
  if (data.kind === 'fill') return new Array<Uint8Array>(count).fill(data.element);
  if (data.values.length === count) return data.values;
  throw modelInvalid(`expected ${count} strings, got ${data.values.length}`);
}

/** A number, or a string's bytes. */
export type Element = Scalar | Uint8Array;

/** Errors: those of numbersOf and stringsOf. */
export function elementsOf(tensor: Tensor): readonly Element[] {
  return tensor.dtype === 'string' ? stringsOf(tensor) : numbersOf(tensor);
}

/** The inverse of elementsOf: `values` have the form that the type requires. */
export function tensorFrom(
  dtype: Dtype,
  shape: readonly number[],
  values: readonly Element[],
): Tensor {
  return dtype === 'string'
    ? stringsTensor(shape, values as readonly Uint8Array[])
    : tensorOf(dtype, shape, values as readonly Scalar[]);
}

/** Equal for equal elements of one type. */
export function elementName(element: Element | string): string {
  return element instanceof Uint8Array ? latin1(element) : String(element);
}

/** The text of a string, byte by byte. */
export function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}

/** The only element. Errors: ModelInvalid if there are more or none. */
export function scalarOf(tensor: Tensor): Scalar {
  const [value, ...more] = numbersOf(tensor);
  if (value !== undefined && more.length === 0) return value;
  throw modelInvalid(`expected one number, got shape [${tensor.shape.join(', ')}]`);
}

/** Small integers such as sizes and axes. Errors: ModelInvalid if one is not. */
export function integersOf(tensor: Tensor): number[] {
  return numbersOf(tensor).map((value) => {
    const number = Number(value);
    if (Number.isSafeInteger(number)) return number;
    throw modelInvalid(`expected a whole number, got ${value}`);
  });
}

/**
 * A tensor of elements of others: element i is number `indices[i]` of all their elements in
 * sequence. Errors: ModelInvalid if types differ.
 */
export function picked(
  sources: readonly Tensor[],
  indices: readonly number[],
  shape: readonly number[],
): Tensor {
  const dtype = sources[0]?.dtype ?? 'float';
  if (sources.some((source) => source.dtype !== dtype))
    throw modelInvalid('types of inputs differ');
  if (dtype === 'string') {
    const all = sources.flatMap((source) => stringsOf(source));
    return stringsTensor(
      shape,
      indices.map((index) => all[index] ?? new Uint8Array()),
    );
  }
  const size = elementBytes(dtype);
  const all = Buffer.concat(sources.map(bytesOf));
  const bytes = new Uint8Array(indices.length * size);
  indices.forEach((index, at) => {
    bytes.set(all.subarray(index * size, (index + 1) * size), at * size);
  });
  return { dtype, shape, data: { kind: 'bytes', bytes } };
}

/** The same elements in another shape; nothing is read. */
export function reshaped(tensor: Tensor, shape: readonly number[]): Tensor {
  return new Reshaped(tensor, shape);
}

// A constant may be read from its checkpoint only when its elements are requested.
class Reshaped implements Tensor {
  readonly dtype: Dtype;
  readonly shape: readonly number[];
  readonly #tensor: Tensor;

  constructor(tensor: Tensor, shape: readonly number[]) {
    this.#tensor = tensor;
    this.dtype = tensor.dtype;
    this.shape = shape;
  }

  get data(): Tensor['data'] {
    return this.#tensor.data;
  }
}
