// The HTTP listeners of one port: a worker thread each. Control plane, main thread.
import { createServer } from 'node:net';
import { Worker } from 'node:worker_threads';
import { ErrorCode, ServalError } from './errors.js';
import type { FromWorker, ToWorker, WorkerSettings } from './http-messages.js';
import { HTTP_HEAD_BYTES_MAX } from './limits.js';
import type { RegistrySnapshot } from './registry/snapshot.js';

/** Finds out whether the address is free, and which port 0 gives. The listeners share the port
 * (SO_REUSEPORT), so that a second server would join silently instead of failing: this one bind
 * without sharing says it. Errors: InvalidArgument naming host, port and reason. */
export function reservePort(host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', (error: NodeJS.ErrnoException) => {
      const why = error.code === 'EADDRINUSE'
        ? 'the port is in use by another process; choose another, or 0 for a free one'
        : error.message;
      reject(new ServalError(ErrorCode.InvalidArgument,
        `HTTP cannot listen on ${host} port ${port}: ${why}`));
    });
    probe.listen({ host, port, exclusive: true }, () => {
      const address = probe.address();
      const bound = address !== null && typeof address === 'object' ? address.port : port;
      probe.close(() => resolve(bound));
    });
  });
}

interface Member {
  readonly worker: Worker;
  readonly listening: Promise<void>;
  readonly drained: Promise<void>;
  /** Acknowledgements that are due, by epoch. */
  readonly due: Map<number, (() => void)[]>;
}

function startMember(settings: WorkerSettings, lost: (error: Error) => void): Member {
  const worker = new Worker(new URL('./http-worker.js', import.meta.url), {
    workerData: settings,
    name: 'serval-http',
  });
  const due = new Map<number, (() => void)[]>();
  let drained = (): void => undefined;
  const ended = new Promise<void>((resolve) => {
    drained = resolve;
  });
  const listening = new Promise<void>((resolve, reject) => {
    worker.on('message', (message: FromWorker) => {
      if (message.kind === 'listening') resolve();
      else if (message.kind === 'failed') {
        reject(new ServalError(message.code as ErrorCode, message.message));
        drained();
      } else if (message.kind === 'drained') drained();
      else {
        for (const acknowledge of due.get(message.epoch) ?? []) acknowledge();
        due.delete(message.epoch);
      }
    });
    worker.on('error', (error) => {
      reject(error);
      lost(error);
    });
    worker.on('exit', () => {
      drained();
      for (const acknowledge of [...due.values()].flat()) acknowledge();
      due.clear();
    });
  });
  return { worker, listening, drained: ended, due };
}

export class HttpPool {
  readonly #members: readonly Member[];

  /** Starts `threads` listeners. `lost` is told when a worker thread dies. */
  constructor(settings: WorkerSettings, threads: number, lost: (error: Error) => void) {
    // uWebSockets.js reads its limit from the process's environment when a worker loads it.
    process.env['UWS_HTTP_MAX_HEADERS_SIZE'] ??= String(HTTP_HEAD_BYTES_MAX);
    this.#members = Array.from({ length: threads }, () => startMember(settings, lost));
  }

  /** Settles when all listen. Rejects with the first failure. */
  async listening(): Promise<void> {
    await Promise.all(this.#members.map((member) => member.listening));
  }

  /** Hands a snapshot to every listener; settles when all use it. */
  async publish(snapshot: RegistrySnapshot): Promise<void> {
    const message: ToWorker = { kind: 'snapshot', snapshot };
    await Promise.all(this.#members.map((member) => new Promise<void>((resolve) => {
      member.due.set(snapshot.epoch, [...(member.due.get(snapshot.epoch) ?? []), resolve]);
      member.worker.postMessage(message);
    })));
  }

  /** Stops accepting and waits, at most `seconds`, for what runs; then closes the connections.
   * Models may still run behind a connection that had to be closed. */
  async drain(seconds: number): Promise<void> {
    const message: ToWorker = { kind: 'drain', seconds };
    for (const member of this.#members) member.worker.postMessage(message);
    await Promise.all(this.#members.map((member) => member.drained));
  }

  /** Ends the threads after a start that failed. Never by terminate() alone: Node aborts the
   * process when a thread's loop still has uWebSockets.js's handles open. */
  async stop(): Promise<void> {
    await Promise.all(this.#members.map((member) => member.listening.catch(() => undefined)));
    await this.drain(0);
    await Promise.all(this.#members.map((member) => member.worker.terminate()));
  }
}
