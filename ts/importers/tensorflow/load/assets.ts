// Finds and checks a model's asset files: none may be outside of the model's folder. Importer's
// worker thread; no file is opened.
import { join, resolve } from 'node:path';
import { modelInvalid } from '../../../base/errors.js';
import type { AssetBinding } from '../proto/signature-def.js';
import type { AssetDef } from '../types.js';
import { checkInside } from './links.js';

const ASSETS = 'assets';
const NAME_CHARS_MAX = 1024;

/**
 * A missing file is no error here. Errors: ModelInvalid: a bad name, or a link that leads out of
 * the model's folder.
 */
export function resolveAssets(
  folder: string,
  bindings: readonly AssetBinding[],
): readonly AssetDef[] {
  const version = resolve(folder);
  return bindings.map(({ tensorName, fileName }) => {
    checkName(fileName);
    const path = join(version, ASSETS, fileName);
    checkInside(version, path, `asset "${fileName}"`);
    return { tensorName, fileName, path };
  });
}

function checkName(name: string): void {
  const isBaseName = name !== '' && name !== '.' && name !== '..' && !/[/\\\0]/.test(name);
  if (isBaseName && name.length <= NAME_CHARS_MAX) return;
  throw modelInvalid(
    `asset ${JSON.stringify(name.slice(0, 200))}: expected the name of a file ` +
      `below ${ASSETS}/, without folders and of at most ${NAME_CHARS_MAX} characters`,
  );
}
