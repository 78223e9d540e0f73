// What is wrong with the places now: logged when it comes up and when it goes, not at every look.
// Control plane, main thread.
import type { Logger } from '../../../base/logger.js';

export class Problems {
  readonly #logger: Logger;
  #now: readonly string[] = [];
  #seen = 0;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  get now(): readonly string[] {
    return this.#now;
  }

  /** How many ever came up; one that goes and comes back counts again. */
  get seen(): number {
    return this.#seen;
  }

  /** These are all that there are now. `grave`: those that are errors. */
  show(problems: readonly string[], grave: ReadonlySet<string>): void {
    const now = [...new Set(problems)];
    const before = new Set(this.#now);
    for (const problem of now) {
      if (before.delete(problem)) continue;
      this.#seen += 1;
      this.#logger[grave.has(problem) ? 'error' : 'warn']('model source', { problem });
    }
    for (const problem of before) this.#logger.info('model source: no longer', { problem });
    this.#now = now;
  }
}
