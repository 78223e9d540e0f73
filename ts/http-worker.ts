// The worker thread of one HTTP listener: attaches to the engine, routes by URL, follows the
// registry's snapshots. Hot path's frame; its own thread.
import { parentPort, workerData } from 'node:worker_threads';
import { ErrorCode, ServalError } from './errors.js';
import type { FromWorker, ToWorker, WorkerSettings } from './http-messages.js';
import { createLogger } from './logger.js';
import { openPort } from './native/open-port.js';
import { v1Route } from './protocols/v1-rest.js';
import { v2Route, type V2Context } from './protocols/v2-rest.js';
import { EMPTY_SNAPSHOT } from './registry/snapshot-build.js';
import type { RegistrySnapshot } from './registry/snapshot.js';
import type { Route } from './transport/listener.js';
import { UwsListener } from './transport/uws-listener.js';

const V1_PREFIX = /^\/v1\//i;

function post(message: FromWorker): void {
  parentPort?.postMessage(message);
}

async function run(settings: WorkerSettings): Promise<void> {
  const logger = createLogger({ level: settings.logLevel, format: settings.logFormat });
  const port = openPort(settings);
  const context: V2Context = { ...settings, port };
  let snapshot: RegistrySnapshot = EMPTY_SNAPSHOT;
  const router = (method: string, path: string): Route =>
    V1_PREFIX.test(path)
      ? v1Route(context, snapshot, method, path)
      : v2Route(context, snapshot, method, path);
  const report = (error: unknown): void => {
    const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
    logger.error('a request handler failed', { reason });
  };
  port.report = report;
  const listener = new UwsListener(router, report);
  parentPort?.on('message', (message: ToWorker) => {
    if (message.kind === 'snapshot') {
      snapshot = message.snapshot;
      listener.routesChanged();
      post({ kind: 'acknowledged', epoch: snapshot.epoch });
      return;
    }
    void listener.drain(message.seconds).then(() => {
      post({ kind: 'drained' });
      port.detach(); // waits for the models that still run, past the limit too
      parentPort?.close();
    });
  });
  post({ kind: 'listening', port: await listener.listen(settings.host, settings.port) });
}

run(workerData as WorkerSettings).catch((error: unknown) => {
  const code = error instanceof ServalError ? error.code : ErrorCode.Internal;
  post({ kind: 'failed', code, message: error instanceof Error ? error.message : String(error) });
});
