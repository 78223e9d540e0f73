// Made-up tensor data for warmup requests: zeros, and numbers that are random but the same in every
// run. Control plane; pure.
import type { Datatype } from '../model/snapshot.js';
import { ELEMENT_BYTES } from './tensor.js';

/** FNV-1a, 32 bits. */
const HASH_START = 0x811c9dc5;
const HASH_FACTOR = 0x01000193;

/** `count` elements in raw form; BYTES elements are empty. */
export function zeroData(datatype: Datatype, count: number): Uint8Array {
  return new Uint8Array(count * ELEMENT_BYTES[datatype]);
}

/** `count` elements in raw form: integers over their full range, floats from 0 up to but not
 * including 1, BOOL 0 or 1. BYTES elements are empty, as Triton's are: text that a model would
 * understand cannot be guessed. Equal `seed`s give equal data. */
export function randomData(datatype: Datatype, count: number, seed: string): Uint8Array {
  const out = zeroData(datatype, count);
  if (datatype === 'BYTES') return out;
  const elementBytes = ELEMENT_BYTES[datatype];
  const view = new DataView(out.buffer);
  const next = randomBits(seed);
  for (let at = 0; at < out.length; at += elementBytes) putRandom(view, at, datatype, next);
  return out;
}

function putRandom(view: DataView, at: number, datatype: Datatype, next: () => number): void {
  switch (datatype) {
    case 'BOOL':
      view.setUint8(at, next() >>> 31);
      return;
    case 'UINT8':
    case 'INT8':
      view.setUint8(at, next() >>> 24);
      return;
    case 'UINT16':
    case 'INT16':
      view.setUint16(at, next() >>> 16, true);
      return;
    case 'UINT64':
    case 'INT64':
      view.setUint32(at + 4, next(), true);
      view.setUint32(at, next(), true);
      return;
    case 'UINT32':
    case 'INT32':
      view.setUint32(at, next(), true);
      return;
    case 'FP32':
      view.setFloat32(at, unitFloat(next), true);
      return;
    case 'FP64':
      view.setFloat64(at, unitFloat(next), true);
      return;
    case 'BF16':
      view.setUint16(at, bfloatBits(unitFloat(next)), true);
      return;
    case 'FP16':
      view.setUint16(at, halfBits(next() >>> 22), true);
      return;
    case 'BYTES':
  }
}

/** From 0 up to but not including 1 in steps of 2^-24, all exact in FP32. */
const unitFloat = (next: () => number): number => (next() >>> 8) / 2 ** 24;

/** The upper half of an FP32's bits: the BF16 next to it towards zero. */
function bfloatBits(value: number): number {
  const view = new DataView(new ArrayBuffer(4));
  view.setFloat32(0, value);
  return view.getUint16(0);
}

/** The FP16 of steps / 1024; steps is below 1024. */
function halfBits(steps: number): number {
  if (steps === 0) return 0;
  const power = 31 - Math.clz32(steps);
  return ((power + 5) << 10) | ((steps << (10 - power)) & 0x3ff);
}

/** 32 random bits per call: xorshift32. */
function randomBits(seed: string): () => number {
  let state = HASH_START;
  for (let i = 0; i < seed.length; i += 1) {
    state = Math.imul(state ^ seed.charCodeAt(i), HASH_FACTOR);
  }
  if (state === 0) state = HASH_START;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
}
