// Archives built byte by byte, so that they can have any error. Test time only.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateRawSync, gzipSync } from 'node:zlib';
import { pack, type Header } from 'tar-stream';
import { plainCrc32 } from '../../../../../ts/importers/plan/archive/crc32.js';

export interface ZipEntry {
  readonly name: string;
  readonly content?: string | Uint8Array;
  /** Stored instead of deflated. */
  readonly stored?: boolean;
  /** Values in the directory that differ from the facts. */
  readonly flags?: number;
  readonly method?: number;
  readonly unpackedBytes?: number;
  readonly packedBytes?: number;
  readonly crc?: number;
  /** The Unix mode. */
  readonly mode?: number;
  /** Points to the first file's data instead of the entry's data. */
  readonly overlaps?: boolean;
  /** The extra field of the directory's entry. */
  readonly extra?: Uint8Array;
}

const UNIX = 3 << 8;

function bytesOf(content: string | Uint8Array = ''): Uint8Array {
  return typeof content === 'string' ? Buffer.from(content) : content;
}

/** A zip64 extra field with these two sizes. */
export function zip64Sizes(unpacked: bigint, packed: bigint): Uint8Array {
  const extra = Buffer.alloc(20);
  extra.writeUInt16LE(1, 0);
  extra.writeUInt16LE(16, 2);
  extra.writeBigUInt64LE(unpacked, 4);
  extra.writeBigUInt64LE(packed, 12);
  return extra;
}

/** `entryCount`: a false count in the end record. */
export function zipOf(entries: readonly ZipEntry[], entryCount = entries.length): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const entry of entries) {
    const content = bytesOf(entry.content);
    const stored = entry.stored === true;
    const packed = stored ? Buffer.from(content) : deflateRawSync(content);
    const name = Buffer.from(entry.name);
    const fields = Buffer.alloc(26);
    fields.writeUInt16LE(20, 0);
    fields.writeUInt16LE(entry.flags ?? 0x800, 2);
    fields.writeUInt16LE(entry.method ?? (stored ? 0 : 8), 4);
    fields.writeUInt32LE(entry.crc ?? plainCrc32(content), 10);
    fields.writeUInt32LE(entry.packedBytes ?? packed.byteLength, 14);
    fields.writeUInt32LE(entry.unpackedBytes ?? content.byteLength, 18);
    fields.writeUInt16LE(name.byteLength, 22);
    const start = Buffer.alloc(4);
    start.writeUInt32LE(0x04034b50);
    const extra = Buffer.from(entry.extra ?? []);
    fields.writeUInt16LE(extra.byteLength, 24);
    const head = Buffer.alloc(46 - 30);
    head.writeUInt32LE(((entry.mode ?? 0o100644) << 16) >>> 0, 6);
    head.writeUInt32LE(entry.overlaps === true ? 0 : at, 10);
    const made = Buffer.alloc(6);
    made.writeUInt32LE(0x02014b50);
    made.writeUInt16LE(UNIX | 20, 4);
    directory.push(Buffer.concat([made, fields, head.subarray(0, 14), name, extra]));
    const local = Buffer.from(fields);
    local.writeUInt16LE(0, 24);
    const file = Buffer.concat([start, local, name, packed]);
    if (entry.overlaps !== true) {
      parts.push(file);
      at += file.byteLength;
    }
  }
  const listed = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50);
  end.writeUInt16LE(entryCount, 8);
  end.writeUInt16LE(entryCount, 10);
  end.writeUInt32LE(listed.byteLength, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...parts, listed, end]);
}

export type TarEntry = Partial<Header> & { readonly name: string; readonly content?: string };

/** An uncompressed tar. */
export async function tarOf(entries: readonly TarEntry[]): Promise<Buffer> {
  const tar = pack();
  for (const { content, ...header } of entries) {
    if (content === undefined) tar.entry({ size: 0, ...header }, '');
    else tar.entry(header, content);
  }
  tar.finalize();
  const chunks: Uint8Array[] = [];
  for await (const chunk of tar as AsyncIterable<Uint8Array>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

export async function tarGzOf(entries: readonly TarEntry[]): Promise<Buffer> {
  return gzipSync(await tarOf(entries));
}

/** Writes an archive and returns its path. */
export function archiveIn(folder: string, name: string, bytes: Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  return path;
}
