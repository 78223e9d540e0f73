// Paths that a configuration names. Control plane; reads links only.
import { realpath } from 'node:fs/promises';
import { isAbsolute, join, sep } from 'node:path';

/**
 * The real path of `name`, relative to `folder`; undefined if it is outside. Rejects with the
 * system's error if there is no such file.
 */
export async function pathBelow(folder: string, name: string): Promise<string | undefined> {
  if (isAbsolute(name) || name.includes('\0') || name.split(/[\\/]/).includes('..'))
    return undefined;
  const real = await realpath(folder);
  const path = await realpath(join(real, name));
  return path.startsWith(real + sep) ? path : undefined;
}
