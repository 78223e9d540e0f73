// Wakes the load's thread at an exact time: Node's timers have a resolution of a millisecond, which
// is longer than small models take. A dedicated thread sleeps until then and sends a message;
// nothing spins. This file contains both sides. The load's threads and the pacers'.
import { MessageChannel, Worker, type MessagePort } from 'node:worker_threads';
import { now } from './sender.js';

const SEQUENCE = 0;
const ENDED = -1;
/** Follows the sequence word, aligned. */
const DUE = 1;
const SHARED_BYTES = 16;
/** Minimum interval: at high rates several requests are sent together. */
const TICK_MS = 0.1;

export interface PacerData {
  readonly role: 'pacer';
  readonly shared: SharedArrayBuffer;
  readonly port: MessagePort;
}

/** The load's side. */
export class Pacer {
  /** Called at the requested time. */
  onDue: () => void = () => undefined;
  readonly #file: URL;
  readonly #shared = new SharedArrayBuffer(SHARED_BYTES);
  readonly #words = new Int32Array(this.#shared);
  readonly #times = new Float64Array(this.#shared);
  #port: MessagePort | undefined;
  #worker: Worker | undefined;

  /** `file`: the worker that runs pace(). */
  constructor(file: URL) {
    this.#file = file;
  }

  /** Settles when its thread runs. */
  async start(): Promise<void> {
    if (this.#worker !== undefined) return;
    const { port1, port2 } = new MessageChannel();
    const data: PacerData = { role: 'pacer', shared: this.#shared, port: port2 };
    this.#worker = new Worker(this.#file, { workerData: data, transferList: [port2] });
    this.#port = port1;
    await new Promise<void>((resolve) => {
      port1.once('message', resolve);
    });
    port1.on('message', () => this.onDue());
  }

  /** Call after start(). Replaces any earlier time. */
  wakeAt(when: number): void {
    this.#times[DUE] = Math.max(when, now() + TICK_MS);
    Atomics.store(this.#words, SEQUENCE, ((this.#words[SEQUENCE] ?? 0) + 1) & 0x7fffffff);
    Atomics.notify(this.#words, SEQUENCE);
  }

  async close(): Promise<void> {
    if (this.#worker === undefined) return;
    Atomics.store(this.#words, SEQUENCE, ENDED);
    Atomics.notify(this.#words, SEQUENCE);
    this.#port?.close();
    await this.#worker.terminate();
  }
}

/** The pacer's side: runs until close(). */
export function pace({ shared, port }: PacerData): void {
  const words = new Int32Array(shared);
  const times = new Float64Array(shared);
  let told = 0;
  port.postMessage(0);
  for (;;) {
    const sequence = Atomics.load(words, SEQUENCE);
    if (sequence === ENDED) return;
    const left = (times[DUE] ?? 0) - now();
    if (sequence === told) {
      Atomics.wait(words, SEQUENCE, sequence);
    } else if (left > 0) {
      Atomics.wait(words, SEQUENCE, sequence, left);
    } else {
      told = sequence;
      port.postMessage(0);
    }
  }
}
