// OrderedCode: how checkpoints spell the key of one slice of a tensor, so that the keys sort by
// name and place. Only written: what is stored under a key says itself what it is. Control plane;
// pure.
// Source: tensorflow/core/lib/strings/ordered_code.cc, core/util/saved_tensor_slice_util.cc.
import { byteText } from './bytes.js';

/** An extent as it is stored; `length` undefined = the whole dimension. */
export interface Extent {
  readonly start: number;
  readonly length: number | undefined;
}

/** How a whole dimension is written. */
const WHOLE = -1;
/** Magnitude bits that fit into each byte of a signed number. */
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

/** A length byte, then the number without leading zeros, big-endian. Zero is its length alone. */
export function writeUint(out: number[], value: number): void {
  const digits: number[] = [];
  for (let rest = value; rest > 0; rest = Math.floor(rest / 256)) digits.unshift(rest % 256);
  out.push(digits.length, ...digits);
}

/** 00 and FF are followed by a byte that tells them from the end, which is 00 01. */
export function writeString(out: number[], bytes: Uint8Array): void {
  for (const byte of bytes) {
    out.push(byte);
    if (byte === 0x00) out.push(0xff);
    else if (byte === 0xff) out.push(0x00);
  }
  out.push(0x00, 0x01);
}

/** Two's complement, big-endian, in n bytes of 7 bits each, the first n bits turned over to a one
 * for each byte and the sign: -64..63 is 0x80 xor the value. */
export function writeSigned(out: number[], value: number): void {
  const number = BigInt(value);
  const magnitude = number < 0n ? ~number : number;
  const bits = magnitude === 0n ? 0 : magnitude.toString(2).length;
  const count = Math.floor(bits / SIGNED_BITS_PER_BYTE) + 1;
  const header = ((1n << BigInt(count)) - 1n) << BigInt(count * 8 - count);
  const coded = BigInt.asUintN(count * 8, number) ^ header;
  for (let i = count - 1; i >= 0; i -= 1) out.push(Number((coded >> BigInt(i * 8)) & 0xffn));
}
