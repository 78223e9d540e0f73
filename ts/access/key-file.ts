// Watches --api-key-file while the server runs: reads it again when it changes and on request. A
// broken or unreadable file keeps the current keys; an empty one counts as a file without keys.
// Control plane, main thread.
import { ErrorCode, reasonOf, ServalError } from '../base/errors.js';
import { statSync } from 'node:fs';
import { ACCESS_LOOK_MS } from '../base/limits.js';
import { readKeyFile, type ApiKey } from './keys.js';

export interface KeyFileOptions {
  readonly path: string;
  /**
   * Called after each reload of the file with its keys, or with the reason why the current keys
   * stay.
   */
  readonly changed: (keys: readonly ApiKey[] | undefined, problem: string) => void;
  readonly lookMs?: number;
}

export class KeyFile {
  /** The keys read last. */
  keys: readonly ApiKey[];
  readonly #options: KeyFileOptions;
  readonly #looks: NodeJS.Timeout;
  #seen: string;
  #isEmptied = false;

  /**
   * Errors: InvalidArgument naming file and line; also for a file without keys, since a server
   * started with it would answer no caller.
   */
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

  // `waits`: checks a file without keys once more before accepting it, because a writer that
  // rewrites the file in place empties it first.
  #read(waits: boolean): void {
    // Taken before the read, so that the next poll sees a write that happens meanwhile.
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

  /** Device, inode, size and modification time as one string. */
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
