// Reads tensorflow.TensorProto into a Tensor. Importer's worker thread; pure. Source:
// tensorflow/core/framework/tensor.proto; Tensor::FromProto: the last typed value repeats, no value
// at all means zeros.
import { TENSOR_PROTO } from '../../../protobuf/generated/tensorflow-fields.js';
import { modelInvalid } from '../../../base/errors.js';
import { elementCountWithin } from '../../../model/shape.js';
import type { WireReader } from '../../../protobuf/reader.js';
import type { Dtype, Tensor, TensorData } from '../types.js';
import { DATA_TYPES, dtypeOfCode, elementBytes } from '../../../model/datatype.js';
import { LARGE_TENSOR_BYTES, OBJECT_ITEMS, STRING_ITEMS } from './read-context.js';
import type { ReadContext } from './read-context.js';
import { readFullShape } from './tensor-shape.js';

/** Bytes of one number in a field of fixed-size numbers: complex ones are pairs. */
const FIXED_FIELDS: ReadonlyMap<number, 4 | 8> = new Map([
  [TENSOR_PROTO.floatVal, 4],
  [TENSOR_PROTO.doubleVal, 8],
  [TENSOR_PROTO.scomplexVal, 4],
  [TENSOR_PROTO.dcomplexVal, 8],
]);
/** Size of a reference in an array. */
const POINTER_BYTES = 8;
const VARINT32_BYTES_MAX = 5;

/** dtype, shape and number of elements of the tensor. */
interface Form {
  readonly dtype: Dtype;
  readonly shape: readonly number[];
  readonly count: number;
}

/**
 * Raw elements of 1 KiB and more stay in the file if the message was read from one. Uniform tensors
 * of that size are kind 'fill'; strings always 'strings'. For resources and variants only dtype and
 * shape are read: their data are not bytes. undefined: a dtype that the importer does not know.
 * Errors: ModelInvalid.
 */
export function readTensor(reader: WireReader, context: ReadContext): Tensor | undefined {
  let code = 0;
  let shape: readonly number[] = [];
  let content = new Uint8Array(0);
  const values = reader.again();
  context.count(OBJECT_ITEMS);
  while (reader.next()) {
    if (reader.field === TENSOR_PROTO.dtype) {
      reader.varint();
      code = reader.low;
    } else if (reader.field === TENSOR_PROTO.tensorShape) {
      shape = readFullShape(reader.nested('TensorShapeProto'));
    } else if (reader.field === TENSOR_PROTO.tensorContent) {
      content = reader.view() as Uint8Array<ArrayBuffer>;
    } else {
      reader.skip();
    }
  }
  const dtype = dtypeOfCode(code);
  if (dtype === undefined) return undefined;
  const form = { dtype, shape, count: countOf(dtype, shape) };
  const data =
    content.length > 0 ? contentData(content, form, context) : typedData(values, form, context);
  return { dtype, shape, data };
}

/**
 * Typed values of a TensorProto whose dtype and shape are given elsewhere. Errors: ModelInvalid.
 */
export function readTypedValues(
  reader: WireReader,
  dtype: Dtype,
  shape: readonly number[],
  context: ReadContext,
): TensorData {
  return typedData(reader, { dtype, shape, count: countOf(dtype, shape) }, context);
}

/** Errors: ModelInvalid if the byte count would exceed 2^53. */
function countOf(dtype: Dtype, shape: readonly number[]): number {
  const max = Math.floor(Number.MAX_SAFE_INTEGER / Math.max(1, elementBytes(dtype)));
  const count = elementCountWithin(shape, max);
  if (count !== undefined) return count;
  throw modelInvalid(`TensorProto: ${dtype}[${shape.join(',')}] has too many elements`);
}

function contentData(content: Uint8Array, form: Form, context: ReadContext): TensorData {
  const { dtype, count } = form;
  if (dtype === 'string') {
    return { kind: 'strings', values: contentStrings(content, form, context) };
  }
  if (elementBytes(dtype) === 0) return { kind: 'bytes', bytes: new Uint8Array(0) };
  const expected = count * elementBytes(dtype);
  if (content.length === expected) return context.rawData(content);
  throw contentError(`${expected} bytes`, form, content);
}

function contentError(expected: string, form: Form, content: Uint8Array): Error {
  return modelInvalid(
    `TensorProto.tensor_content: expected ${expected} for ` +
      `${form.dtype}[${form.shape.join(',')}], got ${content.length}`,
  );
}

/** All lengths as varints, then all bytes. */
function contentStrings(
  content: Uint8Array,
  form: Form,
  context: ReadContext,
): readonly Uint8Array[] {
  const fail = (): never => {
    throw contentError(`${form.count} lengths and the same number of strings`, form, content);
  };
  // Each element has at least one byte here.
  if (form.count > content.length) fail();
  context.count(form.count * STRING_ITEMS);
  let at = 0;
  const lengths: number[] = [];
  while (lengths.length < form.count) {
    let length = 0;
    for (let place = 0; ; place += 1) {
      const byte = content[at];
      if (byte === undefined || place === VARINT32_BYTES_MAX) return fail();
      at += 1;
      length += (byte & 0x7f) * 2 ** (7 * place);
      if (byte < 0x80) break;
    }
    lengths.push(length);
  }
  if (at + lengths.reduce((sum, length) => sum + length, 0) !== content.length) fail();
  return lengths.map((length) => {
    at += length;
    return new Uint8Array(content.subarray(at - length, at));
  });
}

function typedData(reader: WireReader, form: Form, context: ReadContext): TensorData {
  const { dtype, count } = form;
  if (dtype === 'string') return { kind: 'strings', values: typedStrings(reader, form, context) };
  const size = elementBytes(dtype);
  if (size === 0 || count === 0) return { kind: 'bytes', bytes: new Uint8Array(0) };
  const fixed = FIXED_FIELDS.get(DATA_TYPES[dtype].valueField);
  const given =
    fixed === undefined ? varintBytes(reader, form) : fixedBytes(reader, fixed, form, context);
  if (given instanceof Uint8Array) return repeated(given, form, context);
  return given;
}

/** `given`: the bytes of the encoded elements. */
function repeated(given: Uint8Array, form: Form, context: ReadContext): TensorData {
  const size = elementBytes(form.dtype);
  const total = form.count * size;
  if (given.length === total) return { kind: 'bytes', bytes: given };
  if (given.length <= size && total >= LARGE_TENSOR_BYTES) {
    return { kind: 'fill', element: given.length === 0 ? new Uint8Array(size) : given };
  }
  context.expand(total - given.length, `${form.dtype}[${form.shape.join(',')}]`);
  const bytes = new Uint8Array(total);
  bytes.set(given);
  // Each copy of the last value doubles the repeated part.
  const start = given.length - size;
  for (let filled = given.length; filled > 0 && filled < total; ) {
    const length = Math.min(filled - start, total - filled);
    bytes.copyWithin(filled, start, start + length);
    filled += length;
  }
  return { kind: 'bytes', bytes };
}

/** The elements' bytes; returned as data if all of them are contiguous. */
function fixedBytes(
  reader: WireReader,
  numberBytes: 4 | 8,
  form: Form,
  context: ReadContext,
): Uint8Array | TensorData {
  const size = elementBytes(form.dtype);
  const total = form.count * size;
  const runs: Uint8Array[] = [];
  let bytes = 0;
  eachValue(reader, DATA_TYPES[form.dtype].valueField, () => {
    // Values beyond the last element are ignored.
    const run = reader.fixed(numberBytes).subarray(0, total - bytes);
    if (run.length === 0) return;
    runs.push(run);
    bytes += run.length;
  });
  if (bytes % size !== 0) {
    throw modelInvalid(`TensorProto: ${form.dtype}: expected pairs of numbers, got an odd count`);
  }
  const [first] = runs;
  if (first !== undefined && first.length === total) return context.rawData(first);
  const out = new Uint8Array(bytes);
  let at = 0;
  for (const run of runs) {
    out.set(run, at);
    at += run.length;
  }
  return out;
}

/** A value too wide for the dtype keeps its low bits. */
function varintBytes(reader: WireReader, form: Form): Uint8Array {
  const field = DATA_TYPES[form.dtype].valueField;
  let values = 0;
  const again = reader.again();
  eachValue(reader, field, () =>
    reader.varints(() => {
      values += 1;
    }),
  );
  const size = elementBytes(form.dtype);
  const out = new Uint8Array(Math.min(values, form.count) * size);
  const view = new DataView(out.buffer);
  const isBool = form.dtype === 'bool';
  let filled = 0;
  const put = ({ low, high }: WireReader): void => {
    if (filled >= out.length) return;
    if (isBool) view.setUint8(filled, low !== 0 || high !== 0 ? 1 : 0);
    else if (size === 1) view.setUint8(filled, low);
    else if (size === 2) view.setUint16(filled, low, true);
    else view.setUint32(filled, low, true);
    if (size === 8) view.setUint32(filled + 4, high, true);
    filled += size;
  };
  eachValue(again, field, () => again.varints(put));
  return out;
}

function typedStrings(reader: WireReader, form: Form, context: ReadContext): readonly Uint8Array[] {
  const values: Uint8Array[] = [];
  eachValue(reader, TENSOR_PROTO.stringVal, () => {
    const view = reader.view();
    if (values.length >= form.count) return;
    context.count(STRING_ITEMS);
    values.push(new Uint8Array(view));
  });
  const missing = form.count - values.length;
  if (missing === 0) return values;
  context.expand(missing * POINTER_BYTES, `string[${form.shape.join(',')}]`);
  const last = values.at(-1) ?? new Uint8Array(0);
  for (let index = 0; index < missing; index += 1) values.push(last);
  return values;
}

function eachValue(reader: WireReader, field: number, read: () => void): void {
  while (reader.next()) {
    if (reader.field === field) read();
    else reader.skip();
  }
}
