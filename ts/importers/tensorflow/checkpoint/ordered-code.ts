// OrderedCode: the encoding of the key of a tensor slice in checkpoints, which makes keys sort by
// name and position. Write-only: the stored value describes itself. Control plane; pure. Source:
// tensorflow/core/lib/strings/ordered_code.cc, core/util/saved_tensor_slice_util.cc.
import { byteText } from './bytes.js';

/** An extent in stored form; `length` undefined = the whole dimension. */
export interface Extent {
  readonly start: number;
  readonly length: number | undefined;
}

/** Encoded length of a whole dimension. */
const WHOLE = -1;
/** Magnitude bits in each byte of a signed number. */
const SIGNED_BITS_PER_BYTE = 7;

/** The key of a slice, one character per byte. */
export function sliceKey(name: string, extents: readonly Extent[]): string {
  const out: number[] = [];
  writeUint(out, 0);
  writeString(out, Buffer.from(name, 'utf8'));
  writeUint(out, extents.length);
  for (const { start, length } of extents) {
    writeSigned(out, start);
    writeSigned(out, length ?? WHOLE);
  }
  return byteText(Uint8Array.from(out));
}

/**
 * A length byte, then the number without leading zeros, big-endian. Zero is only the length byte.
 */
export function writeUint(out: number[], value: number): void {
  const digits: number[] = [];
  for (let rest = value; rest > 0; rest = Math.floor(rest / 256)) digits.unshift(rest % 256);
  out.push(digits.length, ...digits);
}

/** 00 and FF are followed by a byte that distinguishes them from the end, which is 00 01. */
export function writeString(out: number[], bytes: Uint8Array): void {
  for (const byte of bytes) {
    out.push(byte);
    if (byte === 0x00) out.push(0xff);
    else if (byte === 0xff) out.push(0x00);
  }
  out.push(0x00, 0x01);
}

/**
 * Two's complement, big-endian, in n bytes of 7 bits each, with the first n bits inverted to encode
 * the length and the sign: -64..63 is 0x80 xor the value.
 */
export function writeSigned(out: number[], value: number): void {
  const number = BigInt(value);
  const magnitude = number < 0n ? ~number : number;
  const bits = magnitude === 0n ? 0 : magnitude.toString(2).length;
  const count = Math.floor(bits / SIGNED_BITS_PER_BYTE) + 1;
  const header = ((1n << BigInt(count)) - 1n) << BigInt(count * 8 - count);
  const coded = BigInt.asUintN(count * 8, number) ^ header;
  for (let i = count - 1; i >= 0; i -= 1) out.push(Number((coded >> BigInt(i * 8)) & 0xffn));
}
