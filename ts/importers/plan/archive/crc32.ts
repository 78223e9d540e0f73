// CRC-32 as zip has it. Node's own is there from 20.15 and 22.2 on. Control plane; pure.
import * as zlib from 'node:zlib';

const POLYNOMIAL = 0xedb88320;

let table: Uint32Array | undefined;

function makeTable(): Uint32Array {
  return Uint32Array.from({ length: 256 }, (_, byte) => {
    let value = byte;
    for (let bit = 0; bit < 8; bit += 1) {
      value = (value & 1) === 1 ? (value >>> 1) ^ POLYNOMIAL : value >>> 1;
    }
    return value;
  });
}

/**
 * Portable implementation for a Node without zlib.crc32. `before`: the checksum of the bytes before
 * `bytes`.
 */
export function plainCrc32(bytes: Uint8Array, before = 0): number {
  table ??= makeTable();
  let value = (before ^ 0xffffffff) >>> 0;
  for (const byte of bytes) value = (table[(value ^ byte) & 0xff] ?? 0) ^ (value >>> 8);
  return (value ^ 0xffffffff) >>> 0;
}

type Crc32 = (bytes: Uint8Array, before?: number) => number;

export function crc32(bytes: Uint8Array, before = 0): number {
  const { crc32: own } = zlib as { readonly crc32?: Crc32 };
  return own === undefined ? plainCrc32(bytes, before) : own(bytes, before);
}
