// Reads tensorflow.TensorProto into a tensor in the V2 protocol's raw form. Control plane; pure.
// Source: tfserving.md 2, "TensorProto reading rules".
import { ErrorCode, ServalError } from '../errors.js';
import type { Datatype } from '../registry/snapshot.js';
import {
  ELEMENT_BYTES, LENGTH_BYTES, checkTensorBytes, elementCount, rawStrings, repeatPattern,
} from './tensor.js';
import type { Tensor } from './tensor.js';
import { WireReader } from './wire-reader.js';

/** A dtype that the V2 protocol has too, and TensorProto's field of typed values for it. */
interface Form {
  readonly datatype: Datatype;
  readonly field: number;
}

/** A TensorProto's fields but the typed values. */
interface Head {
  dtype: number;
  readonly dims: number[];
  unknownRank: boolean;
  content: Uint8Array;
}

const FLOAT_VAL = 5;
const DOUBLE_VAL = 6;
const INT_VAL = 7;
const STRING_VAL = 8;
const INT64_VAL = 10;
const BOOL_VAL = 11;
const HALF_VAL = 13;
const UINT32_VAL = 16;
const UINT64_VAL = 17;

const FORMS: ReadonlyMap<number, Form> = new Map<number, Form>([
  [1, { datatype: 'FP32', field: FLOAT_VAL }],
  [2, { datatype: 'FP64', field: DOUBLE_VAL }],
  [3, { datatype: 'INT32', field: INT_VAL }],
  [4, { datatype: 'UINT8', field: INT_VAL }],
  [5, { datatype: 'INT16', field: INT_VAL }],
  [6, { datatype: 'INT8', field: INT_VAL }],
  [7, { datatype: 'BYTES', field: STRING_VAL }],
  [9, { datatype: 'INT64', field: INT64_VAL }],
  [10, { datatype: 'BOOL', field: BOOL_VAL }],
  [14, { datatype: 'BF16', field: HALF_VAL }],
  [17, { datatype: 'UINT16', field: INT_VAL }],
  [19, { datatype: 'FP16', field: HALF_VAL }],
  [22, { datatype: 'UINT32', field: UINT32_VAL }],
  [23, { datatype: 'UINT64', field: UINT64_VAL }],
]);

/** TensorFlow's own limit of a shape's rank. */
const RANK_MAX = 254;
const UINT32_RANGE = 4_294_967_296;
const INT64_SIGN = 2_147_483_648;
const VARINT32_BYTES_MAX = 5;

/**
 * The tensor of input `name` from a TensorProto; from several, what protobuf merges them to.
 * tensor_content wins; typed values may be fewer than elements, and then the last one repeats
 * (none: zeros, empty strings); surplus values are ignored.
 * Errors: InvalidArgument ("tensor parsing error: NAME ..."), Unimplemented for a dtype without a
 * V2 datatype, ModelInvalid where the message itself is broken.
 */
export function readTensorProto(readers: readonly WireReader[], name: string): Tensor {
  const head: Head = { dtype: 0, dims: [], unknownRank: false, content: new Uint8Array(0) };
  for (const reader of readers) readHead(reader.again(), head);
  const form = FORMS.get(head.dtype);
  if (form === undefined) {
    throw new ServalError(ErrorCode.Unimplemented, `tensor parsing error: ${name}: `
      + `tensorflow.DataType ${head.dtype} has no V2 datatype`);
  }
  const shape = fullShape(head, name);
  try {
    return { name, datatype: form.datatype, shape, raw: readRaw(readers, form, shape, head) };
  } catch (error) {
    if (!(error instanceof ServalError) || error.code !== ErrorCode.InvalidArgument) throw error;
    throw parsingError(name, error.message);
  }
}

function parsingError(name: string, what: string): ServalError {
  return new ServalError(ErrorCode.InvalidArgument, `tensor parsing error: ${name}: ${what}`);
}

function readHead(reader: WireReader, head: Head): void {
  while (reader.next()) {
    switch (reader.field) {
      case 1:
        reader.varint();
        head.dtype = reader.low;
        break;
      case 2:
        readShape(reader.nested('TensorShapeProto'), head);
        break;
      case 4:
        head.content = reader.view();
        break;
      default:
        reader.skip();
    }
  }
}

function readShape(reader: WireReader, head: Head): void {
  while (reader.next()) {
    if (reader.field === 2) {
      head.dims.push(readDim(reader.nested('TensorShapeProto.Dim')));
    } else if (reader.field === 3) {
      reader.varint();
      head.unknownRank = reader.low !== 0 || reader.high !== 0;
    } else {
      reader.skip();
    }
  }
}

function readDim(reader: WireReader): number {
  let size = 0;
  while (reader.next()) {
    if (reader.field === 1) {
      reader.varint();
      const high = reader.high >= INT64_SIGN ? reader.high - UINT32_RANGE : reader.high;
      size = high * UINT32_RANGE + reader.low;
    } else {
      reader.skip();
    }
  }
  return size;
}

function fullShape(head: Head, name: string): readonly number[] {
  if (head.unknownRank) throw parsingError(name, 'expected a full shape, got unknown rank');
  if (head.dims.length > RANK_MAX) {
    throw parsingError(name, `expected at most ${RANK_MAX} dimensions, got ${head.dims.length}`);
  }
  if (head.dims.some((dim) => dim < 0)) {
    throw parsingError(name, `expected a full shape, got [${head.dims.join(',')}]`);
  }
  return head.dims;
}

function readRaw(
  readers: readonly WireReader[], form: Form, shape: readonly number[], head: Head,
): Uint8Array {
  const { datatype } = form;
  const count = elementCount(datatype, shape);
  if (head.content.length === 0) {
    if (datatype === 'BYTES') return typedStrings(readers, shape, count);
    return typedNumbers(readers, form, count);
  }
  if (datatype === 'BYTES') return rawStringContent(head.content, shape, count);
  const expected = count * ELEMENT_BYTES[datatype];
  if (head.content.length !== expected) {
    throw contentError(`expected ${expected} bytes`, datatype, shape, head.content);
  }
  return head.content;
}

function contentError(
  expected: string, datatype: Datatype, shape: readonly number[], content: Uint8Array,
): ServalError {
  return new ServalError(ErrorCode.InvalidArgument, `tensor_content: ${expected} for ${datatype} `
    + `of shape [${shape.join(',')}], got ${content.length} bytes`);
}

/** Strings in tensor_content: all lengths as varints, then all bytes. */
function rawStringContent(
  content: Uint8Array, shape: readonly number[], count: number,
): Uint8Array {
  const fail = (): never => {
    throw contentError(`expected ${count} lengths and as many strings`, 'BYTES', shape, content);
  };
  let at = 0;
  // Each element has at least one byte here, so that a short content ends the loop early.
  const lengths: number[] = [];
  while (lengths.length < count) {
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
  const bytes = lengths.reduce((sum, length) => sum + length, 0);
  if (at + bytes !== content.length) return fail();
  checkTensorBytes(bytes + count * LENGTH_BYTES, 'BYTES', shape);
  const strings = lengths.map((length) => {
    at += length;
    return content.subarray(at - length, at);
  });
  return rawStrings(strings, bytes + count * LENGTH_BYTES);
}

function typedStrings(
  readers: readonly WireReader[], shape: readonly number[], count: number,
): Uint8Array {
  const strings: Uint8Array[] = [];
  eachTypedField(readers, STRING_VAL, (reader) => {
    const string = reader.view();
    if (strings.length < count) strings.push(string);
  });
  const given = strings.reduce((sum, string) => sum + LENGTH_BYTES + string.length, 0);
  const last = LENGTH_BYTES + (strings.at(-1)?.length ?? 0);
  const bytes = given + (count - strings.length) * last;
  checkTensorBytes(bytes, 'BYTES', shape);
  const out = rawStrings(strings, bytes);
  if (strings.length > 0) repeatPattern(out, given - last, last);
  return out;
}

function typedNumbers(readers: readonly WireReader[], form: Form, count: number): Uint8Array {
  const elementBytes = ELEMENT_BYTES[form.datatype];
  const out = new Uint8Array(count * elementBytes);
  const filled = form.field === FLOAT_VAL || form.field === DOUBLE_VAL
    ? readFixed(readers, form.field, out) : readVarints(readers, form, out);
  if (filled > 0) repeatPattern(out, filled - elementBytes, elementBytes);
  return out;
}

/** How many bytes of `out` were given. */
function readFixed(readers: readonly WireReader[], field: number, out: Uint8Array): number {
  let filled = 0;
  eachTypedField(readers, field, (reader) => {
    const run = reader.fixed(field === FLOAT_VAL ? 4 : 8);
    const taken = run.subarray(0, out.length - filled);
    out.set(taken, filled);
    filled += taken.length;
  });
  return filled;
}

/** The same; a value too wide for the dtype keeps its low bits. */
function readVarints(readers: readonly WireReader[], form: Form, out: Uint8Array): number {
  const elementBytes = ELEMENT_BYTES[form.datatype];
  const view = new DataView(out.buffer);
  const asBool = form.datatype === 'BOOL';
  let filled = 0;
  const put = ({ low, high }: WireReader): void => {
    if (filled >= out.length) return;
    if (asBool) view.setUint8(filled, low !== 0 || high !== 0 ? 1 : 0);
    else if (elementBytes === 1) view.setUint8(filled, low);
    else if (elementBytes === 2) view.setUint16(filled, low, true);
    else view.setUint32(filled, low, true);
    if (elementBytes === 8) view.setUint32(filled + 4, high, true);
    filled += elementBytes;
  };
  eachTypedField(readers, form.field, (reader) => reader.varints(put));
  return filled;
}

/** Every occurrence of one field. */
function eachTypedField(
  readers: readonly WireReader[], field: number, read: (reader: WireReader) => void,
): void {
  for (const reader of readers.map((one) => one.again())) {
    while (reader.next()) {
      if (reader.field === field) read(reader);
      else reader.skip();
    }
  }
}
