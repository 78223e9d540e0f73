// Current problems of the places: logged when they appear and when they are resolved, not at every
// scan. Control plane, main thread.
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

  /** Number that ever occurred; one that goes away and returns counts again. */
  get seen(): number {
    return this.#seen;
  }

  /**
   * Sets the complete list of current problems. `grave`: those logged as errors; `elsewhere`: those
   * that a failed load logs.
   */
  show(
    problems: readonly string[],
    grave: ReadonlySet<string>,
    elsewhere: ReadonlySet<string>,
  ): void {
    const now = [...new Set(problems)];
    const before = new Set(this.#now);
    for (const problem of now) {
      if (before.delete(problem)) continue;
      this.#seen += 1;
      if (elsewhere.has(problem)) continue;
      this.#logger[grave.has(problem) ? 'error' : 'warn']('model source', { problem });
    }
    for (const problem of before) this.#logger.info('model source: problem resolved', { problem });
    this.#now = now;
  }
}
