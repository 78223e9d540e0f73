// Reads /metrics every two seconds while the page is visible, less often if it takes long. The
// browser's thread.
import { getText } from '../api.js';

const EVERY_MS = 2000;
/** A page that takes long to come is asked for less often: this many times what it took. */
const TIMES = 5;

export interface OnMetrics {
  /** `seconds`: when it was asked for. */
  readonly read: (text: string, seconds: number) => void;
  readonly failed: (reason: string) => void;
}

export class MetricsReader {
  readonly #on: OnMetrics;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isOver = false;

  constructor(on: OnMetrics) {
    this.#on = on;
    void this.#look();
  }

  /** Nothing is read, and nothing called, any more. */
  close(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }

  async #look(): Promise<void> {
    const begun = performance.now();
    try {
      if (!document.hidden) {
        const text = await getText('/metrics');
        if (!this.#isOver) this.#on.read(text, begun / 1000);
      }
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (!this.#isOver) this.#on.failed(reason);
    }
    if (this.#isOver) return;
    const wait = Math.max(EVERY_MS, (performance.now() - begun) * TIMES);
    this.#timer = setTimeout(() => void this.#look(), wait);
  }
}
