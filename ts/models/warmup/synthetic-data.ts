// Synthetic tensor data for warmup requests: zeros, and pseudo-random numbers that are the same in
// every run. Control plane; pure.
import { dataTypeOf, type DataType } from '../../model/datatype.js';
import { bfloat16ToNumber } from '../../model/half.js';
import type { Datatype } from '../../model/snapshot.js';
import { elementBytes } from '../../model/infer/tensor.js';

/** FNV-1a, 32 bits. */
const HASH_START = 0x811c9dc5;
const HASH_FACTOR = 0x01000193;

/** `count` elements in raw form; BYTES elements are empty. */
export function zeroData(datatype: Datatype, count: number): Uint8Array {
  return new Uint8Array(count * elementBytes(datatype));
}

/**
 * `count` elements in raw form: integers over their full range, floats in [0, 1), BOOL 0 or 1.
 * BYTES elements are empty, as Triton's are: meaningful text cannot be guessed. Equal `seed`s give
 * equal data.
 */
export function randomData(datatype: Datatype, count: number, seed: string): Uint8Array {
  const out = zeroData(datatype, count);
  if (datatype === 'BYTES') return out;
  const put = randomElement(dataTypeOf(datatype), randomBits(seed));
  const view = new DataView(out.buffer);
  const bytes = elementBytes(datatype);
  for (let at = 0; at < out.length; at += bytes) put(view, at);
  return out;
}

function randomElement(
  { kind, bytes, v2, elements }: DataType,
  next: () => number,
): (view: DataView, at: number) => void {
  if (kind === 'bool') return (view, at) => view.setUint8(at, next() >>> 31);
  if (kind === 'float') {
    // Exact in the type, so that nothing is rounded up to 1.
    const value =
      v2 === 'BF16'
        ? (): number => bfloat16ToNumber(bfloatBits(unitFloat(next)))
        : v2 === 'FP16'
          ? (): number => (next() >>> 22) / 1024
          : (): number => unitFloat(next);
    return (view, at) => elements?.set(view, at, value());
  }
  if (bytes < 8) return (view, at) => elements?.set(view, at, next() >>> (32 - 8 * bytes));
  return (view, at) => {
    view.setUint32(at + 4, next(), true);
    view.setUint32(at, next(), true);
  };
}

/** Numbers in [0, 1) in steps of 2^-24, all exact in FP32. */
const unitFloat = (next: () => number): number => (next() >>> 8) / 2 ** 24;

/** The upper half of an FP32's bits: the value truncated to BF16. */
function bfloatBits(value: number): number {
  const view = new DataView(new ArrayBuffer(4));
  view.setFloat32(0, value);
  return view.getUint16(0);
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
