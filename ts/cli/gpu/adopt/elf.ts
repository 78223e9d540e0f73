// Reads what a shared library says about itself: its machine, its soname and the libraries it
// needs. Control plane; reads a few blocks of the file. Source: elf.h; the ELF-64 object format.
import { closeSync, openSync, readSync } from 'node:fs';

export interface SharedLibrary {
  /** "x86-64", "aarch64", or "machine N". */
  readonly machine: string;
  /** "" if it has none. */
  readonly soname: string;
  readonly needed: readonly string[];
}

const MACHINES: Readonly<Record<number, string>> = { 62: 'x86-64', 183: 'aarch64' };
const HEADER_BYTES = 64;
const PROGRAM_HEADER_BYTES = 56;
const PROGRAM_HEADERS_MAX = 1024;
const [SEGMENT_LOAD, SEGMENT_DYNAMIC] = [1, 2];
const [TAG_END, TAG_NEEDED, TAG_STRINGS, TAG_STRING_BYTES, TAG_SONAME] = [0, 1, 5, 10, 14];
/** Maximum size of a dynamic section and of its strings: NVIDIA's largest have under 4 MB. */
const SECTION_BYTES_MAX = 64 * 1024 * 1024;

interface Segment {
  readonly kind: number;
  readonly offset: number;
  readonly address: number;
  readonly bytes: number;
}

/** Errors: RangeError naming what was expected; a system error if the file cannot be read. */
export function readSharedLibrary(path: string): SharedLibrary {
  const file = openSync(path, 'r');
  try {
    const read = (offset: number, bytes: number): Buffer => readPart(file, offset, bytes);
    const header = read(0, HEADER_BYTES);
    // 64-bit, little-endian
    if (header.readUInt32BE(0) !== 0x7f454c46 || header.readUInt16BE(4) !== 0x0201) {
      throw new RangeError('expected a 64-bit ELF library');
    }
    const machine = header.readUInt16LE(18);
    const segments = segmentsOf(header, read);
    return { machine: MACHINES[machine] ?? `machine ${machine}`, ...namesOf(segments, read) };
  } finally {
    closeSync(file);
  }
}

type Read = (offset: number, bytes: number) => Buffer;

function readPart(file: number, offset: number, bytes: number): Buffer {
  const part = Buffer.alloc(bytes);
  const got = readSync(file, part, 0, bytes, offset);
  if (got < bytes) throw new RangeError('the file ends too early');
  return part;
}

/** A 64-bit number that is an offset or a size; larger ones than 2^53 are wrong anyway. */
const wide = (part: Buffer, at: number): number => Number(part.readBigUInt64LE(at));

function segmentsOf(header: Buffer, read: Read): readonly Segment[] {
  const [offset, each, count] = [
    wide(header, 32),
    header.readUInt16LE(54),
    header.readUInt16LE(56),
  ];
  if (each !== PROGRAM_HEADER_BYTES || count > PROGRAM_HEADERS_MAX) {
    throw new RangeError('expected an ELF library with segments');
  }
  const table = read(offset, each * count);
  return Array.from({ length: count }, (_, i) => {
    const at = i * each;
    return {
      kind: table.readUInt32LE(at),
      offset: wide(table, at + 8),
      address: wide(table, at + 16),
      bytes: wide(table, at + 32),
    };
  });
}

function namesOf(
  segments: readonly Segment[],
  read: Read,
): Pick<SharedLibrary, 'soname' | 'needed'> {
  const dynamic = segments.find(({ kind }) => kind === SEGMENT_DYNAMIC);
  if (dynamic === undefined) throw new RangeError('expected a shared library');
  const table = read(dynamic.offset, limited(dynamic.bytes));
  const tags: (readonly [tag: number, value: number])[] = [];
  for (let at = 0; at + 16 <= table.length; at += 16) {
    const tag = wide(table, at);
    if (tag === TAG_END) break;
    tags.push([tag, wide(table, at + 8)]);
  }
  const valueOf = (wanted: number): number => tags.find(([tag]) => tag === wanted)?.[1] ?? 0;
  const offset = offsetOf(segments, valueOf(TAG_STRINGS));
  const strings = read(offset, limited(valueOf(TAG_STRING_BYTES)));
  const text = (at: number): string => {
    const end = strings.indexOf(0, at);
    return strings.toString('latin1', at, end < 0 ? strings.length : end);
  };
  const soname = tags.find(([tag]) => tag === TAG_SONAME);
  const needed = tags.filter(([tag]) => tag === TAG_NEEDED).map(([, at]) => text(at));
  return { soname: soname === undefined ? '' : text(soname[1]), needed };
}

function limited(bytes: number): number {
  if (bytes <= SECTION_BYTES_MAX) return bytes;
  throw new RangeError(`expected a section of at most ${SECTION_BYTES_MAX} bytes, got ${bytes}`);
}

/** The place in the file of an address of the loaded library. */
function offsetOf(segments: readonly Segment[], address: number): number {
  const holder = segments.find(
    (one) =>
      one.kind === SEGMENT_LOAD && address >= one.address && address < one.address + one.bytes,
  );
  if (holder === undefined) throw new RangeError('expected a table of strings');
  return address - holder.address + holder.offset;
}
