// The rule for links in a model's folder: they must end in the version's folder or its parent. A
// model may be untrusted and must not make the server read other files. Importer's worker thread;
// no file is opened.
import { readdirSync, realpathSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { modelInvalid } from '../../../base/errors.js';
import type { CheckpointFiles } from '../types.js';

/**
 * A missing file is no error here. `what` begins the error's text. Errors: ModelInvalid: the path
 * leads out of the model's folder.
 */
export function checkInside(folder: string, path: string, what: string): void {
  const version = resolve(folder);
  const roots = [real(version), real(dirname(version))];
  const found = real(path);
  if (found === undefined || roots.some((root) => root !== undefined && isInside(root, found))) {
    return;
  }
  throw modelInvalid(
    `${what}: expected a file of the model's folder ${version}, got a link to ` + found,
  );
}

/** The checkpoint, after checking that all its files follow the rule. Errors: ModelInvalid. */
export function insideOnly(
  folder: string,
  checkpoint: CheckpointFiles | undefined,
): CheckpointFiles | undefined {
  if (checkpoint === undefined) return undefined;
  for (const path of filesOf(checkpoint)) checkInside(folder, path, `checkpoint file ${path}`);
  return checkpoint;
}

function filesOf(checkpoint: CheckpointFiles): readonly string[] {
  if (checkpoint.version === 1) return checkpoint.files;
  const { prefix } = checkpoint;
  const place = dirname(prefix);
  return readdirSync(place)
    .filter((name) => name.startsWith(`${basename(prefix)}.`))
    .map((name) => join(place, name));
}

/** undefined: there is no such file. */
function real(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

function isInside(root: string, path: string): boolean {
  const way = relative(root, path);
  return way !== '..' && !way.startsWith('../') && !isAbsolute(way);
}
