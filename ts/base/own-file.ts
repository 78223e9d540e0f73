// Opens files that the server writes (logs, traces, request logs): readable by their owner only,
// and never through a link that another user may have created. Control plane, any thread.
import { constants, openSync } from 'node:fs';
import { open, realpath, type FileHandle } from 'node:fs/promises';
import { dirname, sep } from 'node:path';

export const OWN_FILE_MODE = 0o600;
export const OWN_FOLDER_MODE = 0o700;

const { O_APPEND, O_CREAT, O_DIRECTORY, O_NOFOLLOW, O_RDONLY, O_TRUNC, O_WRONLY } = constants;
/** Standard streams that the process inherited; these are links on Linux. */
const STANDARD = /^\/(?:dev\/(?:stdout|stderr|fd\/\d+)|proc\/self\/fd\/\d+)$/;
const FLAGS = {
  append: O_WRONLY | O_CREAT | O_APPEND,
  replace: O_WRONLY | O_CREAT | O_TRUNC,
} as const;

function flagsOf(path: string, how: keyof typeof FLAGS): number {
  return STANDARD.test(path) ? FLAGS[how] : FLAGS[how] | O_NOFOLLOW;
}

/** Converts the error of a refused link to a readable one. */
function told(error: unknown, path: string): unknown {
  if ((error as NodeJS.ErrnoException).code !== 'ELOOP') return error;
  return new Error(`${path} is a link, expected a file or no file`, { cause: error });
}

/**
 * Opens a file named on the command line; creates it with mode 0600. Errors: the system's; a link.
 */
export async function openOwn(path: string, how: keyof typeof FLAGS): Promise<FileHandle> {
  try {
    return await open(path, flagsOf(path, how), OWN_FILE_MODE);
  } catch (error) {
    throw told(error, path);
  }
}

/** Synchronous openOwn(). */
export function openOwnSync(path: string, how: keyof typeof FLAGS): number {
  try {
    return openSync(path, flagsOf(path, how), OWN_FILE_MODE);
  } catch (error) {
    throw told(error, path);
  }
}

/** Returns whether `path` is `folder` or inside it; both with links resolved. */
export function isInside(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

/** Returns the nearest existing folder above `path`, with links resolved. */
export async function realFolderAbove(path: string): Promise<string> {
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    try {
      return await realpath(folder);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'ENOENT' || folder === dirname(folder)) throw error;
    }
  }
}

/** An open folder; `at(name)` opens files in it, wherever its path leads by then. */
export interface OpenFolder {
  readonly at: (name: string) => string;
  readonly close: () => Promise<void>;
}

/**
 * Opens a folder. Resolves links once, requires the result to be inside `within` when given, then
 * opens each component without following links. Errors: the system's; a folder outside `within`.
 */
export async function openFolder(path: string, within?: string): Promise<OpenFolder> {
  const real = await realpath(path);
  const root = within === undefined ? sep : await realpath(within);
  if (!isInside(real, root)) {
    throw new Error(`${path} leads to ${real}, expected a folder in ${root}`);
  }
  const flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
  let folder = await open(sep, flags);
  for (const part of real.split(sep).filter((one) => one !== '')) {
    const above = folder;
    try {
      folder = await open(`/proc/self/fd/${above.fd}/${part}`, flags);
    } finally {
      await above.close();
    }
  }
  return { at: (name) => `/proc/self/fd/${folder.fd}/${name}`, close: () => folder.close() };
}
