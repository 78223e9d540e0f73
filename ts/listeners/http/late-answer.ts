// A response that is ready but has to wait: the connection ends after it, and its client may still
// be sending the body. Not on the hot path: bodies without a stated length only; the listener's
// thread.

/**
 * Maximum bytes, and time, for which a client may continue to send an unwanted body before the
 * connection is cut.
 */
const LINGER_BYTES_MAX = 16_777_216;
const LINGER_MS = 500;

export class LateAnswer {
  readonly #send: () => void;
  readonly #release: () => void;
  #timer: NodeJS.Timeout | undefined;
  #soon: NodeJS.Immediate | undefined;
  #bytes = 0;
  #over = false;

  /**
   * `send` is called once, in a later event-loop iteration, unless drop() is called first;
   * `release` once.
   */
  constructor(send: () => void, release: () => void) {
    this.#send = send;
    this.#release = release;
    this.#timer = setTimeout(() => this.#end(send), LINGER_MS);
  }

  /** More of the body arrived; it is discarded. */
  received(bytes: number, last: boolean): void {
    this.#bytes += bytes;
    if (last || this.#bytes > LINGER_BYTES_MAX) this.sendSoon();
  }

  /** The body has ended. */
  sendSoon(): void {
    if (!this.#over) this.#soon ??= setImmediate(() => this.#end(this.#send));
  }

  /** The client left. */
  drop(): void {
    this.#end(() => undefined);
  }

  #end(last: () => void): void {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#timer);
    clearImmediate(this.#soon);
    this.#release();
    last();
  }
}
