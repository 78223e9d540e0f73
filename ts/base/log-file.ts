// The file of --log-file. Control plane, any thread: each has it open for itself, to append, so
// that lines of threads do not mix. What a full disk does not take is lost, as on stderr.
import { closeSync, fstatSync, lstatSync, writeSync } from 'node:fs';
import { ErrorCode, ServalError } from './errors.js';
import { openOwnSync } from './own-file.js';

/** How long lines may go to a file that was moved away. */
const FOLLOW_MS = 1000;

/** Takes one line with its final newline. A file that was moved away, or removed, is begun anew.
 * `now`: milliseconds. Errors: InvalidArgument when it cannot be opened. */
export function logFileWriter(path: string, now: () => number = Date.now): (line: string) => void {
  let file = openFirst(path);
  let followedMs = now();
  const follow = (): void => {
    const [named, open] = [lstatSync(path, { throwIfNoEntry: false }), fstatSync(file)];
    if (named?.ino === open.ino && named.dev === open.dev) return;
    const next = openOwnSync(path, 'append');
    closeSync(file);
    file = next;
  };
  return (line) => {
    try {
      if (Math.abs(now() - followedMs) >= FOLLOW_MS) {
        followedMs = now();
        follow();
      }
    } catch {
      // The old file is written on.
    }
    try {
      writeSync(file, line);
    } catch {
      // Nobody is left to be told.
    }
  };
}

function openFirst(path: string): number {
  try {
    return openOwnSync(path, 'append');
  } catch (error) {
    const { message } = error as Error;
    throw new ServalError(ErrorCode.InvalidArgument, `--log-file: cannot open ${path}: ${message}`);
  }
}
