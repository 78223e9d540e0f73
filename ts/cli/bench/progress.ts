// Progress of a bench, in the last line of a terminal; prints nothing elsewhere. Control plane,
// main thread.
import { loadText } from './table.js';
import type { BenchWorkload } from './types.js';

const EVERY_MS = 100;
const BAR = 24;
/** Width of a terminal that does not report one. */
const COLUMNS = 80;
const CLEAR = '\r\u001b[2K';

/** The part of an output stream that is used. */
export interface Terminal {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  write(text: string): unknown;
}

export class Progress {
  readonly #out: Terminal;
  readonly #now: () => number;
  #timer: NodeJS.Timeout | undefined;
  #shown = false;
  #label = '';
  #index = 0;
  #count = 0;
  #began = 0;
  #pointMs = 1;

  constructor(out: Terminal, now: () => number = () => performance.now()) {
    this.#out = out;
    this.#now = now;
  }

  /** A measurement begins; `index` of `count`, from 0. */
  begins(workload: BenchWorkload, index: number, count: number): void {
    this.#label = `${workload.path}, ${loadText(workload)}${workload.batch > 1 ? `, ${workload.batch} rows` : ''}`;
    this.#index = index;
    this.#count = count;
    this.#began = this.#now();
    this.#pointMs = (workload.seconds + workload.warmupSeconds) * 1000;
    this.#timer ??= this.#out.isTTY === true ? setInterval(() => this.draw(), EVERY_MS) : undefined;
    this.draw();
  }

  /** Draws the current line. */
  draw(): void {
    if (this.#out.isTTY !== true || this.#count === 0) return;
    const part = Math.min(1, (this.#now() - this.#began) / this.#pointMs);
    const done = this.#index + part;
    const filled = Math.round((done / this.#count) * BAR);
    const left = Math.max(0, ((this.#count - done) * this.#pointMs) / 1000);
    const bar = `${'#'.repeat(filled)}${'.'.repeat(BAR - filled)}`;
    const text = `[${bar}] ${this.#index + 1} of ${this.#count}, ${Math.ceil(left)} s: ${this.#label}`;
    this.#out.write(`${CLEAR}${text.slice(0, (this.#out.columns || COLUMNS) - 1)}`);
    this.#shown = true;
  }

  /** Call before anything else is printed. */
  clear(): void {
    if (this.#shown) this.#out.write(CLEAR);
    this.#shown = false;
  }

  end(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.clear();
  }
}
