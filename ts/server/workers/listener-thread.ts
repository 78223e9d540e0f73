// Common part of the listeners' worker threads: each attaches to the engine, follows the registry's
// snapshots and the log switches, sends control calls to the main thread, and drains. Control
// plane; the listener's own thread.
import { parentPort, workerData } from 'node:worker_threads';
import type { Policy } from '../../access/policy.js';
import { ControlProxy } from '../admin/control-proxy.js';
import { ErrorCode, ServalError, reasonOf } from '../../base/errors.js';
import { HeapOfModels } from '../../base/memory/garbage.js';
import { exitOnUncaught } from '../../engine/exit.js';
import { FULL_LOG_EVERY_MS, HANDSHAKE_LOG_EVERY_MS } from '../../base/limits.js';
import { createLogger, LogLevels, RareWarning, type Logger } from '../../base/logger.js';
import { openLink } from '../../engine/open-link.js';
import type { EngineLink } from '../../engine/link.js';
import { LinkReadings } from '../../protocols/engine-readings.js';
import {
  applyChange,
  EMPTY_SNAPSHOT,
  shownSnapshot,
  type SnapshotChange,
} from '../../models/registry/snapshot-build.js';
import type { ModelControl } from '../../protocols/control.js';
import type { RegistrySnapshot } from '../../model/snapshot.js';
import type { HandshakeFailures } from '../../listeners/grpc/settings.js';
import type { ThreadAdded } from '../../listeners/threads.js';
import { AnswerLines } from './answer-lines.js';
import type { Cuts, FromWorker, ListenerSettings, Ports, ToWorker } from './messages.js';

/** Interface of a listener to its thread. */
export interface ThreadListener {
  /** Settles when it listens. Rejects with a ServalError that gives the reason. */
  listen(): Promise<Ports>;
  /**
   * Stops accepting, finishes running requests, closes every connection after `seconds`. Settles
   * with the requests that were cut off.
   */
  drain(seconds: number): Promise<Cuts>;
  /** Rereads TLS files, if there are any. */
  reloadCertificates(): void;
  /** Called when the thread's policy has changed, after its followers. */
  policyChanged?(): Promise<void> | void;
}

/**
 * Called after a change. `models`: the only models that requests may find changed; undefined: the
 * policy, or anything else, may have changed.
 */
type Follower = (models: ReadonlySet<string> | undefined) => void;

/** Documents may have changed, but no model's routes. */
const NO_MODELS: ReadonlySet<string> = new Set();

function changedModels({ models, removed }: SnapshotChange): ReadonlySet<string> {
  return new Set([...models.map(({ name }) => name), ...removed]);
}

function post(message: FromWorker, transfer: readonly ArrayBuffer[] = []): void {
  parentPort?.postMessage(message, transfer);
}

export class ListenerThread {
  readonly link: EngineLink;
  readonly control = new ControlProxy(post);
  readonly readings: LinkReadings;
  /** The current access policy. */
  policy: Policy;
  /** undefined: the access log is disabled. */
  readonly log: AnswerLines | undefined;
  /** The newest snapshot from the main thread: requests are routed by it. */
  snapshot: RegistrySnapshot = EMPTY_SNAPSHOT;
  #confirmed: RegistrySnapshot = EMPTY_SNAPSHOT;
  /** The value of `shown` computed since the last message; undefined = not requested yet. */
  #shown: RegistrySnapshot | undefined;
  /** Snapshots newer than the confirmed one, by epoch. */
  readonly #heap = new HeapOfModels();
  readonly #unconfirmed = new Map<number, RegistrySnapshot>();
  readonly #levels: LogLevels;
  readonly #logger: Logger;
  readonly #followers = new Set<Follower>();

  /** Errors: RuntimeUnavailable. */
  constructor(settings: ListenerSettings) {
    const { logLevel: level, logFormat: format, logFile: file } = settings;
    this.policy = settings.policy;
    this.#levels = new LogLevels(level);
    this.#logger = createLogger({ level, format, file, control: this.#levels });
    this.link = openLink(settings.engine);
    this.link.report = this.report;
    this.readings = new LinkReadings(this.link);
    const { accessLog } = settings;
    this.log = accessLog && new AnswerLines(accessLog, (line) => this.link.addAccessLog(line));
  }

  /**
   * The snapshot for readiness: the part of the newest that every listener has. Computed on demand:
   * while thousands of models load, most snapshots are never read.
   */
  get shown(): RegistrySnapshot {
    this.#shown ??= shownSnapshot(this.snapshot, this.#confirmed);
    return this.#shown;
  }

  /** Logs what a handler threw, which is a bug in Serval. */
  readonly report = (error: unknown): void => {
    const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.#logger.error('a request handler failed', { reason });
  };

  /**
   * Returns a function that logs, at intervals, that connections are refused: one for each port.
   */
  full(): (connections: number) => void {
    const warning = new RareWarning(FULL_LOG_EVERY_MS);
    return (connections) =>
      warning.tell(() =>
        this.#logger.warn('too many connections; refusing new ones', { connections }),
      );
  }

  /** Returns a function that logs that a listener has added a thread. */
  threadAdded(what: string): (added: ThreadAdded) => void {
    return ({ threads, busyPercent, freeCores }) =>
      this.#logger.info(`${what}: listener thread added`, {
        threads,
        reason: `a listener thread was busy for ${busyPercent} % of its time`,
        freeCores: freeCores.toFixed(1),
      });
  }

  /**
   * Returns a function that logs failed TLS handshakes of clients, the first at once, others at
   * intervals.
   */
  handshakeFailed(what: string): (failed: HandshakeFailures) => void {
    const warning = new RareWarning(HANDSHAKE_LOG_EVERY_MS);
    return ({ failures, peer, reason }) =>
      warning.tell(() =>
        this.#logger.warn(`a TLS handshake with a ${what} client failed`, {
          peer,
          reason,
          failures,
        }),
      );
  }

  /** Returns a function that logs the result of reloading TLS files, for gRPC or HTTP. */
  certificates(what: string): (problem: string | undefined) => void {
    return (problem) => {
      if (problem === undefined) this.#logger.info(`${what} certificates reloaded`);
      else this.#logger.error(`failed to reload ${what} certificates`, { reason: problem });
    };
  }

  /** Control calls of callers without limits. */
  readonly limited = (control: ModelControl): ModelControl => control;

  /** Counts a caller who was refused. */
  readonly refused = (): void => this.link.serverValue('refused_access', 1, true);

  /** Counts HTTP connections. (Listeners in the addon count their own.) */
  readonly connected = (change: number): void =>
    this.link.serverValue('connections_http', change, true);

  /** Returns a function that records when the certificate of a listener expires. */
  expires(transport: 'http' | 'grpc' | 'admin'): (seconds: number) => void {
    return (seconds) => this.link.serverValue(`certificate_${transport}`, seconds, false);
  }

  /** Calls `follower` after each change; the returned function unsubscribes it. */
  subscribe(follower: Follower): () => void {
    this.#followers.add(follower);
    return () => this.#followers.delete(follower);
  }

  /** Follows the main thread's messages from now on. */
  follow(listener: ThreadListener): void {
    parentPort?.on('message', (message: ToWorker) => {
      switch (message.kind) {
        case 'snapshot':
          this.snapshot = applyChange(this.snapshot, message.change);
          this.#unconfirmed.set(this.snapshot.epoch, this.snapshot);
          this.#heap.note(message.change.models.length + message.change.removed.length);
          this.#acknowledge(message.id, changedModels(message.change));
          break;
        case 'confirmed':
          this.#confirm(message.epoch);
          this.#acknowledge(message.id, NO_MODELS);
          break;
        case 'log-switches':
          this.#levels.switches = message.switches;
          break;
        case 'control-answer':
          this.control.settle(message);
          break;
        case 'policy':
          this.policy = message.policy;
          this.#tellFollowers(undefined);
          void this.#policyChanged(listener, message.id);
          break;
        case 'reload-certificates':
          listener.reloadCertificates();
          break;
        case 'drain':
          void this.#drain(listener, message.seconds);
          break;
      }
    });
  }

  #confirm(epoch: number): void {
    this.#confirmed = this.#unconfirmed.get(epoch) ?? this.#confirmed;
    for (const older of this.#unconfirmed.keys()) {
      if (older <= epoch) this.#unconfirmed.delete(older);
    }
  }

  async #policyChanged(listener: ThreadListener, id: number): Promise<void> {
    try {
      await listener.policyChanged?.();
    } catch (error) {
      this.report(error);
    }
    this.#acknowledge(id, NO_MODELS);
  }

  #acknowledge(id: number, models: ReadonlySet<string>): void {
    this.#shown = undefined;
    this.#tellFollowers(models);
    post({ kind: 'acknowledged', id });
  }

  #tellFollowers(models: ReadonlySet<string> | undefined): void {
    for (const follower of this.#followers) {
      try {
        follower(models);
      } catch (error) {
        this.report(error);
      }
    }
  }

  async #drain(listener: ThreadListener, seconds: number): Promise<void> {
    post({ kind: 'drained', cuts: await listener.drain(seconds) });
    this.link.detach(); // ends requests that still run, even past the limit
    parentPort?.close();
  }
}

/** Main function of a worker: creates its listener and listens until it is drained. */
export async function runListener<Settings extends ListenerSettings>(
  make: (thread: ListenerThread, settings: Settings) => ThreadListener | Promise<ThreadListener>,
): Promise<void> {
  try {
    const settings = workerData as Settings;
    exitOnUncaught({ level: settings.logLevel, format: settings.logFormat });
    const thread = new ListenerThread(settings);
    const listener = await make(thread, settings);
    thread.follow(listener);
    post({ kind: 'listening', ports: await listener.listen() });
  } catch (error) {
    const code = error instanceof ServalError ? error.code : ErrorCode.Internal;
    const message = reasonOf(error);
    post({ kind: 'failed', code, message });
  }
}
