// `serval serve`: reads the configuration, starts the server, reports that it is ready, and stops
// it on a signal. Control plane, main thread.
import { availableParallelism } from 'node:os';
import { reasonOf } from '../../base/errors.js';
import { parseServeConfig } from '../../config/config.js';
import type { Config } from '../../config/config.js';
import { exitNow, exitOnUncaught } from '../../engine/exit.js';
import { removeHeldFolders } from '../../models/placement/tensorrt/held-folders.js';
import { createLogger } from '../../base/logger.js';
import type { Logger } from '../../base/logger.js';
import type { RegistrySnapshot } from '../../model/snapshot.js';
import { loadBinding } from '../../engine/binding.js';
import { requireThreads, startNodePool, type ThreadSettings } from '../../engine/thread-need.js';
import { startServer, type RunningServer } from '../../server/server.js';
import { listenerThreads } from '../../server/listener-threads.js';
import { unsupportedNode } from '../../base/version.js';
import { RequestFiles } from './request-files.js';
import { startedJson, startedText, type Listening } from './startup-text.js';
import { asUsage } from '../usage.js';

const SIGNAL_EXIT: Readonly<Record<'SIGINT' | 'SIGTERM', number>> = { SIGINT: 130, SIGTERM: 143 };

/**
 * Returns the exit code: 0 with the server running. Errors: UsageError; what startServer throws (a
 * missing path, a port in use).
 */
export async function serveCommand(args: readonly string[]): Promise<number> {
  const startable = (wanted: number): number => loadBinding().startableThreads(wanted);
  await startNodePool(startable);
  const config = await asUsage(() => parseServeConfig(args, process.cwd()));
  const { logLevel: level, logFormat: format, logFile: file } = config;
  const logger = createLogger({ level, format, file });
  const oldNode = unsupportedNode(process.version);
  if (oldNode !== undefined) logger.warn(`${oldNode}: this version is not tested`);
  exitOnUncaught({ level, format });
  const growth = requireThreads(threadSettings(config), startable);
  const signals = new SignalExit(logger);
  signals.install();
  try {
    const server = await startServer(config, growth);
    signals.server = server;
    process.on('SIGHUP', () => {
      logger.info('reloading configuration and models', { signal: 'SIGHUP' });
      void server.reload();
    });
    announce(config, server, signals.files);
  } catch (error) {
    signals.remove();
    throw error;
  }
  return 0;
}

function threadSettings(config: Config): ThreadSettings {
  const { http, grpc, growth } = listenerThreads(config);
  return {
    httpThreads: http.threads,
    grpcThreads: grpc.threads,
    growth,
    intraOpThreads: config.model.intraOpThreads,
    processors: availableParallelism(),
  };
}

/** Prints that the server listens, and that it is ready once it is. */
function announce(config: Config, server: RunningServer, files: RequestFiles): void {
  const { httpPort, grpcPort, tls, admin } = server;
  const { grpcHost, host } = config;
  const metrics = metricsAt(config, server);
  const policy = server.policy();
  const requestFile = files.pathOf;
  const at = { host, httpPort, grpcHost, grpcPort, tls, metrics, admin, policy, requestFile };
  const text =
    config.logFormat === 'json'
      ? (snapshot: RegistrySnapshot) => startedJson(snapshot, at, process.pid)
      : (snapshot: RegistrySnapshot) => startedText(snapshot, at);
  const snapshot = server.snapshot();
  process.stdout.write(text(snapshot));
  if (snapshot.ready) return;
  void server.whenReady().then(() => process.stdout.write(text(server.snapshot())));
}

function metricsAt({ metrics }: Config, { metricsPort }: RunningServer): Listening['metrics'] {
  return metricsPort === undefined ? undefined : { host: metrics.host, port: metricsPort };
}

/**
 * The first SIGTERM or SIGINT drains and exits 0, or 1 if requests had to be cut off; a second one,
 * or one before the server is up, exits at once with 128 + the signal's number.
 */
class SignalExit {
  server: RunningServer | undefined;
  readonly files = new RequestFiles();
  readonly #logger: Logger;
  #draining = false;
  readonly #onTerm = (): void => this.#on('SIGTERM');
  readonly #onInt = (): void => this.#on('SIGINT');

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  install(): void {
    process.on('SIGTERM', this.#onTerm);
    process.on('SIGINT', this.#onInt);
  }

  remove(): void {
    process.off('SIGTERM', this.#onTerm);
    process.off('SIGINT', this.#onInt);
  }

  #on(signal: 'SIGINT' | 'SIGTERM'): void {
    if (this.server === undefined || this.#draining) this.#exit(SIGNAL_EXIT[signal]);
    this.#draining = true;
    this.#logger.info('draining', { signal });
    this.server.drain().then(
      (cut) => {
        if (cut === undefined) {
          this.#logger.info('stopped');
          this.#exit(0);
        }
        this.#logger.error('stopped before all requests were answered', { ...cut });
        this.#exit(1);
      },
      (error: unknown) => {
        const reason = reasonOf(error);
        this.#logger.error('failed to stop cleanly', { reason });
        this.#exit(1);
      },
    );
  }

  #exit(code: number): never {
    this.files.remove();
    removeHeldFolders();
    return exitNow(code);
  }
}
