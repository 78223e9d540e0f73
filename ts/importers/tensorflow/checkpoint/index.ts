// TensorFlow checkpoints of both versions: lists their tensors and reads them whole or in slices.
// Control plane: the importer's worker thread (reads files synchronously). Source:
// tensorflow/core/util/{tensor_bundle,tensor_slice_reader}.
import { resolve } from 'node:path';
import { modelInvalid } from '../../../base/errors.js';
import type { Checkpoint, CheckpointFiles, Dtype, Slice, Tensor } from '../types.js';
import { boxOf, wholeBox } from './boxes.js';
import { openBundle } from './bundle.js';
import type { StoredTensor } from './stored-tensor.js';
import { TensorReader } from './stored-tensor.js';
import { openTensorSlices } from './tensor-slices.js';

/**
 * Opens a checkpoint; reads its lists of tensors, not their elements. No file stays open. Errors:
 * ModelInvalid (missing, damaged, over a limit) and Unimplemented (big-endian, made for newer
 * readers), naming file and location. Errors of a single tensor are reported when it is read.
 */
export function openCheckpoint(files: CheckpointFiles): Checkpoint {
  if (files.version === 2) {
    const prefix = resolve(files.prefix);
    return new StoredCheckpoint(prefix, openBundle(prefix));
  }
  const paths = files.files.map((path) => resolve(path));
  return new StoredCheckpoint(paths[0] ?? '', openTensorSlices(paths));
}

class StoredCheckpoint implements Checkpoint {
  readonly names: readonly string[];
  readonly #place: string;
  readonly #tensors: ReadonlyMap<string, StoredTensor>;
  readonly #reader = new TensorReader();

  constructor(place: string, tensors: ReadonlyMap<string, StoredTensor>) {
    this.#place = place;
    this.#tensors = tensors;
    this.names = [...tensors.keys()].sort();
  }

  has(name: string): boolean {
    return this.#tensors.has(name);
  }

  describe(name: string): { readonly dtype: Dtype; readonly shape: readonly number[] } {
    const { dtype, shape } = this.#find(name);
    return { dtype, shape };
  }

  read(name: string, slice?: Slice): Tensor {
    const tensor = this.#find(name);
    const where = `checkpoint ${this.#place}: tensor '${name}'`;
    const request =
      slice === undefined ? wholeBox(tensor.shape) : boxOf(slice, tensor.shape, where);
    return this.#reader.read(tensor, request, where);
  }

  #find(name: string): StoredTensor {
    const tensor = this.#tensors.get(name);
    if (tensor !== undefined) return tensor;
    throw modelInvalid(`checkpoint ${this.#place}`, `it has no tensor '${name}'`);
  }
}
