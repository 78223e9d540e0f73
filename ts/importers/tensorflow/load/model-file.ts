// Files of a model's folder: existence, bytes, and the message that they contain. Importer's worker
// thread.
import { WIRE_MESSAGE_BYTES_MAX } from '../../../base/limits.js';
import { readFileSync, readdirSync, statSync } from 'node:fs';
import type { Stats } from 'node:fs';
import { resolve } from 'node:path';
import { ServalError, modelInvalid } from '../../../base/errors.js';
import { WireReader } from '../../../protobuf/reader.js';
import { ReadContext } from '../proto/read-context.js';
import type { MessageSchema } from '../../../protobuf/schema.js';
import { encodeTextProto, looksLikeText } from '../proto/text-wire.js';

/** Maximum entries of a version folder. */
const ENTRIES_MAX = 100_000;

export function isFile(path: string): boolean {
  return stats(path)?.isFile() === true;
}

export function isFolder(path: string): boolean {
  return stats(path)?.isDirectory() === true;
}

function stats(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    // For example: a name that is too long, a folder without permission, a file used as a folder.
    return undefined;
  }
}

/** Names in the folder, sorted. Errors: ModelInvalid: unreadable, too many. */
export function folderNames(folder: string): readonly string[] {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch (error) {
    throw modelInvalid(`${folder}: cannot read the folder: ${(error as Error).message}`);
  }
  if (names.length > ENTRIES_MAX) {
    throw modelInvalid(`${folder}: expected at most ${ENTRIES_MAX} files, got ${names.length}`);
  }
  return names.sort();
}

/**
 * Calls `read` with the message in the file, which is in binary or text form. Errors: ModelInvalid
 * prefixed with the path.
 */
export function readMessageFile<T>(
  path: string,
  schema: MessageSchema,
  read: (reader: WireReader, context: ReadContext) => T,
): T {
  const full = resolve(path);
  return located(full, () => {
    const bytes = fileBytes(full);
    if (looksLikeText(bytes)) {
      const encoded = encodeTextProto(bytes, schema);
      return read(new WireReader(encoded, schema.name), new ReadContext());
    }
    return read(new WireReader(bytes, schema.name), new ReadContext({ path: full, bytes }));
  });
}

/** Runs it; its ModelInvalid errors are prefixed with `place`. */
export function located<T>(place: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof ServalError) || error.message.startsWith(place)) throw error;
    throw new ServalError(error.code, `${place}: ${error.message}`);
  }
}

function fileBytes(path: string): Uint8Array {
  try {
    const size = stats(path)?.isFile() === true ? statSync(path).size : undefined;
    if (size === undefined) throw modelInvalid('expected a file');
    if (size > WIRE_MESSAGE_BYTES_MAX) {
      throw modelInvalid(`expected at most ${WIRE_MESSAGE_BYTES_MAX} bytes, got ${size}`);
    }
    const buffer = readFileSync(path);
    // Not a Buffer, because its slices would be Buffers too.
    return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.length);
  } catch (error) {
    if (error instanceof ServalError) throw error;
    throw modelInvalid(`cannot read the file: ${(error as Error).message}`);
  }
}
