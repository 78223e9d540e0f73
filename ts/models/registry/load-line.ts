// Progress of loading models, on one terminal line that is rewritten in place: bytes read, stage,
// time. Quick loads finish before it is drawn. Control plane, main thread.
import { LOAD_LINE_AFTER_MS, LOAD_LINE_EVERY_MS } from '../../base/limits.js';
import { visible } from '../../base/text.js';
import type { Clock } from './clock.js';

/** The terminal line to draw on. */
export interface LineTerminal {
  readonly columns: number;
  draw(text: string): void;
  /** Clears the line. */
  erase(): void;
}

/** One model that is loading. */
export interface ShownLoad {
  readonly model: string;
  readonly version: string;
  readonly stage: string;
  /** Size of its files; undefined if unknown. Never rejects. */
  bytes(): Promise<number | undefined>;
}

export interface LineState {
  readonly loads: readonly Pick<ShownLoad, 'model' | 'version' | 'stage'>[];
  /** Size of all their files; undefined if one is unknown. */
  readonly bytes: number | undefined;
  readonly readBytes: number;
  readonly seconds: number;
}

export class LoadLine {
  readonly #terminal: LineTerminal;
  readonly #clock: Clock;
  readonly #processRead: () => number;
  readonly #loads = new Map<ShownLoad, { bytes: number | undefined }>();
  /**
   * Bytes that the process had read when the first of these loads began, and bytes read by loads
   * that have finished since.
   */
  #readBefore = 0;
  #readByOthers = 0;
  #beganMs = 0;
  /** Counts groups of overlapping loads; an earlier group's pending draw is ignored. */
  #round = 0;
  #isDrawn = false;
  #cancel: (() => void) | undefined;

  /** `processRead`: returns the bytes that this process has read from files so far. */
  constructor(terminal: LineTerminal, clock: Clock, processRead: () => number) {
    this.#terminal = terminal;
    this.#clock = clock;
    this.#processRead = processRead;
  }

  /** Shows the load until the returned function is called. */
  add(load: ShownLoad): () => void {
    if (this.#loads.size === 0) {
      this.#readBefore = this.#processRead();
      this.#readByOthers = 0;
      this.#beganMs = this.#clock.nowMs();
      this.#round += 1;
      this.#next(LOAD_LINE_AFTER_MS);
    }
    this.#loads.set(load, { bytes: undefined });
    return () => this.#remove(load);
  }

  #remove(load: ShownLoad): void {
    const known = this.#loads.get(load);
    if (known === undefined) return;
    this.#readByOthers += known.bytes ?? 0;
    this.#loads.delete(load);
    if (this.#loads.size > 0) return;
    this.#cancel?.();
    if (this.#isDrawn) this.#terminal.erase();
    this.#isDrawn = false;
  }

  #next(ms: number): void {
    this.#cancel = this.#clock.after(ms, () => void this.#draw());
  }

  async #draw(): Promise<void> {
    const round = this.#round;
    await Promise.all(
      [...this.#loads].map(async ([load, known]) => {
        known.bytes ??= await load.bytes();
      }),
    );
    if (this.#loads.size === 0 || round !== this.#round) return;
    const sizes = [...this.#loads.values()].map(({ bytes }) => bytes);
    const isKnown = sizes.every((bytes) => bytes !== undefined);
    const read = this.#processRead() - this.#readBefore - this.#readByOthers;
    const state: LineState = {
      loads: [...this.#loads.keys()],
      bytes: isKnown ? sizes.reduce((sum, bytes) => sum + bytes, 0) : undefined,
      readBytes: Math.max(0, read),
      seconds: Math.round((this.#clock.nowMs() - this.#beganMs) / 1000),
    };
    this.#terminal.draw(loadLineText(state, this.#terminal.columns));
    this.#isDrawn = true;
    this.#next(LOAD_LINE_EVERY_MS);
  }
}

/** One line shorter than `columns` columns. */
export function loadLineText(
  { loads, bytes, readBytes, seconds }: LineState,
  columns: number,
): string {
  const [first] = loads;
  const stages = [...new Set(loads.map(({ stage }) => stage))].join(', ');
  const who =
    loads.length === 1 && first !== undefined
      ? `${visible(first.model)} version ${visible(first.version)}`
      : `${loads.length} models`;
  const read = bytes === undefined ? '' : ` ${amounts(Math.min(readBytes, bytes), bytes)} read,`;
  const rest = `:${read} ${stages}, ${seconds} s`;
  // The name is shortened, not the changing parts.
  const room = Math.max(0, columns - 1 - 'loading '.length - rest.length);
  const name = who.length <= room ? who : `${who.slice(0, Math.max(0, room - 3))}...`;
  return `loading ${name}${rest}`.slice(0, Math.max(0, columns - 1));
}

/** Formats both amounts in the unit of the larger one. */
function amounts(read: number, all: number): string {
  const [unit, name, digits] = all >= 1e9 ? [1e9, 'GB', 1] : [1e6, 'MB', all >= 1e7 ? 0 : 1];
  return `${(read / unit).toFixed(digits)} of ${(all / unit).toFixed(digits)} ${name}`;
}
