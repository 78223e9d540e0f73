// Wires everything together: engine, registry, HTTP listeners, gRPC listener. The only file that
// knows all of them. Control plane, main thread (which is also the gRPC listener's).
import type { Config } from './config.js';
import { HttpPool, reservePort } from './http-pool.js';
import { DRAIN_GRACE_MS, INFLATED_BYTES_MAX } from './limits.js';
import { createLogger, type Logger } from './logger.js';
import { createEngine, type Engine } from './native/engine.js';
import { EngineInfer } from './protocols/engine-infer.js';
import { HEALTH_SERVICE, healthService } from './protocols/grpc-health.js';
import { REFLECTION_SERVICES, reflectionServices } from './protocols/grpc-reflection.js';
import { INFERENCE_SERVICE, inferenceService } from './protocols/v2-grpc.js';
import { desiredModels } from './registry/desired.js';
import { Registry } from './registry/registry.js';
import { scanSources } from './registry/repository.js';
import type { RegistrySnapshot } from './registry/snapshot.js';
import { GrpcListener } from './transport/grpc-listener.js';
import { servalVersion } from './version.js';

export interface RunningServer {
  readonly httpPort: number;
  readonly grpcPort: number;
  readonly logger: Logger;
  /** The registry's present state. */
  snapshot(): RegistrySnapshot;
  /** Stops accepting, finishes what runs, closes every connection; takes at most the configured
   * seconds, whatever a model does. Behind it the process can only end: threads may still run. */
  drain(): Promise<void>;
}

function grpcListener(config: Config, engine: Engine, registry: Registry): GrpcListener {
  const snapshot = (): RegistrySnapshot => registry.snapshot;
  const subscribe = (listener: () => void): (() => void) => registry.subscribe(() => listener());
  const infer = new EngineInfer(engine.port);
  const names = [INFERENCE_SERVICE, HEALTH_SERVICE, ...REFLECTION_SERVICES];
  return new GrpcListener({
    host: config.host,
    port: config.grpcPort,
    receiveBytesMax: config.grpcMessageBytesMax,
    sendBytesMax: config.grpcMessageBytesMax,
    services: [
      inferenceService({ snapshot, infer, serverVersion: servalVersion() }),
      healthService({ snapshot, subscribe, services: [INFERENCE_SERVICE] }),
      ...reflectionServices(names),
    ],
  });
}

/** Starts the server; settles when it listens and every model is loaded or has failed.
 * Rejects with ServalError when a port is taken or a path does not exist. */
export async function startServer(config: Config): Promise<RunningServer> {
  const logger = createLogger({ level: config.logLevel, format: config.logFormat });
  const [httpPort, scan] = await Promise.all([
    reservePort(config.host, config.httpPort),
    scanSources(config.sources),
  ]);
  for (const problem of scan.problems) logger.warn('model source', { problem });
  const limits = { bodyBytesMax: config.bodyBytesMax, jsonDepthMax: config.jsonDepthMax };
  const { intraOpThreads } = config.model;
  const engineOptions = {
    ...limits,
    intraOpThreads,
    onnxruntimeLibrary: config.onnxruntimeLibrary,
  };
  const engine = await createEngine(engineOptions);
  engine.port.report = (error) => {
    logger.error('a gRPC handler failed', { reason: String(error) });
  };
  const pool = new HttpPool(
    {
      ...engineOptions,
      host: config.host,
      port: httpPort,
      serverVersion: servalVersion(),
      healthBody: config.healthBody,
      inflatedBytesMax: Math.min(config.bodyBytesMax, INFLATED_BYTES_MAX),
      logLevel: config.logLevel,
      logFormat: config.logFormat,
    },
    config.httpThreads,
    (error) => {
      // Half a server is worse than a restart.
      logger.error('an HTTP listener thread died: exiting', { reason: error.message });
      engine.port.native.exitNow(1);
    },
  );
  const { strictReadiness } = config;
  const registry = new Registry({ engine: engine.control, logger, strictReadiness });
  const grpc = grpcListener(config, engine, registry);
  try {
    // Per-model threads stay 0: the shared pool, which the setting sizes, is what models use.
    const model = { ...config.model, intraOpThreads: 0 };
    const loaded = registry.reconcile(desiredModels(scan.models, model));
    const [grpcPort] = await Promise.all([grpc.start(), pool.listening()]);
    registry.subscribe((snapshot) => pool.publish(snapshot));
    await loaded;
    await pool.publish(registry.snapshot);
    return {
      httpPort,
      grpcPort,
      logger,
      snapshot: () => registry.snapshot,
      drain: () => {
        const seconds = config.drainSeconds;
        const drained = registry.drain()
          .then(() => Promise.all([pool.drain(seconds), grpc.drain(seconds)]));
        // A listener whose thread runs a model cannot even hear that it should stop.
        const late = new Promise((resolve) => {
          setTimeout(resolve, seconds * 1000 + DRAIN_GRACE_MS);
        });
        return Promise.race([drained, late]).then(() => undefined);
      },
    };
  } catch (error) {
    await Promise.all([pool.stop(), grpc.drain(0)]);
    engine.close();
    throw error;
  }
}
