// Writes ZIP archives whose bytes depend on the entries only: one time stamp, no extra fields.
// Build time only.
import { crc32, deflateRawSync } from 'node:zlib';

const [LOCAL, CENTRAL, END] = [0x04034b50, 0x02014b50, 0x06054b50];
const VERSION = 20; // 2.0, the first with Deflate
const MADE_ON_UNIX = 3 << 8;
const UTF8_NAMES = 1 << 11;
const DEFLATED = 8;
const REGULAR_FILE = 0o100000;
const SIZE_MAX = 0xffffffff;

/** MS-DOS date and time of seconds since 1970, UTC, not before 1980. Pure. */
function dosTime(seconds) {
  const at = new Date(Math.max(seconds, 315532800) * 1000);
  const date =
    ((at.getUTCFullYear() - 1980) << 9) | ((at.getUTCMonth() + 1) << 5) | at.getUTCDate();
  const time = (at.getUTCHours() << 11) | (at.getUTCMinutes() << 5) | (at.getUTCSeconds() >> 1);
  return (date * 0x10000 + time) >>> 0;
}

// The 26 bytes that a local header and the central directory have in common.
function commonHeader({ name, data }, packed, stamp) {
  const header = Buffer.alloc(26);
  header.writeUInt16LE(VERSION, 0);
  header.writeUInt16LE(UTF8_NAMES, 2);
  header.writeUInt16LE(DEFLATED, 4);
  header.writeUInt32LE(stamp, 6);
  header.writeUInt32LE(crc32(data), 10);
  header.writeUInt32LE(packed.length, 14);
  header.writeUInt32LE(data.length, 18);
  header.writeUInt16LE(Buffer.byteLength(name), 22);
  return header;
}

const number = (value, bytes) => {
  const buffer = Buffer.alloc(bytes);
  buffer.writeUIntLE(value, 0, bytes);
  return buffer;
};

/**
 * Returns an archive of `entries` in their order: {name, data: Buffer, mode}. `seconds` since 1970
 * is the time of all. Throws above 4 GiB (no ZIP64). Pure.
 */
export function zip(entries, seconds, level = 6) {
  const stamp = dosTime(seconds);
  const [parts, directory] = [[], []];
  let offset = 0;
  for (const entry of entries) {
    const packed = deflateRawSync(entry.data, { level });
    const name = Buffer.from(entry.name);
    const header = commonHeader(entry, packed, stamp);
    parts.push(number(LOCAL, 4), header, name, packed);
    const attributes = Buffer.alloc(14); // no comment, first disk, binary
    attributes.writeUInt32LE(((REGULAR_FILE | entry.mode) * 0x10000) >>> 0, 6);
    attributes.writeUInt32LE(offset, 10);
    directory.push(number(CENTRAL, 4), number(MADE_ON_UNIX | VERSION, 2), header, attributes, name);
    offset += 4 + header.length + name.length + packed.length;
    if (offset > SIZE_MAX) throw new Error('zip: the archive would be larger than 4 GiB');
  }
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(END, 0);
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...parts, central, end]);
}
