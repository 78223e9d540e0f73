// Reads one array of NumPy's .npy format. Pure; control plane.
// Source: numpy/lib/format.py, versions 1.0 to 3.0.
import { TextDecoder } from 'node:util';
import { elementCount } from '../../model/shape.js';
import { ErrorCode, ServalError } from '../../base/errors.js';
import { LIBRARY_RANK_MAX } from '../../base/limits.js';
import { dataTypeOf } from '../../model/datatype.js';
import type { Datatype } from '../../model/snapshot.js';
import { elementValues } from '../../library/elements.js';
import type { Values } from '../../library/types.js';
import { echo } from '../../base/text.js';

export interface NpyArray {
  /** undefined: text. */
  readonly datatype: Datatype | undefined;
  readonly shape: readonly number[];
  /** Row-major. */
  readonly data: Values;
}

const MAGIC = Buffer.from('\u0093NUMPY', 'latin1');
const DATATYPES: Readonly<Record<string, Datatype>> = {
  b1: 'BOOL',
  i1: 'INT8',
  i2: 'INT16',
  i4: 'INT32',
  i8: 'INT64',
  u1: 'UINT8',
  u2: 'UINT16',
  u4: 'UINT32',
  u8: 'UINT64',
  f2: 'FP16',
  f4: 'FP32',
  f8: 'FP64',
};

/** `where` names the file in errors. Errors: InvalidArgument. */
export function readNpy(where: string, file: Uint8Array): NpyArray {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  const bad = (expected: string): ServalError =>
    new ServalError(ErrorCode.InvalidArgument, `${where}: .npy: expected ${expected}`);
  if (bytes.length < 12 || !bytes.subarray(0, MAGIC.length).equals(MAGIC)) {
    throw bad("NumPy's first bytes");
  }
  const isOld = bytes[6] === 1;
  const begin = isOld ? 10 : 12;
  const end = begin + (isOld ? bytes.readUInt16LE(8) : bytes.readUInt32LE(8));
  if (end > bytes.length) throw bad('a whole header');
  const header = bytes.toString('utf8', begin, end);
  const descr = /'descr':\s*'([^']*)'/.exec(header)?.[1];
  const order = /'fortran_order':\s*(True|False)/.exec(header)?.[1];
  const dims = /'shape':\s*\(([\d,\s]*)\)/.exec(header)?.[1];
  if (descr === undefined || order === undefined || dims === undefined) {
    throw bad(`a header with descr, fortran_order and shape, got ${echo(header.trim())}`);
  }
  const shape = (dims.match(/\d+/g) ?? []).map(Number);
  const count = elementCount(shape);
  if (shape.length > LIBRARY_RANK_MAX || !Number.isSafeInteger(count)) throw bad('a smaller shape');
  const [, endian = '', kind = '', width = ''] = /^([<>|=]?)([a-zA-Z])(\d+)$/.exec(descr) ?? [];
  const datatype = DATATYPES[`${kind}${width}`];
  const isText = kind === 'S' || kind === 'U';
  if (datatype === undefined && !isText) {
    throw bad(`numbers, booleans or text (not ${echo(descr)})`);
  }
  const size = datatype ? dataTypeOf(datatype).bytes : Number(width) * (kind === 'U' ? 4 : 1);
  const data = bytes.subarray(end);
  if (data.length !== count * size) {
    throw bad(`${count * size} bytes of [${shape.join(',')}] ${descr}, got ${data.length}`);
  }
  const unit = kind === 'U' ? 4 : size;
  const native = endian === '>' ? swapped(data, unit) : data;
  const rows = order === 'True' ? rowMajor(native, shape, size) : native;
  if (datatype !== undefined) {
    return { datatype, shape, data: elementValues(datatype, rows) as Values };
  }
  const texts = Array.from({ length: count }, (_, i) =>
    fixedText(rows.subarray(i * size, (i + 1) * size), kind === 'U'),
  );
  return { datatype, shape, data: texts };
}

function swapped(bytes: Buffer, unit: number): Buffer {
  const copy = Buffer.from(bytes);
  for (let at = 0; unit > 1 && at < copy.length; at += unit) copy.subarray(at, at + unit).reverse();
  return copy;
}

/** In Fortran order the first index varies fastest. */
function rowMajor(bytes: Buffer, shape: readonly number[], size: number): Buffer {
  const copy = Buffer.alloc(bytes.length);
  const strides = shape.map((_, i) => elementCount(shape.slice(0, i)));
  const index = shape.map(() => 0);
  for (let at = 0; at < copy.length; at += size) {
    const from = index.reduce((sum, one, i) => sum + one * (strides[i] ?? 0), 0) * size;
    bytes.copy(copy, at, from, from + size);
    for (let i = shape.length - 1; i >= 0; i -= 1) {
      const next = (index[i] ?? 0) + 1;
      index[i] = next < (shape[i] ?? 0) ? next : 0;
      if (index[i] !== 0) break;
    }
  }
  return copy;
}

/** Bytes without the zero padding; UTF-32 if `wide`. */
function fixedText(bytes: Buffer, wide: boolean): string | Uint8Array {
  if (wide) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const points = Array.from({ length: bytes.length / 4 }, (_, i) => view.getUint32(i * 4, true));
    while (points.at(-1) === 0) points.pop();
    return points
      .map((point) => (point > 0x10ffff ? '\ufffd' : String.fromCodePoint(point)))
      .join('');
  }
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0) end -= 1;
  const text = new Uint8Array(bytes.subarray(0, end));
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(text);
  } catch {
    return text;
  }
}
