// A model's files in a tar, gzip'd or not. It has no directory, so all of it is unpacked into
// memory when it is opened, as long as it stays within the limits. Importer's worker thread.
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { extract, type Extract } from 'tar-stream';
import { modelInvalid } from '../../../base/errors.js';
import { ARCHIVE_BYTES_MAX } from '../../../base/limits.js';
import type { ModelFiles } from './index.js';
import { quoted } from './invalid.js';
import { isBomb, ListedFiles, Listing } from './listing.js';

const FILES: ReadonlySet<unknown> = new Set(['file', 'contiguous-file']);

type Content = { bytes: Uint8Array };

/** Errors: ModelInvalid. */
export async function openTar(path: string, isPacked: boolean): Promise<ModelFiles> {
  const listing = new Listing<Content>(path);
  const unpack = extract();
  try {
    const { size } = await stat(path);
    const feed = pipeline([
      createReadStream(path),
      ...(isPacked ? [createGunzip()] : []),
      counted(path, size),
      unpack as unknown as NodeJS.WritableStream,
    ]);
    // An error may surface in either of the two, or in both.
    const [fed, taken] = await Promise.allSettled([feed, takeAll(path, listing, unpack)]);
    if (taken.status === 'rejected') throw reasonOf(taken, fed);
    if (fed.status === 'rejected') throw fed.reason;
    return new ListedFiles(path, listing.finish(), ({ entry }) =>
      Promise.resolve(Uint8Array.from(entry.bytes)),
    );
  } catch (error) {
    const { message, name } = error as Error;
    throw name === 'ServalError' ? error : modelInvalid(path, `bad archive: ${message}`);
  }
}

/** Whichever says more than "it was ended". */
function reasonOf(taken: PromiseRejectedResult, fed: PromiseSettledResult<void>): unknown {
  const isOurs = (taken.reason as Error).name === 'ServalError';
  return isOurs || fed.status === 'fulfilled' ? taken.reason : fed.reason;
}

/** Lets no more through than a model may have. */
function counted(path: string, packedBytes: number): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Uint8Array, _encoding, done): void {
      bytes += chunk.byteLength;
      if (bytes > ARCHIVE_BYTES_MAX || isBomb(packedBytes, bytes)) {
        done(
          modelInvalid(path, `${packedBytes} compressed bytes inflate to more than ${bytes - 1}`),
        );
      } else {
        done(null, chunk);
      }
    },
  });
}

async function takeAll(path: string, listing: Listing<Content>, entries: Extract): Promise<void> {
  for await (const entry of entries) {
    const { name, type, size = 0 } = entry.header;
    if (type === 'directory') {
      listing.addFolder(name);
      entry.resume();
      continue;
    }
    if (!FILES.has(type)) {
      throw modelInvalid(path, `${quoted(name)}: expected a file, got a ${String(type)}`);
    }
    const content: Content = { bytes: new Uint8Array(0) };
    listing.add(name, size, content);
    const chunks: Uint8Array[] = [];
    for await (const chunk of entry as AsyncIterable<Uint8Array>) chunks.push(chunk);
    content.bytes = Buffer.concat(chunks);
    if (content.bytes.byteLength !== size) {
      throw modelInvalid(path, `${quoted(name)} is truncated`);
    }
  }
}
