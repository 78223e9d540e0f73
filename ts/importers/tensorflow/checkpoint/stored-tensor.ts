// A tensor stored in a checkpoint of either version, whole or in slices, and reading all or any
// slice of it. Control plane: the importer's worker thread. Source:
// tensorflow/core/util/tensor_slice_set.cc (cover), tensor_bundle.cc (GetSliceValue).
import { modelInvalid, unimplemented } from '../../../base/errors.js';
import { crc32c, maskCrc } from '../../../protobuf/crc32c.js';
import { dtypeOfCode, elementBytes } from '../../../model/datatype.js';
import type { Dtype, Tensor, TensorData } from '../types.js';
import type { Box } from './boxes.js';
import { boxText, eachRun, findOverlap, intersection, sameBox, volume } from './boxes.js';
import { allocate, hex32, readRange } from './bytes.js';

export interface StoredSlice {
  readonly box: Box;
  /**
   * Its elements: as many as the box has. Slices of a tensor share no bytes of a file, so their
   * memory is bounded by the file's size.
   */
  load(): TensorData;
}

export interface StoredTensor {
  readonly dtype: Dtype;
  readonly shape: readonly number[];
  /** A single one that covers everything for a tensor that is stored whole. */
  slices(): readonly StoredSlice[];
}

type FileData = Extract<TensorData, { readonly kind: 'file' }>;
type LoadedData = Exclude<TensorData, FileData>;

/**
 * Errors: ModelInvalid for an invalid data type, Unimplemented for one that is newer than this
 * reader.
 */
export function dtypeOf(code: number, where: string): Dtype {
  const dtype = dtypeOfCode(code);
  if (dtype !== undefined) return dtype;
  if (code <= 0) throw modelInvalid(where, `unknown data type ${code}`);
  throw unimplemented(where, `elements of data type number ${code} are not supported`);
}

/** Reads tensors; caches the last slice, because partial restores follow each other. */
export class TensorReader {
  #last: { readonly data: FileData; readonly bytes: Uint8Array } | undefined;
  readonly #checked = new WeakSet<readonly StoredSlice[]>();

  /** The elements in `request`. Errors: ModelInvalid naming `where`. */
  read(tensor: StoredTensor, request: Box, where: string): Tensor {
    const { dtype } = tensor;
    const slices = tensor.slices();
    this.#checkOverlap(slices, where);
    const data = this.#data(slices, dtype, request, where);
    return { dtype, shape: request.lengths, data };
  }

  #checkOverlap(slices: readonly StoredSlice[], where: string): void {
    if (this.#checked.has(slices)) return;
    const overlap = findOverlap(slices.map(({ box }) => box));
    if (overlap !== undefined) {
      throw modelInvalid(where, `slices ${boxText(overlap[0])} and ${boxText(overlap[1])} overlap`);
    }
    this.#checked.add(slices);
  }

  #data(slices: readonly StoredSlice[], dtype: Dtype, request: Box, where: string): TensorData {
    const exact = slices.find(({ box }) => sameBox(box, request));
    if (exact !== undefined) return exact.load();
    const needed = slices.filter(({ box }) => intersection(box, request) !== undefined);
    const count = volume(request.lengths, where);
    checkCover(needed, request, count, where);
    const parts = needed.map((slice) => ({ box: slice.box, data: slice.load() }));
    if (dtype === 'string') return putStrings(parts, request, count);
    const size = elementBytes(dtype);
    const out = allocate(count * size, where);
    for (const { box, data } of parts) {
      const bytes = this.#bytes(data, where);
      eachRun(box, request, (from, to, length) => {
        out.set(bytes.subarray(from * size, (from + length) * size), to * size);
      });
    }
    return { kind: 'bytes', bytes: out };
  }

  #bytes(data: TensorData, where: string): Uint8Array {
    if (data.kind === 'bytes') return data.bytes;
    if (data.kind !== 'file') throw modelInvalid(where, `unexpected elements of kind ${data.kind}`);
    const last = this.#last;
    if (
      last?.data.path === data.path &&
      last.data.offset === data.offset &&
      last.data.byteLength === data.byteLength
    )
      return last.bytes;
    this.#last = undefined;
    const bytes = readChecked(data, where);
    this.#last = { data, bytes };
    return bytes;
  }
}

/** A range of a file; its checksum, if known, is verified. */
export function readChecked(data: FileData, where: string): Uint8Array {
  const bytes = readRange(data.path, data.offset, data.byteLength);
  if (data.maskedCrc32c !== undefined) {
    checkCrc(maskCrc(crc32c(bytes)), data.maskedCrc32c, `${where} in ${data.path}`);
  }
  return bytes;
}

export function checkCrc(computed: number, stored: number, where: string): void {
  if (computed === stored) return;
  throw modelInvalid(where, `checksum: stored ${hex32(stored)}, computed ${hex32(computed)}`);
}

/** The slices do not overlap, so their covered parts can be added up. */
function checkCover(
  slices: readonly StoredSlice[],
  request: Box,
  count: number,
  where: string,
): void {
  let covered = 0;
  for (const { box } of slices) {
    covered += volume(intersection(box, request)?.lengths ?? [0], where);
  }
  if (covered === count) return;
  const listed = slices
    .slice(0, 8)
    .map(({ box }) => boxText(box))
    .join(' ');
  throw modelInvalid(
    where,
    `its stored slices cover ${covered} of the ${count} elements of ` +
      `${boxText(request)}: ${listed === '' ? 'none' : listed}${slices.length > 8 ? ' ...' : ''}`,
  );
}

function putStrings(
  parts: readonly { readonly box: Box; readonly data: TensorData }[],
  request: Box,
  count: number,
): LoadedData {
  const values = Array.from<Uint8Array>({ length: count });
  for (const { box, data } of parts) {
    if (data.kind !== 'strings') continue;
    eachRun(box, request, (from, to, length) => {
      for (let i = 0; i < length; i += 1) {
        values[to + i] = data.values[from + i] ?? new Uint8Array(0);
      }
    });
  }
  return { kind: 'strings', values };
}
