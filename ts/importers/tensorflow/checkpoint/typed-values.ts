// Reads the elements of a version 1 slice: TensorProto's lists of typed values, without data type
// or shape. There are as many values as elements: unlike in a constant, nothing is repeated.
// Control plane; pure. Source: tensorflow/core/util/saved_tensor_slice_util.{h,cc},
// core/framework/tensor.proto.
import { TENSOR_PROTO } from '../../../protobuf/generated/tensorflow-fields.js';
import { modelInvalid, unimplemented } from '../../../base/errors.js';
import { WireReader } from '../../../protobuf/reader.js';
import { CHECKPOINT_STRINGS_MAX } from '../../../base/limits.js';
import { DATA_TYPES, elementBytes } from '../../../model/datatype.js';
import type { Dtype, TensorData } from '../types.js';
import { allocate } from './bytes.js';

const SIGN_BIT = 0x80000000;

/** Encoding of the elements: fixed-size raw parts, or varints within a range. */
type Form =
  | { readonly field: number; readonly fixed: 4 | 8 }
  | { readonly field: number; readonly min: number; readonly max: number }
  | { readonly field: number; readonly wide: true };

/** undefined: types whose elements are not in a list of numbers. */
function formOf(dtype: Dtype): Form | undefined {
  const { valueField: field, bytes, kind } = DATA_TYPES[dtype];
  switch (kind) {
    case 'text':
    case 'handle':
      return undefined;
    case 'complex':
      return { field, fixed: bytes === 8 ? 4 : 8 };
    case 'float':
      if (bytes === 4 || bytes === 8) return { field, fixed: bytes };
      break;
    case 'signed':
      if (bytes === 8) return { field, wide: true };
      return { field, min: -(2 ** (8 * bytes - 1)), max: 2 ** (8 * bytes - 1) - 1 };
    case 'unsigned':
      if (bytes === 8) return { field, wide: true };
      break;
    case 'bool':
      return { field, min: 0, max: 1 };
  }
  return { field, min: 0, max: 2 ** (8 * bytes) - 1 };
}

/**
 * `count` elements from the occurrences of a TensorProto. The result is a view if the numbers are
 * in one packed list. Errors: ModelInvalid (damaged, wrong number of values, out of the type's
 * range), Unimplemented for a data type that has no list.
 */
export function readTypedValues(
  pieces: readonly Uint8Array[],
  dtype: Dtype,
  count: number,
  where: string,
): TensorData {
  const readers = pieces.map((piece) => new WireReader(piece, `${where}: TensorProto`));
  const available = pieces.reduce((sum, piece) => sum + piece.length, 0);
  // Each value takes at least one byte, so memory is only allocated if the bytes exist.
  if (count > available) {
    throw modelInvalid(where, `expected ${count} values, got ${available} bytes for them`);
  }
  if (dtype === 'string') return { kind: 'strings', values: readStrings(readers, count, where) };
  const form = formOf(dtype);
  if (form === undefined)
    throw unimplemented(where, `elements of data type ${dtype} are not supported`);
  const bytes =
    'fixed' in form
      ? readFixed(readers, form.field, form.fixed, count * elementBytes(dtype), where)
      : readVarints(readers, form, dtype, count, where);
  return { kind: 'bytes', bytes };
}

function readStrings(readers: readonly WireReader[], count: number, where: string): Uint8Array[] {
  if (count > CHECKPOINT_STRINGS_MAX) {
    throw modelInvalid(where, `expected at most ${CHECKPOINT_STRINGS_MAX} strings, got ${count}`);
  }
  const values: Uint8Array[] = [];
  eachField(readers, TENSOR_PROTO.stringVal, (reader) => {
    if (values.length === count) throw modelInvalid(where, `expected ${count} values, got more`);
    // Copied: views would keep a block of the file in memory.
    values.push(reader.view().slice());
  });
  checkCount(values.length, count, where);
  return values;
}

function readFixed(
  readers: readonly WireReader[],
  field: number,
  size: 4 | 8,
  bytes: number,
  where: string,
): Uint8Array {
  let out: Uint8Array | undefined;
  let filled = 0;
  eachField(readers, field, (reader) => {
    const part = reader.fixed(size);
    if (filled + part.length > bytes) {
      throw modelInvalid(where, `expected ${bytes / size} values, got more`);
    }
    if (part.length === bytes) out = part;
    else (out ??= allocate(bytes, where)).set(part, filled);
    filled += part.length;
  });
  checkCount(filled / size, bytes / size, where);
  return out === undefined ? new Uint8Array(0) : unshared(out);
}

/** A small view would keep a large block of the file in memory. */
function unshared(view: Uint8Array): Uint8Array {
  return view.length * 2 < view.buffer.byteLength ? view.slice() : view;
}

function readVarints(
  readers: readonly WireReader[],
  form: Exclude<Form, { readonly fixed: 4 | 8 }>,
  dtype: Dtype,
  count: number,
  where: string,
): Uint8Array {
  const out = allocate(count * elementBytes(dtype), where);
  const put = 'wide' in form ? putWide(out) : putNarrow(out, form, dtype, where);
  let found = 0;
  eachField(readers, form.field, (reader) => {
    reader.varints(({ low, high }) => {
      if (found === count) throw modelInvalid(where, `expected ${count} values, got more`);
      put(found, low, high);
      found += 1;
    });
  });
  checkCount(found, count, where);
  return out;
}

type Put = (index: number, low: number, high: number) => void;

function putWide(out: Uint8Array): Put {
  const view = new DataView(out.buffer);
  return (index, low, high) => {
    view.setUint32(index * 8, low, true);
    view.setUint32(index * 8 + 4, high, true);
  };
}

function putNarrow(
  out: Uint8Array,
  range: { readonly min: number; readonly max: number },
  dtype: Dtype,
  where: string,
): Put {
  const view = new DataView(out.buffer);
  const size = elementBytes(dtype);
  const isSigned = range.min < 0;
  return (index, low, high) => {
    // Negative numbers are sign-extended to 64 bits.
    const extended = isSigned && low >= SIGN_BIT ? 0xffffffff : 0;
    const value = isSigned ? low | 0 : low;
    if (high !== extended || value < range.min || value > range.max) {
      const whole = BigInt.asIntN(64, (BigInt(high) << 32n) | BigInt(low));
      throw modelInvalid(where, `value ${index}: ${whole} does not fit ${dtype}`);
    }
    if (size === 1) view.setUint8(index, low);
    else if (size === 2) view.setUint16(index * 2, low & 0xffff, true);
    else view.setUint32(index * 4, low, true);
  };
}

function eachField(
  readers: readonly WireReader[],
  field: number,
  use: (reader: WireReader) => void,
): void {
  for (const reader of readers) {
    while (reader.next()) {
      if (reader.field === field) use(reader);
      else reader.skip();
    }
  }
}

function checkCount(got: number, expected: number, where: string): void {
  if (got !== expected) throw modelInvalid(where, `expected ${expected} values, got ${got}`);
}
