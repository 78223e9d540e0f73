// Limits how much of large responses is written per event-loop iteration, and to which clients, so
// that other requests are served meanwhile. Hot path, for large responses only; the listener's
// thread.

/** Bytes of one write of a large response. */
export const WRITE_BYTES = 262_144;
/** Once this much was written in an iteration, the rest waits for the next: 1 ms. */
const TURN_BYTES = 2_097_152;

/** A client that can receive more of its response. */
export interface Taker {
  /**
   * Writes WRITE_BYTES or the rest. Returns false if the client accepts no more for now, or has
   * everything.
   */
  writeMore(): boolean;
}

/** Responses that did not fit into their sockets are written in turn: one piece each. */
export class WritingTurns {
  /** In the order in which they continue. */
  readonly #ready = new Set<Taker>();
  #due = false;

  /** The client can receive more. */
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
      // an entry that is added again is last
      if (left <= 0) break;
      this.#ready.delete(taker);
      left -= WRITE_BYTES;
      if (taker.writeMore()) this.#ready.add(taker);
    }
    if (this.#ready.size > 0) this.#schedule();
  }
}
