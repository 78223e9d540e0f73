// The listeners' worker threads: one for each HTTP listener of the one port. Control plane, main
// thread.
import { createServer } from 'node:net';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Policy } from '../../access/policy.js';
import type { ModelControl } from '../../protocols/control.js';
import { publicChange } from '../admin/public-text.js';
import { answerControl, type ControlAnswer, type ControlRequest } from '../admin/control-proxy.js';
import { ErrorCode, ServalError } from '../../base/errors.js';
import { HTTP_HEAD_BYTES_MAX } from '../../base/limits.js';
import type { LogSwitches } from '../../base/logger.js';
import type { RegistrySnapshot } from '../../model/snapshot.js';
import { EMPTY_SNAPSHOT, snapshotChange } from '../../models/registry/snapshot-build.js';
import { addedCounts } from '../../base/text.js';
import type { Cut } from '../../listeners/cut.js';
import type {
  AdminSettings,
  Cuts,
  FromWorker,
  GrpcSettings,
  HttpSettings,
  Ports,
  AcknowledgedMessage,
  ToWorker,
} from './messages.js';

/**
 * Checks that the address is free, and resolves port 0. The listeners share the port
 * (SO_REUSEPORT), so a second server would join silently instead of failing: this one bind without
 * sharing detects it. Errors: InvalidArgument naming host, port and reason.
 */
export function reservePort(host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', (error: NodeJS.ErrnoException) => {
      const why =
        error.code === 'EADDRINUSE'
          ? 'the port is in use by another process; choose another, or 0 for a free one'
          : error.message;
      reject(
        new ServalError(
          ErrorCode.InvalidArgument,
          `HTTP cannot listen on ${host} port ${port}: ${why}`,
        ),
      );
    });
    probe.listen({ host, port, exclusive: true }, () => {
      const address = probe.address();
      const bound = address !== null && typeof address === 'object' ? address.port : port;
      probe.close(() => resolve(bound));
    });
  });
}

/**
 * Each thread's file. It is beside this one and has the same extension: ".js" in dist/, ".cjs" in
 * the bundle.
 */
const WORKER_FILE = './http-worker';
const WORKER_NAME = 'serval-http';

type Answer = (request: ControlRequest) => Promise<ControlAnswer>;
type Lost = (thread: string, error: Error) => void;

/** Requests that a drain cut off, by listener, and their number per model. */
export interface CutRequests {
  readonly http: number;
  readonly grpc: number;
  readonly models: Cut['models'];
}

/** One worker thread. */
class Member {
  /** Settles when it listens. */
  readonly listening: Promise<Ports>;
  /** Settles with the requests that were cut off. */
  readonly drained: Promise<Cuts>;
  readonly #worker: Worker;
  /** Outstanding acknowledgements, by the message's id. */
  readonly #due = new Map<number, () => void>();
  #ended = false;

  constructor(settings: HttpSettings, lost: Lost, answer: Answer) {
    const here = import.meta.url;
    const worker = new Worker(new URL(`${WORKER_FILE}${extname(here)}`, here), {
      workerData: settings,
      name: WORKER_NAME,
      stdout: true,
      stderr: true,
    });
    this.#worker = worker;
    // Not piped: a pipe ends with the first error of its destination, and fills up.
    worker.stdout.on('data', (chunk: Buffer) => process.stdout.write(chunk));
    worker.stderr.on('data', (chunk: Buffer) => process.stderr.write(chunk));
    let drained = (_cuts: Cuts): void => undefined;
    this.drained = new Promise<Cuts>((resolve) => {
      drained = resolve;
    });
    this.listening = new Promise<Ports>((resolve, reject) => {
      worker.on('message', (message: FromWorker) => {
        if (message.kind === 'listening') resolve(message.ports);
        else if (message.kind === 'failed') {
          reject(new ServalError(message.code as ErrorCode, message.message));
          drained({});
        } else if (message.kind === 'drained') drained(message.cuts);
        else if (message.kind === 'control') {
          void answer(message).then((settled) => this.post(settled));
        } else this.#acknowledged(message.id);
      });
      worker.on('error', (error) => {
        reject(error);
        lost(WORKER_NAME, error);
      });
    });
    worker.on('exit', () => {
      this.#ended = true;
      drained({});
      for (const id of [...this.#due.keys()]) this.#acknowledged(id);
    });
  }

  post(message: ToWorker): void {
    this.#worker.postMessage(message);
  }

  /** Settles when the thread has acknowledged the message or has ended. */
  take(message: AcknowledgedMessage): Promise<void> {
    if (this.#ended) return Promise.resolve();
    return new Promise((resolve) => {
      this.#due.set(message.id, resolve);
      this.post(message);
    });
  }

  async terminate(): Promise<void> {
    await this.#worker.terminate();
  }

  #acknowledged(id: number): void {
    this.#due.get(id)?.();
    this.#due.delete(id);
  }
}

export interface ListenerPoolOptions {
  readonly http: HttpSettings;
  /** HTTP listeners with uWebSockets.js; a native listener has one worker. */
  readonly workers: number;
  /** For the first HTTP listener's thread. */
  readonly admin?: AdminSettings | undefined;
  /** For that thread too; undefined: gRPC is disabled. */
  readonly grpc: GrpcSettings | undefined;
  /** Called when a worker thread dies. */
  readonly lost: Lost;
  /** Makes a text fit for clients. */
  readonly publicText: (text: string) => string;
  /** Callers who may not see metadata get no reason of a failed load. */
  readonly hidesReasons: boolean;
}

export class ListenerPool {
  readonly #members: readonly Member[];
  #adminPort: number | undefined;
  #httpPort: number | undefined;
  #control: ModelControl | undefined;
  /** The snapshot that the listeners have, or will have after reading their messages. */
  #sent: RegistrySnapshot = EMPTY_SNAPSHOT;
  /** Settles when all listeners use, and show, the last snapshot sent. */
  #taken: Promise<unknown> = Promise.resolve();
  #lastId = 0;
  readonly #publicText: (text: string) => string;
  readonly #hidesReasons: boolean;

  /** Starts the threads. */
  constructor(options: ListenerPoolOptions) {
    const { http, workers, admin, grpc, lost } = options;
    this.#publicText = options.publicText;
    this.#hidesReasons = options.hidesReasons;
    // uWebSockets.js reads its limit from the process's environment when a worker loads it.
    process.env['UWS_HTTP_MAX_HEADERS_SIZE'] ??= String(HTTP_HEAD_BYTES_MAX);
    const answer: Answer = (request) => this.#answer(request);
    const first = { ...http, ...(grpc && { grpc }), ...(admin && { admin }) };
    // Without an HTTP port, the first thread runs for its other listeners.
    const hasOthers = grpc !== undefined || admin !== undefined;
    const threads = http.listener === undefined ? Number(hasOthers) : workers;
    this.#members = Array.from(
      { length: threads },
      (_, index) => new Member(index === 0 ? first : http, lost, answer),
    );
  }

  /** Sets the object that answers the listeners' control requests. */
  attachControl(control: ModelControl): void {
    this.#control = control;
  }

  /** Sets the log levels that the listeners write from now on. */
  setLogSwitches(switches: LogSwitches): void {
    this.#post({ kind: 'log-switches', switches });
  }

  /** Settles with gRPC's port, if there is one, when all listen. Rejects with the first failure. */
  async listening(): Promise<number | undefined> {
    const ports = await Promise.all(this.#members.map((member) => member.listening));
    this.#adminPort = ports.find(({ adminPort }) => adminPort !== undefined)?.adminPort;
    this.#httpPort = ports.find(({ httpPort }) => httpPort !== undefined)?.httpPort;
    return ports.find(({ grpcPort }) => grpcPort !== undefined)?.grpcPort;
  }

  /** Valid after listening(); undefined if there is no HTTP port. */
  get httpPort(): number | undefined {
    return this.#httpPort;
  }

  /** Valid after listening(); undefined if there is no admin address, 0 for a unix socket. */
  get adminPort(): number | undefined {
    return this.#adminPort;
  }

  /** Settles when every listener applies this policy. */
  async setPolicy(policy: Policy): Promise<void> {
    await this.#take((id) => ({ id, kind: 'policy', policy }));
  }

  /** Makes the threads reload their TLS files. */
  reloadCertificates(): void {
    this.#post({ kind: 'reload-certificates' });
  }

  /**
   * Sends a snapshot to every listener; settles when all use it and show it. In two steps: none may
   * report a model ready while another listener does not know it yet.
   */
  async publish(snapshot: RegistrySnapshot): Promise<void> {
    // Copies only the differences to the threads: of a thousand models, one changes at a time.
    const all = snapshotChange(this.#sent, snapshot);
    const change = publicChange(all, this.#publicText, this.#hidesReasons);
    this.#sent = snapshot;
    const { epoch } = snapshot;
    const taken = this.#take((id) => ({ id, kind: 'snapshot', change })).then(() =>
      this.#take((id) => ({ id, kind: 'confirmed', epoch })),
    );
    this.#taken = taken;
    await taken;
  }

  #take(messageOf: (id: number) => AcknowledgedMessage): Promise<unknown> {
    this.#lastId += 1;
    const message = messageOf(this.#lastId);
    return Promise.all(this.#members.map((member) => member.take(message)));
  }

  /** Settles when every listener uses the last published snapshot. */
  async caughtUp(): Promise<void> {
    await this.#taken;
  }

  /**
   * Stops accepting and waits, at most `seconds`, for running requests; then closes the
   * connections. Returns what was cut off.
   */
  async drain(seconds: number): Promise<CutRequests> {
    this.#post({ kind: 'drain', seconds });
    const cuts = await Promise.all(this.#members.map((member) => member.drained));
    const requests = (of: readonly (Cut | undefined)[]): number =>
      of.reduce((sum, one) => sum + (one?.requests ?? 0), 0);
    return {
      http: requests(cuts.map((one) => one.http)),
      grpc: requests(cuts.map((one) => one.grpc)),
      models: addedCounts(
        cuts.flatMap(({ http, grpc }) => [http?.models ?? {}, grpc?.models ?? {}]),
      ),
    };
  }

  /**
   * Ends the threads after a start that failed. Never by terminate() alone: Node aborts the process
   * if a thread's loop still has open handles of uWebSockets.js.
   */
  async stop(): Promise<void> {
    await Promise.all(this.#members.map((member) => member.listening.catch(() => undefined)));
    await this.drain(0);
    await Promise.all(this.#members.map((member) => member.terminate()));
  }

  #post(message: ToWorker): void {
    for (const member of this.#members) member.post(message);
  }

  async #answer(request: ControlRequest): Promise<ControlAnswer> {
    if (this.#control === undefined) {
      const { id } = request;
      const message = 'the server is starting: it does not accept control requests yet';
      return { kind: 'control-answer', id, ok: false, code: ErrorCode.ModelNotReady, message };
    }
    const answer = await answerControl(this.#control, request, this.#publicText);
    // The effect of a call is visible on every listener before its client gets the response.
    await this.caughtUp();
    return answer;
  }
}
