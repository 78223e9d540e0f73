// Reads the files of a tabular model from a folder, a .zip, a .tar or a gzip'd tar, detected by the
// content and not by the name. Archives are treated as hostile. Importer's worker thread (or a
// command's); knows no format.
import { open, stat } from 'node:fs/promises';
import { modelInvalid } from '../../../base/errors.js';
import { openFolder } from './folder.js';
import { openTar } from './tar.js';
import { openZip } from './zip.js';

export interface ModelFiles {
  /** Paths with '/', without the one folder that all files lie in (where there is one); sorted. */
  readonly names: readonly string[];
  /** The file's bytes, the caller's to keep. Errors: ModelInvalid: no such file, damaged. */
  read(name: string): Promise<Uint8Array>;
  /** In bytes, unpacked. Errors: ModelInvalid: no such file. */
  size(name: string): number;
  /** Lets go of the archive; nothing is read afterwards. */
  close(): Promise<void>;
}

/** The kind of file that its first bytes indicate. */
export type ArchiveKind = 'zip' | 'gzip' | 'tar';

const HEAD_BYTES = 512;
const TAR_MAGIC_AT = 257;

/** undefined: no archive. */
export function archiveKind(head: Uint8Array): ArchiveKind | undefined {
  const starts = (...bytes: readonly number[]): boolean =>
    bytes.every((byte, i) => head[i] === byte);
  // A file's header, or the end of an archive without files.
  if (starts(0x50, 0x4b, 3, 4) || starts(0x50, 0x4b, 5, 6)) return 'zip';
  if (starts(0x1f, 0x8b)) return 'gzip';
  const magic = Buffer.from(head.subarray(TAR_MAGIC_AT, TAR_MAGIC_AT + 5)).toString('latin1');
  return magic === 'ustar' ? 'tar' : undefined;
}

/** The first bytes of a file, as archiveKind() needs them. */
export async function readHead(path: string, bytes = HEAD_BYTES): Promise<Uint8Array> {
  const file = await open(path, 'r');
  try {
    const head = new Uint8Array(bytes);
    let read = 0;
    while (read < bytes) {
      const { bytesRead } = await file.read(head, read, bytes - read, read);
      if (bytesRead === 0) break;
      read += bytesRead;
    }
    return head.subarray(0, read);
  } finally {
    await file.close();
  }
}

/** Errors: ModelInvalid naming the path: it cannot be read, is neither folder nor archive, has no
 * files, or is such that it could harm: names that lead elsewhere, links, devices, the same name
 * twice, encrypted files, more files or bytes than the limits allow. */
export async function openModelFiles(path: string): Promise<ModelFiles> {
  const { isFolder, isFile } = await kindOf(path);
  if (isFolder) return openFolder(path);
  if (!isFile) throw modelInvalid(path, 'expected a folder or an archive, got a special file');
  const kind = archiveKind(await readHead(path));
  switch (kind) {
    case 'zip':
      return openZip(path);
    case 'gzip':
    case 'tar':
      return openTar(path, kind === 'gzip');
    case undefined:
      throw modelInvalid(path, "expected a folder, a zip or a gzip'd tar, got another file");
  }
}

async function kindOf(path: string): Promise<{ isFolder: boolean; isFile: boolean }> {
  try {
    const found = await stat(path);
    return { isFolder: found.isDirectory(), isFile: found.isFile() };
  } catch (error) {
    throw modelInvalid(path, `cannot be read: ${String((error as Error).message)}`);
  }
}
