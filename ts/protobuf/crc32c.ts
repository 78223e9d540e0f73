// CRC-32C (Castagnoli), and the masked form that TFRecord files and checkpoints store. Control
// plane; pure.
// Source: RFC 3720 appendix B.4 (test vectors); tfserving.md 3.6.

/** The polynomial 0x1EDC6F41 with its bits reversed. */
const POLYNOMIAL = 0x82f63b78;
const MASK_DELTA = 0xa282ead8;

/** The remainder of each byte; computed at first use. */
let remainders: Uint32Array | undefined;

function makeRemainders(): Uint32Array {
  return Uint32Array.from({ length: 256 }, (_, byte) => {
    let rest = byte;
    for (let bit = 0; bit < 8; bit += 1) rest = (rest >>> 1) ^ ((rest & 1) * POLYNOMIAL);
    return rest;
  });
}

/**
 * The checksum of `bytes`, or, given the checksum `before`, of the earlier data followed by
 * `bytes`.
 */
export function crc32c(bytes: Uint8Array, before = 0): number {
  remainders ??= makeRemainders();
  let rest = ~before;
  for (let i = 0; i < bytes.length; i += 1) {
    rest = (remainders[(rest ^ (bytes[i] ?? 0)) & 0xff] ?? 0) ^ (rest >>> 8);
  }
  return ~rest >>> 0;
}

/** A checksum in stored form: rotated right by 15 bits, plus a constant. */
export function maskCrc(crc: number): number {
  return (((crc >>> 15) | (crc << 17)) + MASK_DELTA) >>> 0;
}
