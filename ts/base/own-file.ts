// Files that the server writes for itself (logs, traces, logs of requests): for their owner alone,
// and never through a link that another user may have put there. Control plane, any thread.
import { constants, openSync } from 'node:fs';
import { open, realpath, type FileHandle } from 'node:fs/promises';
import { dirname, sep } from 'node:path';

export const OWN_FILE_MODE = 0o600;

const { O_APPEND, O_CREAT, O_DIRECTORY, O_NOFOLLOW, O_RDONLY, O_TRUNC, O_WRONLY } = constants;
/** What the process was started with; these are links on Linux. */
const STANDARD = /^\/(?:dev\/(?:stdout|stderr|fd\/\d+)|proc\/self\/fd\/\d+)$/;
const FLAGS = {
  append: O_WRONLY | O_CREAT | O_APPEND,
  replace: O_WRONLY | O_CREAT | O_TRUNC,
} as const;

function flagsOf(path: string, how: keyof typeof FLAGS): number {
  return STANDARD.test(path) ? FLAGS[how] : FLAGS[how] | O_NOFOLLOW;
}

/** A link's error in words. */
function told(error: unknown, path: string): unknown {
  if ((error as NodeJS.ErrnoException).code !== 'ELOOP') return error;
  return new Error(`${path} is a link, expected a file or no file`, { cause: error });
}

/** Opens a file of the command line, which is made with mode 0600. Errors: the system's; a link. */
export async function openOwn(path: string, how: keyof typeof FLAGS): Promise<FileHandle> {
  try {
    return await open(path, flagsOf(path, how), OWN_FILE_MODE);
  } catch (error) {
    throw told(error, path);
  }
}

/** The same at once. */
export function openOwnSync(path: string, how: keyof typeof FLAGS): number {
  try {
    return openSync(path, flagsOf(path, how), OWN_FILE_MODE);
  } catch (error) {
    throw told(error, path);
  }
}

/** Whether `path` is `folder` or in it; both with links resolved. */
export function isInside(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

/** The nearest folder above `path` that is there, with links resolved. */
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

/** A folder that is open; files in it are opened by `at(name)`, wherever its path leads by then. */
export interface OpenFolder {
  readonly at: (name: string) => string;
  readonly close: () => Promise<void>;
}

/** Opens a folder. Links are resolved once, the result has to be in `within` where that is given,
 * and each part of it is then opened without following links. Errors: the system's; a folder that
 * is elsewhere. */
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
