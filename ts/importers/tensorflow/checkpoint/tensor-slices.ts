// A version 1 checkpoint: tables with a list of tensors under the key "" and a message of typed
// values for each slice. Slices of one tensor may be in several files. Control plane: the
// importer's worker thread. Source:
// tensorflow/core/util/{tensor_slice_reader,saved_tensor_slice_util}.cc.
import { modelInvalid } from '../../../base/errors.js';
import {
  CHECKPOINT_BLOCK_BYTES_MAX,
  CHECKPOINT_ENTRIES_MAX,
  CHECKPOINT_INDEX_BYTES_MAX,
  CHECKPOINT_SHARDS_MAX,
  CHECKPOINT_SLICES_MAX,
} from '../../../base/limits.js';
import type { Dtype, TensorData } from '../types.js';
import type { Box } from './boxes.js';
import { boxOf, boxText, sameBox, volume } from './boxes.js';
import type { TensorMeta } from './messages.js';
import { readSavedSlice, readTensorMetas } from './messages.js';
import type { Extent } from './ordered-code.js';
import { sliceKey } from './ordered-code.js';
import type { StoredSlice, StoredTensor } from './stored-tensor.js';
import { dtypeOf } from './stored-tensor.js';
import { BlockCache, TableFile } from './table.js';
import { readTypedValues } from './typed-values.js';

/** The list's key. */
const META_KEY = '';

/** Tensors of all files by name. Reads only the lists. Errors: ModelInvalid, Unimplemented. */
export function openTensorSlices(files: readonly string[]): ReadonlyMap<string, StoredTensor> {
  if (files.length === 0 || files.length > CHECKPOINT_SHARDS_MAX) {
    throw modelInvalid(
      'version 1 checkpoint',
      `expected 1 to ${CHECKPOINT_SHARDS_MAX} files, got ${files.length}`,
    );
  }
  const tensors = new Map<string, SlicedTensor>();
  const cache = new BlockCache();
  for (const path of files) {
    const table = new TableFile(path, CHECKPOINT_BLOCK_BYTES_MAX, cache);
    const meta = table.get(META_KEY);
    if (meta === undefined) throw modelInvalid(path, 'expected a list of tensors under the key ""');
    if (meta.length > CHECKPOINT_INDEX_BYTES_MAX) {
      throw modelInvalid(
        path,
        `list of tensors: expected at most ${CHECKPOINT_INDEX_BYTES_MAX} bytes, ` +
          `got ${meta.length}`,
      );
    }
    const here = new Set<string>();
    readTensorMetas(meta, path, (tensor) => {
      if (here.has(tensor.name))
        throw modelInvalid(path, `tensor '${tensor.name}' is listed twice`);
      here.add(tensor.name);
      addTensor(tensors, table, tensor);
    });
  }
  return tensors;
}

function addTensor(tensors: Map<string, SlicedTensor>, table: TableFile, meta: TensorMeta): void {
  const where = `${table.path}: tensor '${meta.name}'`;
  const dtype = dtypeOf(meta.dtypeCode, where);
  const known = tensors.get(meta.name) ?? new SlicedTensor(meta.name, dtype, meta.shape);
  if (known.dtype !== dtype || known.shape.join(',') !== meta.shape.join(',')) {
    throw modelInvalid(
      where,
      `expected ${known.dtype} [${known.shape.join(',')}] as in another file, ` +
        `got ${dtype} [${meta.shape.join(',')}]`,
    );
  }
  for (const extents of meta.slices) known.add(table, extents, where);
  tensors.set(meta.name, known);
  if (tensors.size > CHECKPOINT_ENTRIES_MAX) {
    throw modelInvalid(where, `expected at most ${CHECKPOINT_ENTRIES_MAX} tensors`);
  }
}

class SlicedTensor implements StoredTensor {
  readonly dtype: Dtype;
  readonly shape: readonly number[];
  readonly #name: string;
  readonly #slices: StoredSlice[] = [];

  constructor(name: string, dtype: Dtype, shape: readonly number[]) {
    this.#name = name;
    this.dtype = dtype;
    this.shape = shape;
  }

  slices(): readonly StoredSlice[] {
    return this.#slices;
  }

  add(table: TableFile, extents: readonly Extent[], where: string): void {
    const box = boxOf(extents, this.shape, where);
    if (this.#slices.length >= CHECKPOINT_SLICES_MAX) {
      throw modelInvalid(where, `expected at most ${CHECKPOINT_SLICES_MAX} slices, got more`);
    }
    this.#slices.push({
      box,
      load: () => this.#load(table, extents, box, `${where} slice ${boxText(box)}`),
    });
  }

  #load(table: TableFile, extents: readonly Extent[], box: Box, where: string): TensorData {
    const value = table.get(sliceKey(this.#name, extents));
    if (value === undefined) throw modelInvalid(where, 'is listed, but not stored');
    const saved = readSavedSlice(value, where);
    if (saved === undefined) throw modelInvalid(where, 'its entry holds no slice');
    const found = boxOf(saved.extents, this.shape, where);
    if (saved.name !== this.#name || !sameBox(found, box)) {
      throw modelInvalid(where, `its entry holds slice ${boxText(found)} of '${saved.name}'`);
    }
    return readTypedValues(saved.data, this.dtype, volume(box.lengths, where), where);
  }
}
