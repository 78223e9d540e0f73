// Libraries with custom operators: which files a model may load. Their code runs in the model's own
// process only, and only from folders that --operator-libraries names. Control plane; the thread
// that made the engine.
import { realpath, stat } from 'node:fs/promises';
import { isAbsolute, resolve, sep } from 'node:path';
import { ErrorCode, ServalError } from '../base/errors.js';
import { echo } from '../base/text.js';
import type { ModelSpec } from '../model/engine-api.js';

export interface LibraryRules {
  /** Absolute folders, from --operator-libraries. */
  readonly allowed: readonly string[];
  /** Whether the model runs in its own process. */
  readonly isIsolated: boolean;
}

/**
 * Returns the spec with the real paths of its libraries. A relative name is looked up in the folder
 * of the model's version, the model's folder and the allowed folders, in this order. Errors:
 * InvalidArgument naming the model: it has no process of its own, no folder is allowed, a file is
 * not found or outside of the allowed folders, links resolved.
 */
export async function withLibraries(spec: ModelSpec, rules: LibraryRules): Promise<ModelSpec> {
  const { name, operatorLibraries: names = [], libraryFolders = [], ...rest } = spec;
  if (names.length === 0) return { name, ...rest };
  const refuse = (text: string): never => {
    const message = `model '${name}': model_operations: ${text}`;
    throw new ServalError(ErrorCode.InvalidArgument, message);
  };
  if (rules.allowed.length === 0) {
    refuse(
      `the server loads no operator libraries, got ${echo(names[0] ?? '')}: start it with ` +
        '--operator-libraries=DIR, the folder that contains them',
    );
  }
  if (!rules.isIsolated) {
    refuse(
      'expected a process of its own for a model with operator libraries: set the parameter ' +
        `isolation: process in its config.pbtxt, or --isolate=${name}`,
    );
  }
  const allowed = await Promise.all(rules.allowed.map((folder) => realOf(folder)));
  const operatorLibraries: string[] = [];
  for (const library of names) {
    const path = await findLibrary(library, [...libraryFolders, ...rules.allowed]);
    if (path === undefined) {
      return refuse(
        `no such file: ${echo(library)}; expected an absolute path, or a file in the folder of ` +
          'the version, of the model, or of --operator-libraries',
      );
    }
    if (!allowed.some((folder) => folder !== undefined && path.startsWith(withEnd(folder)))) {
      refuse(
        `${echo(library)} is outside of the folders of --operator-libraries (links are followed); ` +
          'move it there, or add its folder',
      );
    }
    if (!(await stat(path)).isFile()) refuse(`expected a file, got a folder: ${echo(library)}`);
    operatorLibraries.push(path);
  }
  return { name, ...rest, operatorLibraries };
}

/** The real path of the first file with this name. */
async function findLibrary(name: string, folders: readonly string[]): Promise<string | undefined> {
  if (name === '' || name.includes('\0')) return undefined;
  const places = isAbsolute(name) ? [name] : folders.map((folder) => resolve(folder, name));
  for (const place of places) {
    const found = await realOf(place);
    if (found !== undefined) return found;
  }
  return undefined;
}

async function realOf(path: string): Promise<string | undefined> {
  try {
    return await realpath(path);
  } catch {
    return undefined;
  }
}

const withEnd = (folder: string): string => (folder.endsWith(sep) ? folder : folder + sep);
