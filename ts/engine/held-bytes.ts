// Counts bytes that a listener's JavaScript holds for clients (responses that they do not read,
// messages still arriving) in the engine's budget. Coarse: reports to the engine only larger
// changes. Hot path; one listener's thread.
import { collectGarbage } from '../base/memory/garbage.js';
import type { EngineLink } from './link.js';

/** Change in bytes that is not reported to the engine yet. */
const UNTOLD_BYTES_MAX = 65_536;
/**
 * A burst begins when this number of bytes is held; it ends when a sixteenth of its peak is left.
 */
const BURST_BYTES_MIN = 33_554_432;
/** Delay after a burst before its garbage is collected. */
const COLLECT_AFTER_MS = 1000;

/** The transport's HeldBytes on the engine. */
export class LinkHeldBytes {
  readonly #link: Pick<EngineLink, 'countBytes'>;
  readonly #collect: () => void;
  #held = 0;
  #untold = 0;
  #full = false;
  #inBurst = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(link: Pick<EngineLink, 'countBytes'>, collect: () => void = collectGarbage) {
    this.#link = link;
    this.#collect = collect;
  }

  change(bytes: number): void {
    this.#held += bytes;
    this.#untold += bytes;
    const none = this.#held === 0 && this.#untold !== 0;
    if (none || Math.abs(this.#untold) >= UNTOLD_BYTES_MAX) this.#tell();
    this.#watch();
  }

  take(bytes: number): boolean {
    if (bytes >= UNTOLD_BYTES_MAX && !this.#link.countBytes(bytes, true)) return false;
    this.#held += bytes;
    if (bytes < UNTOLD_BYTES_MAX) this.#untold += bytes;
    this.#watch();
    return true;
  }

  keep(bytes: number): boolean {
    if (this.#full && bytes < UNTOLD_BYTES_MAX) {
      this.#tell();
      if (this.#full) return false;
    }
    this.change(bytes);
    return true;
  }

  #tell(): void {
    this.#full = !this.#link.countBytes(this.#untold, false);
    this.#untold = 0;
  }

  #watch(): void {
    if (this.#held >= BURST_BYTES_MIN) this.#inBurst = true;
    else if (this.#inBurst && this.#held < BURST_BYTES_MIN / 16) this.#burstEnds();
  }

  #burstEnds(): void {
    this.#inBurst = false;
    this.#timer?.refresh();
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      if (!this.#inBurst) this.#collect();
    }, COLLECT_AFTER_MS).unref();
  }
}
