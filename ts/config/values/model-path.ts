// A PATH of the command line, of the file of settings or of the library: a place, and the name that
// its model is to have. Control plane.
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { echo } from '../../base/text.js';
import { configError } from './values.js';

export interface NamedPath {
  readonly name: string;
  /** Absolute. */
  readonly path: string;
}

/** Absolute; a text alone serves under the names that the files and folders have. */
export type ModelPath = string | NamedPath;

/** A scheme, and what follows "://". */
const URI = /^([A-Za-z][A-Za-z0-9+.-]*):\/\/(.*)$/s;
/** "name=path", where no file or folder is called so as a whole. */
const NAMED = /^([^/\\=]+)=(.+)$/s;

/** What a PATH says; relative ones count from `folder`. `where` is for errors.
 * Errors: those of localPath(). */
export function modelPath(folder: string, text: string, where = 'PATH'): ModelPath {
  const whole = resolve(folder, text);
  const [, name, path] = NAMED.exec(text) ?? [];
  if (name === undefined || path === undefined || existsSync(whole)) {
    return localPath(folder, text, where);
  }
  return { name, path: localPath(folder, path, where) };
}

/** Absolute; `text` is a path, or a file:// URI as TensorFlow Serving takes it.
 * Errors: config's: another scheme. */
export function localPath(folder: string, text: string, where: string): string {
  const [, scheme, rest = ''] = URI.exec(text) ?? [];
  if (scheme === undefined) return resolve(folder, text);
  if (scheme.toLowerCase() === 'file') {
    const path = rest.replace(/^localhost(?=\/)/, '');
    if (path.startsWith('/')) return resolve(path);
    throw configError(where, `expected file:///absolute/path, got ${echo(text)}`);
  }
  throw configError(
    where,
    `expected a path of this machine or file:///path, got ${echo(text)}: ${scheme}:// is not ` +
      'supported; copy the models here first, or mount the bucket (s3fs, gcsfuse, blobfuse2)',
  );
}

/** The place without the name. */
export function placeOf(given: ModelPath): string {
  return typeof given === 'string' ? given : given.path;
}
