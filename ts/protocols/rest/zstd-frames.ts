// Parses the frames of a zstd body just far enough to know whether it is complete: Node's
// decompressor returns the data of a truncated body without an error. Compressed bodies only; the
// listener's thread. Source: RFC 8878 3.1.

const MAGIC = 0xfd2fb528;
const SKIPPABLE = 0x184d2a50;
const CHECKSUM_BYTES = 4;
const RLE = 1;
/** Indexed by the flags of a frame's descriptor. */
const DICTIONARY_BYTES = [0, 1, 2, 4] as const;
const SIZE_BYTES = [0, 2, 4, 8] as const;

/** Whether a body consists of whole frames, at least one. Their contents are not checked. */
export function hasWholeFrames(body: Buffer): boolean {
  let at = 0;
  while (at + 4 <= body.length) {
    const end = frameEnd(body, at);
    if (end === undefined || end > body.length) return false;
    at = end;
  }
  return at > 0 && at === body.length;
}

/**
 * Returns the end of the frame that begins at `at`, possibly beyond the body; undefined: it is not
 * a frame.
 */
function frameEnd(body: Buffer, at: number): number | undefined {
  const magic = body.readUInt32LE(at);
  if ((magic & ~0xf) >>> 0 === SKIPPABLE) {
    return at + 8 <= body.length ? at + 8 + body.readUInt32LE(at + 4) : undefined;
  }
  const descriptor = body[at + 4];
  if (magic !== MAGIC || descriptor === undefined) return undefined;
  const isSingle = (descriptor & 0x20) !== 0;
  const sizeFlag = descriptor >> 6;
  const sizeBytes = sizeFlag === 0 && isSingle ? 1 : (SIZE_BYTES[sizeFlag] ?? 0);
  const header = 5 + Number(!isSingle) + (DICTIONARY_BYTES[descriptor & 3] ?? 0) + sizeBytes;
  let next = at + header;
  for (let isLast = false; !isLast; ) {
    if (next + 3 > body.length) return undefined;
    const block = body.readUIntLE(next, 3);
    isLast = (block & 1) === 1;
    next += 3 + (((block >> 1) & 3) === RLE ? 1 : block >> 3);
  }
  return next + ((descriptor & 4) === 0 ? 0 : CHECKSUM_BYTES);
}
