// A model's files in a zip. The directory is checked as a whole before anything is decompressed. A
// file is decompressed on demand and must match the size and checksum of the directory. Importer's
// worker thread.
import { stat } from 'node:fs/promises';
import { modelInvalid } from '../../../base/errors.js';
import { crc32 } from './crc32.js';
import { openPromise, type Entry, type ZipFile } from 'yauzl';
import { MODEL_FILES_MAX } from '../../../base/limits.js';
import type { ModelFiles } from './index.js';
import { quoted } from './invalid.js';
import { isBomb, ListedFiles, Listing, type Listed } from './listing.js';

const FILE_TYPE_MASK = 0o170000;
const REGULAR_FILE = 0o100000;
const FOLDER = 0o040000;

/** Errors: ModelInvalid. */
export async function openZip(path: string): Promise<ModelFiles> {
  let zip: ZipFile | undefined;
  try {
    const open = await openPromise(path, { autoClose: false, strictFileNames: false });
    zip = open;
    return new ListedFiles(
      path,
      await listed(path, open),
      (file) => bytesOf(open, file),
      () => open.close(),
    );
  } catch (error) {
    zip?.close();
    throw asInvalid(path, error);
  }
}

function asInvalid(path: string, error: unknown): Error {
  const { message, name } = error as Error;
  return name === 'ServalError' ? (error as Error) : modelInvalid(path, `bad zip: ${message}`);
}

async function bytesOf(zip: ZipFile, { size, entry }: Listed<Entry>): Promise<Uint8Array> {
  const bytes = new Uint8Array(size);
  let at = 0;
  const stream = await zip.openReadStreamPromise(entry);
  for await (const chunk of stream as AsyncIterable<Uint8Array>) {
    if (at + chunk.byteLength > size)
      throw new RangeError('its data is longer than its entry declares');
    bytes.set(chunk, at);
    at += chunk.byteLength;
  }
  if (at === size && crc32(bytes) === entry.crc32) return bytes;
  throw new RangeError('its checksum does not match: the file is damaged');
}

async function listed(path: string, zip: ZipFile): Promise<ReadonlyMap<string, Listed<Entry>>> {
  const { size: archiveBytes } = await stat(path);
  if (zip.entryCount > MODEL_FILES_MAX) {
    throw modelInvalid(path, `expected at most ${MODEL_FILES_MAX} files, got ${zip.entryCount}`);
  }
  const listing = new Listing<Entry>(path);
  let packed = 0;
  let unpacked = 0;
  for await (const entry of zip.eachEntry()) {
    const { fileName: name, compressedSize, uncompressedSize } = entry;
    checkEntry(path, entry);
    packed += compressedSize;
    unpacked += uncompressedSize;
    if (packed > archiveBytes) throw modelInvalid(path, 'its files overlap');
    if (isBomb(compressedSize, uncompressedSize) || isBomb(archiveBytes, unpacked)) {
      throw modelInvalid(
        path,
        `${quoted(name)}: ${compressedSize} bytes inflate to ${uncompressedSize}: the ratio is too high`,
      );
    }
    if (name.endsWith('/')) listing.addFolder(name);
    else listing.add(name, uncompressedSize, entry);
  }
  return listing.finish();
}

function checkEntry(path: string, entry: Entry): void {
  const { fileName: name, compressionMethod } = entry;
  if (entry.isEncrypted()) throw modelInvalid(path, `${quoted(name)} is encrypted`);
  if (!entry.canDecodeFileData()) {
    throw modelInvalid(
      path,
      `${quoted(name)}: expected compression stored (0) or deflate (8), got ${compressionMethod}`,
    );
  }
  // Unix's mode, which some archivers leave out: 0.
  const type = (entry.externalFileAttributes >>> 16) & FILE_TYPE_MASK;
  const expected = name.endsWith('/') ? FOLDER : REGULAR_FILE;
  if (type !== 0 && type !== expected) {
    throw modelInvalid(path, `${quoted(name)} is neither a file nor a folder (a link?)`);
  }
}
