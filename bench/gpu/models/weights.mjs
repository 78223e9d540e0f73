// Weights with a fixed seed, streamed to one file beside a model: those of BERT-base are 440 MB and
// are never in memory at once. Control plane.
import { closeSync, openSync, writeSync } from 'node:fs';
import { basename } from 'node:path';
import { int64Bytes } from '../../../dist/importers/onnx/builder.js';

// The runtime maps weights that begin at a page.
const ALIGNMENT = 4096;
const CHUNK_FLOATS = 1 << 20;

/** Numbers in [-1, 1), the same each time (the 32-bit LCG of bodies.mjs). */
export function fillUniform(values, state) {
  let next = state >>> 0;
  for (let i = 0; i < values.length; i += 1) {
    next = (Math.imul(next, 1664525) + 1013904223) >>> 0;
    values[i] = next / 2 ** 31 - 1;
  }
  return next;
}

/** A file of weights: each method writes a tensor and records its position for the model. */
export class WeightsFile {
  /** Initializers of the model, in the order of writing. */
  tensors = [];
  #file;
  #location;
  #offset = 0;
  #state;

  /** Creates the file at `path`; `seed` determines the random numbers. */
  constructor(path, seed) {
    this.#file = openSync(path, 'wx');
    this.#location = basename(path);
    this.#state = seed;
  }

  close() {
    closeSync(this.#file);
  }

  /**
   * Floats in [offset - bound, offset + bound). Returns `name`, as every method that writes a
   * tensor does.
   */
  floats(name, dims, bound, offset = 0) {
    const count = dims.reduce((product, dim) => product * dim, 1);
    this.#align();
    const start = this.#offset;
    const chunk = new Float32Array(Math.min(count, CHUNK_FLOATS));
    for (let done = 0; done < count; done += chunk.length) {
      const part = chunk.subarray(0, Math.min(chunk.length, count - done));
      this.#state = fillUniform(part, this.#state);
      for (let i = 0; i < part.length; i += 1) part[i] = offset + bound * part[i];
      this.#write(new Uint8Array(part.buffer, 0, part.byteLength));
    }
    const data = { location: this.#location, offset: start, byteLength: count * 4 };
    this.tensors.push({ name, type: 'float', dims, data });
    return name;
  }

  /**
   * A matrix or a kernel [out, in, ...] whose products keep the magnitude of their input: uniform,
   * with variance gain / `inputs`.
   */
  matrix(name, dims, inputs, gain = 1) {
    return this.floats(name, dims, Math.sqrt((3 * gain) / inputs));
  }

  /** A float that is part of the graph itself. */
  constant(name, value) {
    const data = new Uint8Array(Float32Array.of(value).buffer);
    this.tensors.push({ name, type: 'float', dims: [], data });
    return name;
  }

  /** Integers that are part of the graph itself: shapes and axes. */
  integers(name, values) {
    this.tensors.push({ name, type: 'int64', dims: [values.length], data: int64Bytes(values) });
    return name;
  }

  #align() {
    const over = this.#offset % ALIGNMENT;
    if (over > 0) this.#write(new Uint8Array(ALIGNMENT - over));
  }

  #write(bytes) {
    for (let done = 0; done < bytes.length; ) {
      done += writeSync(this.#file, bytes, done, bytes.length - done);
    }
    this.#offset += bytes.length;
  }
}
