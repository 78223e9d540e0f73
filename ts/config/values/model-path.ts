// A PATH of the command line, the configuration file or the library: a location and the name for
// its model. Control plane.
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { echo } from '../../base/text.js';
import { configError } from './values.js';

export interface NamedPath {
  readonly name: string;
  /** Absolute path. */
  readonly path: string;
}

/** Absolute path; a plain string serves models under the names of the files and folders. */
export type ModelPath = string | NamedPath;

/** A scheme and the text after "://". */
const URI = /^([A-Za-z][A-Za-z0-9+.-]*):\/\/(.*)$/s;
/** "name=path", unless a file or folder has the whole text as its name. */
const NAMED = /^([^/\\=]+)=(.+)$/s;

/**
 * Parses a PATH; relative ones are resolved against `folder`. `where` names it in errors. Errors:
 * those of localPath().
 */
export function modelPath(folder: string, text: string, where = 'PATH'): ModelPath {
  const whole = resolve(folder, text);
  const [, name, path] = NAMED.exec(text) ?? [];
  if (name === undefined || path === undefined || existsSync(whole)) {
    return localPath(folder, text, where);
  }
  return { name, path: localPath(folder, path, where) };
}

/**
 * Returns an absolute path; `text` is a path, or a file:// URI as in TensorFlow Serving. Errors:
 * InvalidArgument: another scheme.
 */
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

/** Returns the location without the name. */
export function placeOf(given: ModelPath): string {
  return typeof given === 'string' ? given : given.path;
}
