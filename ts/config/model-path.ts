// A PATH of the command line, of the file of settings or of the library: a place, and the name that
// its model is to have. Control plane.
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

export interface NamedPath {
  readonly name: string;
  /** Absolute. */
  readonly path: string;
}

/** Absolute; a text alone serves under the names that the files and folders have. */
export type ModelPath = string | NamedPath;

/** "name=path", where no file or folder is called so as a whole. */
const NAMED = /^([^/\\=]+)=(.+)$/s;

/** What a PATH says; relative ones count from `folder`. */
export function modelPath(folder: string, text: string): ModelPath {
  const whole = resolve(folder, text);
  const [, name, path] = NAMED.exec(text) ?? [];
  if (name === undefined || path === undefined || existsSync(whole)) return whole;
  return { name, path: resolve(folder, path) };
}

/** The place without the name. */
export function placeOf(given: ModelPath): string {
  return typeof given === 'string' ? given : given.path;
}
