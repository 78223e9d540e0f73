// A large answer on its way into its socket: written piece by piece, as the client takes it and as
// others are served in between. Hot path, for large answers only; the listener's thread.
import type * as uws from 'uWebSockets.js';
import type { HeldBytes, KeepMemory } from './listener.js';
import { WRITE_BYTES, type Taker, type WritingTurns } from './writing-turns.js';

/** A rest from here on stays in its owner's memory; a shorter one is copied, so that the owner has
 * its own back. */
const KEPT_BYTES_MIN = 1_048_576;

export class FollowedAnswer implements Taker {
  readonly #response: uws.HttpResponse;
  readonly #turns: WritingTurns;
  readonly #done: () => void;
  #total = 0;
  /** What was not written in begin(), from the byte `#from` of the answer on. */
  #rest: Uint8Array = new Uint8Array(0);
  #from = 0;
  #written = 0;
  /** The client took all that it was offered last. */
  #takes = false;
  /** What ends the holding of the rest's memory. */
  #release: () => void = () => undefined;

  /** `done`: the socket has taken all. */
  constructor(response: uws.HttpResponse, turns: WritingTurns, done: () => void) {
    this.#response = response;
    this.#turns = turns;
    this.#done = done;
  }

  /** The first write, corked with the head. True: that was all. Otherwise hold() follows. */
  begin(body: Uint8Array): boolean {
    this.#total = body.length;
    const [taken, done] = this.#response.tryEnd(body.subarray(0, WRITE_BYTES), body.length);
    if (!done) this.#wrote(taken);
    return done;
  }

  /** Takes care of what is left of `body`: keeps its memory, or copies it, and counts it until
   * end(). */
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

  /** All is written, or the client is gone: gives the memory back. */
  end(): void {
    this.#turns.left(this);
    this.#release();
  }

  #wrote(taken: boolean): void {
    this.#written = this.#response.getWriteOffset();
    this.#takes = taken;
  }
}
