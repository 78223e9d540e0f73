// How much of large answers is written in one turn of the event loop, and to whom, so that others
// are answered meanwhile. Hot path, for large answers only; the listener's thread.

/** One write of a large answer. */
export const WRITE_BYTES = 262_144;
/** When so much was written in one turn, the rest waits for the next: 1 ms. */
const TURN_BYTES = 2_097_152;

/** A client that can take more of its answer. */
export interface Taker {
  /** Writes WRITE_BYTES or what is left. False: the client takes no more for now, or has all. */
  writeMore(): boolean;
}

/** Answers that did not fit into their sockets are written in turns: a piece each, then others. */
export class WritingTurns {
  /** In the order in which they go on. */
  readonly #ready = new Set<Taker>();
  #due = false;

  /** The client can take more. */
  ready(taker: Taker): void {
    this.#ready.add(taker);
    this.#schedule();
  }

  /** Nothing more is written to it. */
  left(taker: Taker): void {
    this.#ready.delete(taker);
  }

  #schedule(): void {
    if (this.#due) return;
    this.#due = true;
    setImmediate(() => this.#nextTurn());
  }

  #nextTurn(): void {
    this.#due = false;
    let left = TURN_BYTES;
    for (const taker of this.#ready) {
      // one that is added again comes last
      if (left <= 0) break;
      this.#ready.delete(taker);
      left -= WRITE_BYTES;
      if (taker.writeMore()) this.#ready.add(taker);
    }
    if (this.#ready.size > 0) this.#schedule();
  }
}
