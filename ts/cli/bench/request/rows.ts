// The inputs of a bench, and the same with another number of rows. Pure; control plane.
import { LENGTH_BYTES } from '../../../model/infer/tensor.js';
import { elementCount } from '../../../model/shape.js';
import { configError } from '../../../config/values/values.js';
import { pictureShape } from '../../../protocols/sample-request.js';
import type { EncodedTensor, InputInfo, Inputs, InputValue } from '../../../library/types.js';
import { tensorInput } from '../../../library/flatten.js';
import { dataTypeOf } from '../../../model/datatype.js';
import { echo } from '../../../base/text.js';

/** Whether the first dimension of all inputs is dynamic: the rows of a request. */
export function hasRows(infos: readonly InputInfo[]): boolean {
  return (
    infos.length > 0 && infos.every(({ shape, unknownRank }) => !unknownRank && (shape[0] ?? 0) < 0)
  );
}

/**
 * `text`: NAME=3,224,224 (--shape), of all dimensions or of the trailing dimensions after the rows.
 * Errors: InvalidArgument.
 */
export function shapedInfos(
  infos: readonly InputInfo[],
  texts: readonly string[],
): readonly InputInfo[] {
  const given = new Map<string, readonly number[]>();
  for (const text of texts) {
    const [, name = '', dims] = /^(.+)=(\d{1,9}(?:,\d{1,9})*)$/.exec(text) ?? [];
    if (dims === undefined) {
      throw configError('--shape', `expected NAME=N,N,..., got ${echo(text)}`);
    }
    if (!infos.some((one) => one.name === name)) {
      const names = infos.map((one) => one.name).join(', ');
      throw configError('--shape', `no input ${echo(name)}; the model has ${names}`);
    }
    given.set(name, dims.split(',').map(Number));
  }
  return infos.map((info) => {
    const dims = given.get(info.name);
    if (dims === undefined) return { ...info, shape: pictureOf(info) };
    if (info.unknownRank || dims.length === info.shape.length) {
      return { ...info, shape: dims, unknownRank: false };
    }
    const rest = info.shape.slice(1);
    const fits = rest.length === dims.length && rest.every((dim, i) => dim < 0 || dim === dims[i]);
    if (fits) return { ...info, shape: [info.shape[0] ?? 1, ...dims] };
    const expected = info.shape.map((dim) => (dim < 0 ? '?' : dim)).join(',');
    throw configError('--shape', `input '${info.name}' is [${expected}], got [${dims.join(',')}]`);
  });
}

/** Dynamic sides of images get a realistic size; the rows stay dynamic. */
function pictureOf(info: InputInfo): readonly number[] {
  const picture = pictureShape({ ...info, symbols: [] });
  const [rows = 1, ...rest] = info.shape;
  return picture === undefined ? info.shape : [rows, ...rest.map((_, i) => picture[i + 1] ?? 1)];
}

/**
 * Tensors with this number of rows, repeating the available ones. Errors: InvalidArgument: a tensor
 * without rows.
 */
export function tensorsOfRows(tensors: readonly EncodedTensor[], rows: number): EncodedTensor[] {
  return tensors.map((tensor) => {
    const { name, shape, bytes, datatype } = tensor;
    const own = shape[0] ?? 0;
    if (own === rows) return tensor;
    if (own === 0) throw configError('--input', `input '${name}': expected at least one row`);
    const isText = dataTypeOf(datatype).kind === 'text';
    const ends = isText ? textRowEnds(bytes, own, shape) : evenRowEnds(bytes.length, own);
    const parts = Array.from({ length: rows }, (_, i) => {
      const row = i % own;
      return bytes.subarray(row === 0 ? 0 : ends[row - 1], ends[row]);
    });
    return { ...tensor, shape: [rows, ...shape.slice(1)], bytes: Buffer.concat(parts) };
  });
}

const evenRowEnds = (bytes: number, rows: number): readonly number[] =>
  Array.from({ length: rows }, (_, i) => ((i + 1) * bytes) / rows);

function textRowEnds(bytes: Uint8Array, rows: number, shape: readonly number[]): readonly number[] {
  const elements = elementCount(shape.slice(1));
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const ends: number[] = [];
  let at = 0;
  for (let row = 0; row < rows; row += 1) {
    for (let i = 0; i < elements; i += 1) at += LENGTH_BYTES + view.getUint32(at, true);
    ends.push(at);
  }
  return ends;
}

/** Columns of a tabular model with this number of rows. */
export function columnsOfRows(columns: Inputs, rows: number): Inputs {
  return Object.fromEntries(
    Object.entries(columns).map(([name, value]): [string, InputValue] => {
      const { data, ...rest } = tensorInput(`input '${name}'`, value);
      const cells = Array.isArray(data) || ArrayBuffer.isView(data) ? [...(data as [])] : [data];
      if (cells.length === 0) throw configError('--input', `input '${name}': expected one row`);
      const own = Array.from({ length: rows }, (_, i) => cells[i % cells.length] ?? null);
      const shape = rest.shape && [rows, ...rest.shape.slice(1)];
      return [name, { ...rest, ...(shape !== undefined && { shape }), data: own }];
    }),
  );
}
