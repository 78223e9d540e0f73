// How much of large bodies is read in one turn of the event loop, and from whom, so that others are
// answered meanwhile. Hot path, for large chunks only; the listener's thread.

/** A chunk from here on ends its connection's part of a turn. */
export const LARGE_CHUNK_BYTES = 65_536;
/** When so much came in one turn, nobody else is read from who is known to send fast: 2 ms. */
const TURN_BYTES = 2_097_152;
/** So many go on in one turn: what they send then is a little more than that. */
const RESUMED_MAX = 8;

/** What sends a large body. */
export interface Sender {
  pauseReading(): void;
  resumeReading(): void;
}

/** Connections that send large chunks are read from in turns: each one chunk, then others. */
export class ReadingTurns {
  /** Paused, in the order in which they go on. */
  readonly #waiting = new Set<Sender>();
  readonly #reading = new Set<Sender>();
  #bytes = 0;
  #due = false;

  /** A chunk of LARGE_CHUNK_BYTES or more came; more follows. */
  took(sender: Sender, bytes: number): void {
    this.#bytes += bytes;
    this.#pause(sender);
    if (this.#bytes < TURN_BYTES) return;
    for (const other of this.#reading) this.#pause(other);
  }

  /** No more of its body is waited for: what else its connection sends is read as ever. */
  left(sender: Sender): void {
    this.#reading.delete(sender);
    if (this.#waiting.delete(sender)) sender.resumeReading();
  }

  #pause(sender: Sender): void {
    this.#reading.delete(sender);
    this.#waiting.add(sender);
    sender.pauseReading();
    this.#schedule();
  }

  #schedule(): void {
    if (this.#due) return;
    this.#due = true;
    setImmediate(() => this.#nextTurn());
  }

  #nextTurn(): void {
    this.#due = false;
    this.#bytes = 0;
    let resumed = 0;
    for (const sender of this.#waiting) {
      if (resumed === RESUMED_MAX) break;
      resumed += 1;
      this.#waiting.delete(sender);
      this.#reading.add(sender);
      sender.resumeReading();
    }
    if (this.#waiting.size > 0) this.#schedule();
  }
}
