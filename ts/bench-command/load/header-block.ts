// Reads a block of HTTP/2 headers from a peer that was told to keep no table: what a gRPC answer's
// headers and trailers say. Pure; the load's threads. Source: RFC 7541 5, 6, A, B.

/** By bits of their codes, each list in the order of its codes; what is longer is not of texts. */
const HUFFMAN: readonly (readonly [bits: number, texts: string])[] = [
  [5, '012aceiost'],
  [6, ' %-./3456789=A_bdfghlmnpru'],
  [7, ':BCDEFGHIJKLMNOPQRSTUVWYjkqvwxyz'],
  [8, '&*,;XZ'],
  [10, '!"()?'],
  [11, "'+|"],
  [12, '#>'],
  [13, '\0$@[]~'],
  [14, '^}'],
  [15, '<`{'],
];
const HUFFMAN_BITS_MAX = 15;
const CODES = huffmanCodes();

function huffmanCodes(): ReadonlyMap<number, string> {
  const codes = new Map<number, string>();
  let next = 0;
  let before = 0;
  for (const [bits, texts] of HUFFMAN) {
    next *= 2 ** (bits - before);
    before = bits;
    for (const char of texts) codes.set(keyOf(bits, next++), char);
  }
  return codes;
}

/** A code with its length, which makes it one. */
function keyOf(bits: number, code: number): number {
  return (1 << bits) | code;
}

/** Static table: ":status" is 8 to 14. */
const STATIC_STATUSES = ['200', '204', '206', '304', '400', '404', '500'];
const STATIC_STATUS = 8;
const STATIC_ENTRIES = 61;

/** Values by name; those of names that only the static table has are under its number.
 * undefined: the block is wrong, or is of a peer with a table. */
export function readHeaderBlock(block: Buffer): ReadonlyMap<string, string> | undefined {
  const fields = new Map<string, string>();
  const at = { place: 0 };
  while (at.place < block.length) {
    const first = block[at.place] ?? 0;
    if (first >= 0x80) {
      const index = readNumber(block, at, 7);
      const status = STATIC_STATUSES[index - STATIC_STATUS];
      if (index === 0 || index > STATIC_ENTRIES) return undefined;
      if (status !== undefined) fields.set(':status', status);
    } else if (first >= 0x20 && first < 0x40) {
      readNumber(block, at, 5);
    } else {
      const index = readNumber(block, at, first >= 0x40 ? 6 : 4);
      if (index > STATIC_ENTRIES) return undefined;
      const isStatus = STATIC_STATUSES[index - STATIC_STATUS] !== undefined;
      const name = index === 0 ? readText(block, at) : isStatus ? ':status' : String(index);
      const value = readText(block, at);
      if (name === undefined || value === undefined) return undefined;
      fields.set(name, value);
    }
  }
  return fields;
}

interface Place {
  place: number;
}

/** Past the end it is NaN, which no text is long. */
function readNumber(block: Buffer, at: Place, bits: number): number {
  const full = 2 ** bits - 1;
  let value = (block[at.place++] ?? NaN) & full;
  if (value < full) return value;
  for (let scale = 1; scale < 2 ** 28; scale *= 128) {
    const byte = block[at.place++];
    if (byte === undefined) return NaN;
    value += (byte & 127) * scale;
    if (byte < 128) return value;
  }
  return NaN;
}

function readText(block: Buffer, at: Place): string | undefined {
  const packed = ((block[at.place] ?? 0) & 0x80) !== 0;
  const length = readNumber(block, at, 7);
  const end = at.place + length;
  if (!(end <= block.length)) return undefined;
  const bytes = block.subarray(at.place, end);
  at.place = end;
  return packed ? unpacked(bytes) : bytes.toString('latin1');
}

/** Up to the first character that is none of HUFFMAN; the rest is lost. */
function unpacked(bytes: Buffer): string {
  let text = '';
  let bits = 0;
  let code = 0;
  for (const byte of bytes) {
    for (let bit = 7; bit >= 0; bit -= 1) {
      code = code * 2 + ((byte >> bit) & 1);
      bits += 1;
      const char = CODES.get(keyOf(bits, code));
      if (char === undefined && bits === HUFFMAN_BITS_MAX) return text;
      if (char === undefined) continue;
      text += char;
      bits = 0;
      code = 0;
    }
  }
  return text;
}
