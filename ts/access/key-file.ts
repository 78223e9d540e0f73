// --api-key-file while the server runs: read anew when it changes and when that is asked for; a
// broken one leaves the keys that were. Control plane, main thread.
import { reasonOf } from '../errors.js';
import { statSync } from 'node:fs';
import { ACCESS_LOOK_MS } from '../limits.js';
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

  /** Errors: InvalidArgument naming file and line. */
  constructor(options: KeyFileOptions) {
    this.#options = options;
    this.#seen = this.#state();
    this.keys = readKeyFile(options.path);
    this.#looks = setInterval(() => {
      if (this.#state() !== this.#seen) this.reload();
    }, options.lookMs ?? ACCESS_LOOK_MS).unref();
  }

  reload(): void {
    // First: what is written meanwhile is seen by the next look.
    this.#seen = this.#state();
    try {
      this.keys = readKeyFile(this.#options.path);
    } catch (error) {
      const problem = reasonOf(error);
      this.#options.changed(undefined, problem);
      return;
    }
    this.#options.changed(this.keys, '');
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
