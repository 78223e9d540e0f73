// gRPC calls over raw HTTP/2: a few connections, many calls on each. The load's threads.
import { ErrorCode, ServalError } from '../../errors.js';
import { BENCH_CONNECT_MS } from '../../limits.js';
import type { Address } from './connect.js';
import { Http2Connection, type CallTemplate } from './http2-connection.js';
import type { LoadRequest, OnAnswer, Sender } from './sender.js';

/** A client has one, a server has many: one for each call that is under way, up to this. */
const CONNECTIONS_MAX = 16;
const AGAIN_MS = 20;

export class GrpcSender implements Sender {
  onAnswer: OnAnswer = () => undefined;
  onFree: () => void = () => undefined;
  readonly #address: Address;
  readonly #connections: Http2Connection[] = [];
  #wanted = 0;
  #opening = 0;
  #template: CallTemplate = { block: Buffer.alloc(0), message: Buffer.alloc(0) };
  #closed = false;

  constructor(address: Address) {
    this.#address = address;
  }

  async prepare({ head, body }: LoadRequest, inFlight: number): Promise<void> {
    this.#template = { block: Buffer.from(head), message: Buffer.from(body) };
    for (const one of this.#connections) one.use(this.#template);
    this.#wanted = Math.min(inFlight, CONNECTIONS_MAX);
    const opened: Promise<void>[] = [];
    for (let i = this.#connections.length; i < this.#wanted; i += 1) opened.push(this.#open());
    await Promise.all(opened);
  }

  free(): boolean {
    return this.#connections.some((one) => one.free);
  }

  /** On the connection with the fewest calls. */
  send(begun: number): void {
    let best: Http2Connection | undefined;
    for (const one of this.#connections) {
      if (one.free && (best === undefined || one.inFlight < best.inFlight)) best = one;
    }
    if (best === undefined) throw new TypeError('no connection is free');
    best.call(begun);
  }

  cut(): void {
    for (const one of [...this.#connections]) {
      if (one.inFlight === 0) continue;
      this.#remove(one);
      one.drop();
    }
  }

  close(): Promise<void> {
    this.#closed = true;
    for (const one of this.#connections) one.drop();
    return Promise.resolve();
  }

  #open(): Promise<void> {
    this.#opening += 1;
    return new Promise((resolve, reject) => {
      let isOpen = false;
      const timer = setTimeout(() => connection.drop(), BENCH_CONNECT_MS);
      const connection = new Http2Connection(this.#address, {
        connected: () => {
          isOpen = true;
          this.#opening -= 1;
          clearTimeout(timer);
          connection.use(this.#template);
          this.#connections.push(connection);
          resolve();
          this.onFree();
        },
        answered: (begun, error) => this.onAnswer(begun, error),
        lost: (begun, why) => {
          clearTimeout(timer);
          this.#remove(connection);
          if (!isOpen) {
            this.#opening -= 1;
            const { host, port } = this.#address;
            const text = `${host}:${port}: no connection: ${why}`;
            reject(new ServalError(ErrorCode.ModelNotReady, text));
          }
          this.#replace(isOpen ? 0 : AGAIN_MS);
          for (const one of begun) this.onAnswer(one, why);
        },
      });
    });
  }

  #remove(connection: Http2Connection): void {
    const at = this.#connections.indexOf(connection);
    if (at >= 0) this.#connections.splice(at, 1);
  }

  #replace(afterMs: number): void {
    setTimeout(() => {
      if (this.#closed || this.#connections.length + this.#opening >= this.#wanted) return;
      // It is tried again by `lost`.
      this.#open().catch(() => undefined);
    }, afterMs).unref();
  }
}
