// The constants shared by a model's graphs: each is stored once, as raw bytes of an existing file
// (checkpoint, GraphDef) or of the one blob file that an import writes. Importer's worker thread.
import { closeSync, openSync, writeSync } from 'node:fs';
import { elementCount } from '../../../model/shape.js';
import { ErrorCode, ServalError } from '../../../base/errors.js';
import type { ImportedWeight } from '../imported.js';
import type { Tensor } from '../types.js';
import { tensorBytes } from './tensors.js';
import { dtypeBytes } from './values.js';

/** Smaller constants stay inside the ONNX graph, where shapes and axes are read. */
export const INLINE_BYTES_MAX = 1024;

/** Names of weights, in all graphs of a model. */
export const WEIGHT_NAME = /^weight\d+$/;

const ALIGNMENT = 64;
/** Maximum total size in the blob of constants given by one repeated element. */
const FILLED_BYTES_MAX = 268_435_456;

interface Place {
  readonly path: string;
  readonly offset: number;
  readonly byteLength: number;
  readonly maskedCrc32c?: number;
}

export class WeightStore {
  readonly location: string;
  readonly #blobPath: string;
  readonly #copiesAll: boolean;
  readonly #weights: ImportedWeight[] = [];
  readonly #byTensor = new Map<Tensor, number>();
  readonly #byPlace = new Map<string, number>();
  readonly #written = new Map<Uint8Array, Place>();
  readonly #filled = new Map<string, Place>();
  #filledBytes = 0;
  #blob: number | undefined;
  #blobBytes = 0;

  /**
   * `blobPath`: file for bytes that no file contains in raw form, created on demand. `location`:
   * the location of constants in the graphs. `copiesAll`: all go to the blob.
   */
  constructor(blobPath: string, location = 'weights', copiesAll = false) {
    this.#blobPath = blobPath;
    this.location = location;
    this.#copiesAll = copiesAll;
  }

  get weights(): readonly ImportedWeight[] {
    return this.#weights;
  }

  /** The index of the tensor's weight: the same for equal tensors. Not for strings. */
  add(tensor: Tensor): number {
    const known = this.#byTensor.get(tensor);
    if (known !== undefined) return known;
    const { path, offset, byteLength, maskedCrc32c } = this.#place(tensor);
    const { dtype, shape } = tensor;
    const key = `${path}\n${offset} ${byteLength} ${dtype} ${shape.join(',')}`;
    let index = this.#byPlace.get(key);
    if (index === undefined) {
      index = this.#weights.length;
      const crc = maskedCrc32c === undefined ? {} : { maskedCrc32c };
      this.#weights.push({
        name: `weight${index}`,
        dtype,
        shape,
        path,
        offset,
        byteLength,
        ...crc,
      });
      this.#byPlace.set(key, index);
    }
    this.#byTensor.set(tensor, index);
    return index;
  }

  /** Closes the blob file. */
  close(): void {
    if (this.#blob !== undefined) closeSync(this.#blob);
    this.#blob = undefined;
  }

  #place(tensor: Tensor): Place {
    const { data } = tensor;
    if (data.kind === 'file' && !this.#copiesAll) return data;
    if (data.kind === 'fill') return this.#fill(tensor, data.element);
    const bytes = tensorBytes(tensor);
    const known = this.#written.get(bytes);
    if (known !== undefined) return known;
    const place = this.#write(bytes);
    this.#written.set(bytes, place);
    return place;
  }

  /** One repeated element: equal ones are written once. */
  #fill(tensor: Tensor, element: Uint8Array): Place {
    const key = `${tensorByteLength(tensor)} ${Buffer.from(element).toString('hex')}`;
    const known = this.#filled.get(key);
    if (known !== undefined) return known;
    this.#filledBytes += tensorByteLength(tensor);
    if (this.#filledBytes > FILLED_BYTES_MAX) {
      throw new ServalError(
        ErrorCode.ModelInvalid,
        `constants that repeat one element: expected at most ${FILLED_BYTES_MAX} bytes in total, ` +
          `got ${this.#filledBytes}`,
      );
    }
    const place = this.#write(tensorBytes(tensor));
    this.#filled.set(key, place);
    return place;
  }

  #write(bytes: Uint8Array): Place {
    this.#blob ??= openSync(this.#blobPath, 'w');
    const offset = Math.ceil(this.#blobBytes / ALIGNMENT) * ALIGNMENT;
    for (let done = 0; done < bytes.length; ) {
      done += writeSync(this.#blob, bytes, done, bytes.length - done, offset + done);
    }
    this.#blobBytes = offset + bytes.length;
    return { path: this.#blobPath, offset, byteLength: bytes.length };
  }
}

/** Byte length of the tensor's elements; 0 for strings. */
export const tensorByteLength = (tensor: Tensor): number =>
  elementCount(tensor.shape) * dtypeBytes(tensor.dtype);
