// The log lines of successful loads. A server that starts with a thousand models logs the first
// ones and then their number. Control plane, main thread.
import { LOADED_LINES_EVERY_MS, LOADED_LINES_MAX } from '../../base/limits.js';
import type { LogFields, Logger } from '../../base/logger.js';
import type { Clock } from './clock.js';

export class LoadedLines {
  readonly #logger: Logger;
  readonly #clock: Clock;
  /** The interval's beginning, and its loads. */
  #beganMs = -Infinity;
  #loads = 0;
  #untold = 0;

  constructor(logger: Logger, clock: Clock) {
    this.#logger = logger;
    this.#clock = clock;
  }

  /** Logs one load: as a line while there are few, else at level debug and in the next count. */
  add(fields: LogFields): void {
    const nowMs = this.#clock.nowMs();
    if (this.#untold === 0 && nowMs - this.#beganMs >= LOADED_LINES_EVERY_MS) {
      this.#beganMs = nowMs;
      this.#loads = 0;
    }
    this.#loads += 1;
    if (this.#loads <= LOADED_LINES_MAX) {
      this.#logger.info('model loaded', fields);
      return;
    }
    if (this.#untold === 0) this.#clock.after(LOADED_LINES_EVERY_MS, () => this.#tell());
    this.#untold += 1;
    this.#logger.debug('model loaded', fields);
  }

  /** The next interval begins full: its loads are only counted. */
  #tell(): void {
    const models = this.#untold;
    this.#untold = 0;
    this.#beganMs = this.#clock.nowMs();
    this.#logger.info('more models loaded', { models, each: '--log-level debug' });
  }
}
