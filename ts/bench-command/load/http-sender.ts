// Requests over HTTP/1.1 with keep-alive: one at a time on each connection, encoded once, written
// as they are. The load's threads.
import type { Socket } from 'node:net';
import { ErrorCode, ServalError } from '../../errors.js';
import { BENCH_CONNECTIONS_MAX, BENCH_CONNECT_MS } from '../../limits.js';
import { openSocket, type Address } from './connect.js';
import { HttpAnswers } from './http-answer.js';
import type { LoadRequest, OnAnswer, Sender } from './sender.js';

/** A connection that could not be made is tried again after so long. */
const AGAIN_MS = 20;
/** Connections that are being made while requests wait. */
const OPENING_MAX = 8;

export class HttpSender implements Sender {
  onAnswer: OnAnswer = () => undefined;
  onFree: () => void = () => undefined;
  readonly #address: Address;
  readonly #connections = new Set<Connection>();
  readonly #idle: Connection[] = [];
  #wanted = 0;
  #most = 0;
  #opening = 0;
  #bytes: Buffer = Buffer.alloc(0);
  #closed = false;

  constructor(address: Address) {
    this.#address = address;
  }

  async prepare({ head, body }: LoadRequest, inFlight: number, most: number): Promise<void> {
    this.#bytes = Buffer.concat([head, body]);
    this.#most = Math.min(most, BENCH_CONNECTIONS_MAX);
    this.#wanted = Math.min(inFlight, this.#most);
    const opened: Promise<void>[] = [];
    for (let i = this.#connections.size; i < this.#wanted; i += 1) opened.push(this.#open());
    await Promise.all(opened);
  }

  /** Where none is free, another connection is opened, if there may be one. */
  free(): boolean {
    if (this.#idle.length > 0) return true;
    if (this.#connections.size < this.#most && this.#opening < OPENING_MAX) {
      this.#wanted = Math.min(this.#most, this.#wanted + 1);
      // It is tried again by `lost`.
      this.#open().catch(() => undefined);
    }
    return false;
  }

  send(begun: number): void {
    const connection = this.#idle.pop();
    if (connection === undefined) throw new TypeError('no connection is free');
    connection.send(begun, this.#bytes);
  }

  /** Connections with a request under way are replaced. */
  cut(): void {
    for (const one of [...this.#connections]) {
      if (!one.busy) continue;
      this.#connections.delete(one);
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
      const { host, port } = this.#address;
      let isOpen = false;
      const timer = setTimeout(() => connection.drop(), BENCH_CONNECT_MS);
      const connection = new Connection(this.#address, {
        connected: () => {
          isOpen = true;
          this.#opening -= 1;
          clearTimeout(timer);
          this.#idle.push(connection);
          resolve();
          this.onFree();
        },
        answered: (begun, error, keep) => {
          if (keep) this.#idle.push(connection);
          else connection.drop();
          this.onAnswer(begun, error);
        },
        lost: (begun, why) => {
          clearTimeout(timer);
          this.#connections.delete(connection);
          const at = this.#idle.indexOf(connection);
          if (at >= 0) this.#idle.splice(at, 1);
          if (!isOpen) {
            this.#opening -= 1;
            const text = `${host}:${port}: no connection: ${why}`;
            reject(new ServalError(ErrorCode.ModelNotReady, text));
          }
          this.#replace(isOpen ? 0 : AGAIN_MS);
          if (begun !== undefined) this.onAnswer(begun, why);
        },
      });
      this.#connections.add(connection);
    });
  }

  #replace(afterMs: number): void {
    if (this.#closed || this.#connections.size >= this.#wanted) return;
    setTimeout(() => {
      if (this.#closed || this.#connections.size >= this.#wanted) return;
      // It is tried again by `lost`.
      this.#open().catch(() => undefined);
    }, afterMs).unref();
  }
}

interface ConnectionEvents {
  readonly connected: () => void;
  /** `keep`: it may be used again. */
  readonly answered: (begun: number, error: string | undefined, keep: boolean) => void;
  /** `begun`: of the request that was under way. */
  readonly lost: (begun: number | undefined, why: string) => void;
}

class Connection {
  readonly #socket: Socket;
  #begun: number | undefined;

  constructor(address: Address, { connected, answered, lost }: ConnectionEvents) {
    const answers = new HttpAnswers((error, keep) => {
      const begun = this.#begun;
      this.#begun = undefined;
      if (begun === undefined) this.drop();
      else answered(begun, error, keep);
    });
    this.#socket = openSocket(address, {
      connected,
      data: (bytes) => {
        if (!answers.feed(bytes)) this.#socket.destroy(new Error('the answer is no HTTP/1.1'));
      },
      closed: (why) => {
        if (this.#begun !== undefined) answers.ended();
        const begun = this.#begun;
        this.#begun = undefined;
        lost(begun, why);
      },
    });
  }

  get busy(): boolean {
    return this.#begun !== undefined;
  }

  send(begun: number, bytes: Buffer): void {
    this.#begun = begun;
    this.#socket.write(bytes);
  }

  /** What is under way is not heard of. */
  drop(): void {
    this.#begun = undefined;
    this.#socket.destroy();
  }
}
