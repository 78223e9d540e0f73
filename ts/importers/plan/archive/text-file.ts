// Small text files beside models. Importer's worker thread.
import { readFile, stat } from 'node:fs/promises';

/** A whole file as UTF-8. Errors: Error: unreadable, no regular file, too long, not UTF-8. */
export async function readTextFile(path: string, bytesMax: number): Promise<string> {
  const stats = await stat(path);
  // A pipe or a device may have no end.
  if (!stats.isFile()) throw new Error('expected a file');
  if (stats.size > bytesMax)
    throw new Error(`expected at most ${bytesMax} bytes, got ${stats.size}`);
  return new TextDecoder('utf-8', { fatal: true }).decode(await readFile(path));
}
