// A large response being written to its socket: piece by piece, as fast as the client reads it and
// interleaved with others. Hot path, for large responses only; the listener's thread.
import type * as uws from 'uWebSockets.js';
import type { HeldBytes, KeepMemory } from './listener.js';
import { WRITE_BYTES, type Taker, type WritingTurns } from './writing-turns.js';

/**
 * A remainder of at least this size stays in its owner's memory; a shorter one is copied, so that
 * the owner gets its memory back.
 */
const KEPT_BYTES_MIN = 1_048_576;

export class FollowedAnswer implements Taker {
  readonly #response: uws.HttpResponse;
  readonly #turns: WritingTurns;
  readonly #done: () => void;
  #total = 0;
  /** The part not written in begin(), from the byte `#from` of the response on. */
  #rest: Uint8Array = new Uint8Array(0);
  #from = 0;
  #written = 0;
  /** The client accepted all of the last write. */
  #takes = false;
  /** Releases the memory of the remainder. */
  #release: () => void = () => undefined;

  /** `done`: called when the socket has accepted all. */
  constructor(response: uws.HttpResponse, turns: WritingTurns, done: () => void) {
    this.#response = response;
    this.#turns = turns;
    this.#done = done;
  }

  /**
   * The first write, corked with the head. Returns true if that was all; otherwise hold() follows.
   */
  begin(body: Uint8Array): boolean {
    this.#total = body.length;
    const [taken, done] = this.#response.tryEnd(body.subarray(0, WRITE_BYTES), body.length);
    if (!done) this.#wrote(taken);
    return done;
  }

  /** Takes over the rest of `body`: keeps its memory, or copies it, and counts it until end(). */
  hold(body: Uint8Array, held: HeldBytes, keep: KeepMemory): void {
    this.#from = this.#written;
    const rest = body.subarray(this.#from);
    const release = rest.length >= KEPT_BYTES_MIN ? keep(rest) : undefined;
    if (release !== undefined) {
      this.#rest = rest;
      this.#release = release;
    } else {
      this.#rest = Buffer.from(rest);
      held.change(rest.length);
      this.#release = () => held.change(-rest.length);
    }
    this.#response.onWritable(() => {
      this.#turns.ready(this);
      return true;
    });
    if (this.#takes) this.#turns.ready(this);
  }

  writeMore(): boolean {
    const at = this.#written - this.#from;
    const piece = this.#rest.subarray(at, at + WRITE_BYTES);
    let [taken, done] = [false, false];
    this.#response.cork(() => {
      [taken, done] = this.#response.tryEnd(piece, this.#total);
      if (!done) this.#wrote(taken);
    });
    if (done) this.#done();
    return taken && !done;
  }

  /** Everything is written, or the client has left: releases the memory. */
  end(): void {
    this.#turns.left(this);
    this.#release();
  }

  #wrote(taken: boolean): void {
    this.#written = this.#response.getWriteOffset();
    this.#takes = taken;
  }
}
