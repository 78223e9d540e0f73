// A model's files in a folder. Links are followed where they end in the model's folder or in the
// one above it (as for TensorFlow's models), and refused elsewhere: a model may come from anywhere,
// and must not make the server read other files. Importer's worker thread.
import { lstat, readdir, readFile, realpath, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { modelInvalid } from '../../../base/errors.js';
import { MODEL_FILE_DEPTH_MAX } from '../../../base/limits.js';
import type { ModelFiles } from './index.js';
import { quoted } from './invalid.js';
import { ListedFiles, Listing, type Listed } from './listing.js';

/** Errors: ModelInvalid. */
export async function openFolder(path: string): Promise<ModelFiles> {
  try {
    return new ListedFiles(path, await listed(path), ({ entry }) => readFile(entry));
  } catch (error) {
    throw (error as NodeJS.ErrnoException).syscall === undefined
      ? error
      : modelInvalid(path, `cannot be read: ${(error as Error).message}`);
  }
}

async function listed(path: string): Promise<ReadonlyMap<string, Listed<string>>> {
  const root = resolve(path);
  const allowed = [await realpath(root), await realpath(dirname(root))];
  const listing = new Listing<string>(path);
  /** `above`: the real folders on the way here, which a link may not lead back to. */
  const visit = async (folder: string, below: string, above: readonly string[]): Promise<void> => {
    if (above.length > MODEL_FILE_DEPTH_MAX) {
      throw modelInvalid(
        path,
        `${quoted(below)}: expected at most ${MODEL_FILE_DEPTH_MAX} nested folders, got more`,
      );
    }
    for (const name of (await readdir(folder)).sort()) {
      const at = join(folder, name);
      const way = below === '' ? name : `${below}/${name}`;
      const isLink = (await lstat(at)).isSymbolicLink();
      if (isLink) await checkLink(path, at, way, allowed);
      const found = await stat(at);
      if (found.isDirectory()) {
        const real = isLink ? await realpath(at) : at;
        if (above.includes(real)) throw modelInvalid(path, `${quoted(way)} is a link to itself`);
        listing.addFolder(way);
        await visit(real, way, [...above, real]);
      } else if (found.isFile()) {
        listing.add(way, found.size, at);
      } else {
        throw modelInvalid(path, `${quoted(way)} is neither a file nor a folder`);
      }
    }
  };
  const real = allowed[0] as string;
  await visit(real, '', [real]);
  return listing.finish();
}

async function checkLink(
  path: string,
  at: string,
  way: string,
  allowed: readonly string[],
): Promise<void> {
  const end = await realpath(at);
  const isInside = allowed.some((root) => {
    const rest = relative(root, end);
    return rest !== '..' && !rest.startsWith('../') && !isAbsolute(rest);
  });
  if (!isInside) {
    throw modelInvalid(path, `${quoted(way)}: expected a file of the model, got a link to ${end}`);
  }
}
