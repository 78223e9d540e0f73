// Files for requests too long to print, named in the lines of `serval serve`. They are in a
// temporary folder of this process, which is removed when the server stops. Control plane, main
// thread.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PREFIX = 'serval-try-';

export class RequestFiles {
  #folder = '';
  #written = 0;
  readonly #paths = new Map<string, string>();

  /**
   * The path of a file for `key` ("model.v2.json"), written if it does not exist yet; undefined: it
   * cannot be written.
   */
  readonly pathOf = (key: string, text: () => string): string | undefined => {
    const known = this.#paths.get(key);
    if (known !== undefined) return known;
    try {
      if (this.#folder === '') this.#folder = mkdtempSync(join(tmpdir(), PREFIX));
      const name = key.replace(/[^\w.-]+/g, '_').slice(-100);
      const path = join(this.#folder, `${(this.#written += 1)}-${name}`);
      writeFileSync(path, text());
      this.#paths.set(key, path);
      return path;
    } catch {
      return undefined;
    }
  };

  /** Removes all of them; never throws. */
  remove(): void {
    if (this.#folder === '') return;
    try {
      rmSync(this.#folder, { recursive: true, force: true });
    } catch {
      // Leftovers are small, and in the temporary folder.
    }
  }
}
