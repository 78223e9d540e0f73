// Limits how much of large bodies is read per event-loop iteration, and from which connections, so
// that other requests are served meanwhile. Hot path, for large chunks only; the listener's thread.

/** A chunk of at least this size ends its connection's share of an iteration. */
export const LARGE_CHUNK_BYTES = 65_536;
/** Once this much arrived in an iteration, connections known to send fast are paused: 2 ms. */
const TURN_BYTES = 2_097_152;
/** Connections resumed per iteration: together they then send slightly more than that. */
const RESUMED_MAX = 8;

/** A connection that sends a large body. */
export interface Sender {
  pauseReading(): void;
  resumeReading(): void;
}

/** Connections that send large chunks are read in turn: one chunk each. */
export class ReadingTurns {
  /** Paused connections, in the order in which they resume. */
  readonly #waiting = new Set<Sender>();
  readonly #reading = new Set<Sender>();
  #bytes = 0;
  #due = false;

  /** A chunk of LARGE_CHUNK_BYTES or more arrived, and more follows. */
  took(sender: Sender, bytes: number): void {
    this.#bytes += bytes;
    this.#pause(sender);
    if (this.#bytes < TURN_BYTES) return;
    for (const other of this.#reading) this.#pause(other);
  }

  /** No more of its body is expected: its connection is read normally again. */
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
