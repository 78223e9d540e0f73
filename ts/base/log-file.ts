// Writer of --log-file. Control plane, any thread: each thread opens the file itself in append
// mode, so that lines of different threads do not mix. Lines that a full disk rejects are lost, as
// on stderr.
import { closeSync, fstatSync, lstatSync, writeSync } from 'node:fs';
import { ErrorCode, ServalError } from './errors.js';
import { openOwnSync } from './own-file.js';

/** The longest time that lines still go to a file that was moved away. */
const FOLLOW_MS = 1000;

/**
 * Returns a function that writes one line including its final newline. Reopens a file that was
 * moved away or removed. `now`: milliseconds. Errors: InvalidArgument when it cannot be opened.
 */
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
      // Keeps writing to the old file.
    }
    try {
      writeSync(file, line);
    } catch {
      // Stderr is the last resort; a failure here cannot be reported.
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
