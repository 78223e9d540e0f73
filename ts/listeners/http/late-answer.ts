// An answer that is ready and has to wait: behind it the connection ends, and its client may still
// be sending the body. Not on the hot path: bodies without a stated length only; the listener's
// thread.

/** So much more of a body that is not wanted, and so long, a client may send before it is cut. */
const LINGER_BYTES_MAX = 16_777_216;
const LINGER_MS = 500;

export class LateAnswer {
  readonly #send: () => void;
  readonly #release: () => void;
  #timer: NodeJS.Timeout | undefined;
  #soon: NodeJS.Immediate | undefined;
  #bytes = 0;
  #over = false;

  /** `send` is called once, on a turn of its own, unless drop() comes before; `release` once. */
  constructor(send: () => void, release: () => void) {
    this.#send = send;
    this.#release = release;
    this.#timer = setTimeout(() => this.#end(send), LINGER_MS);
  }

  /** More of the body came; nobody wants it. */
  received(bytes: number, last: boolean): void {
    this.#bytes += bytes;
    if (last || this.#bytes > LINGER_BYTES_MAX) this.sendSoon();
  }

  /** The body has ended. */
  sendSoon(): void {
    if (!this.#over) this.#soon ??= setImmediate(() => this.#end(this.#send));
  }

  /** The client went away. */
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
