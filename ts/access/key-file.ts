// --api-key-file while the server runs: read again when it changes and when that is asked for. A
// broken or unreadable file leaves the keys that were; an empty one is one without keys. Control
// plane, main thread.
import { ErrorCode, reasonOf, ServalError } from '../base/errors.js';
import { statSync } from 'node:fs';
import { ACCESS_LOOK_MS } from '../base/limits.js';
import { readKeyFile, type ApiKey } from './keys.js';

export interface KeyFileOptions {
  readonly path: string;
  /** Told what became of the file when it was read anew: its keys, or why the old ones stay. */
  readonly changed: (keys: readonly ApiKey[] | undefined, problem: string) => void;
  readonly lookMs?: number;
}

export class KeyFile {
  /** What was read last. */
  keys: readonly ApiKey[];
  readonly #options: KeyFileOptions;
  readonly #looks: NodeJS.Timeout;
  #seen: string;
  #isEmptied = false;

  /** Errors: InvalidArgument naming file and line; a file without keys, since a server that starts
   * so answers nobody. */
  constructor(options: KeyFileOptions) {
    this.#options = options;
    this.#seen = this.#state();
    this.keys = readKeyFile(options.path);
    if (this.keys.length === 0) {
      const message = `${options.path}: expected a key at least, got none`;
      throw new ServalError(ErrorCode.InvalidArgument, message);
    }
    this.#looks = setInterval(() => {
      if (this.#state() !== this.#seen) this.#read(!this.#isEmptied);
    }, options.lookMs ?? ACCESS_LOOK_MS).unref();
  }

  reload(): void {
    this.#read(false);
  }

  // `waits`: a file without keys is looked at once more before it counts, since who writes a file
  // in place empties it first.
  #read(waits: boolean): void {
    // First: what is written meanwhile is seen by the next look.
    const seen = this.#state();
    this.#isEmptied = false;
    let keys: readonly ApiKey[];
    try {
      keys = readKeyFile(this.#options.path);
    } catch (error) {
      this.#seen = seen;
      const problem = reasonOf(error);
      this.#options.changed(undefined, problem);
      return;
    }
    if (keys.length === 0 && waits) {
      this.#isEmptied = true;
      return;
    }
    this.#seen = seen;
    this.keys = keys;
    this.#options.changed(keys, '');
  }

  close(): void {
    clearInterval(this.#looks);
  }

  /** Device, inode, size and time, as one text. */
  #state(): string {
    try {
      const about = statSync(this.#options.path, { throwIfNoEntry: false });
      if (about === undefined) return '';
      return `${about.dev} ${about.ino} ${about.size} ${about.mtimeMs} ${about.ctimeMs}`;
    } catch (error) {
      return reasonOf(error);
    }
  }
}
