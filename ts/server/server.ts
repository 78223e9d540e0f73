// Wires everything together: engine, registry, model sources, the listeners' threads, metrics. The
// only file that knows all of them. Control plane, main thread.
import type { Policy } from '../access/policy.js';
import { ServerAccess } from './start/access.js';
import type { AdminAddress } from '../config/access.js';
import { PublicText, publicReason } from './admin/public-text.js';
import { hidesReasons } from '../access/policy.js';
import type { ModelControl } from '../protocols/control.js';
import { createModelControl } from './admin/model-control.js';
import { sharedMemoryControl } from './admin/shared-memory.js';
import { startObservers, type Observers } from './admin/observers.js';
import { engineSettings, type Config } from '../config/config.js';
import { sharesPort } from '../config/server-settings.js';
import { checkSharedTls, transportTls, type TransportTls } from './workers/transport-tls.js';
import { ErrorCode, reasonOf, ServalError } from '../base/errors.js';
import { importInThread } from '../importers/run/import-thread.js';
import { QuietThreads } from '../importers/run/quiet-thread.js';
import { DRAIN_GRACE_MS, INFLATED_BYTES_MAX, LOADS_AT_ONCE } from '../base/limits.js';
import { createLogger, LogLevels, levelSwitches, type Logger } from '../base/logger.js';
import { loadBinding, onnxruntimeLibrary } from '../engine/binding.js';
import { createEngine, type Engine, type EngineOptions } from '../engine/engine.js';
import { deathRecord, waitRecord } from '../engine/isolated.js';
import { hasCudaBeside } from '../models/placement/libraries.js';
import { removeLeftovers } from '../models/placement/tensorrt/held-folders.js';
import { placingEngine, type PlacingOptions } from '../models/placement/placing-engine.js';
import { importingEngine } from '../importers/run/importing-engine.js';
import { ModelSource } from '../models/registry/sources/model-source.js';
import { SYSTEM_CLOCK } from '../models/registry/clock.js';
import { LoadLine } from '../models/registry/load-line.js';
import { Registry } from '../models/registry/registry.js';
import { bytesReadByProcess, TerminalLine } from './start/terminal-line.js';
import type { RegistrySnapshot } from '../model/snapshot.js';
import { chooseHttpListener, type HttpListenerKind } from '../listeners/http/kind.js';
import type { ServerTls } from '../listeners/tls/settings.js';
import {
  defaultMemoryLimit,
  modelsMemoryLimit,
  readMemoryFacts,
} from '../config/values/memory-limit.js';
import { Traces } from './observe/tracing/traces.js';
import { servalVersion } from '../base/version.js';
import { RequestLog } from './observe/request-log/request-log.js';
import { LinkRequestLog } from '../engine/request-log.js';
import { warmUpWith } from '../models/warmup/index.js';
import { connectionLimits, openFilesMax } from './workers/connection-limits.js';
import { listenerThreads } from './listener-threads.js';
import { checkCacheFolder } from '../importers/run/cache-folder.js';
import { makeRoom, UNIX_PREFIX } from '../listeners/unix-socket.js';
import type { AdminSettings } from './workers/messages.js';
import { ListenerPool, reservePort } from './workers/pool.js';

export interface RunningServer {
  /** undefined if the listener is disabled. */
  readonly httpPort: number | undefined;
  readonly grpcPort: number | undefined;
  /** The transports that use TLS. */
  readonly tls: HasTls;
  /** undefined if metrics have no dedicated port. */
  readonly metricsPort: number | undefined;
  readonly logger: Logger;
  /** The admin address, if there is one. */
  readonly admin: AdminAddress | undefined;
  /** The current access policy. */
  policy(): Policy;
  /** The registry's current state. */
  snapshot(): RegistrySnapshot;
  /** Settles when the server is ready on every listener, possibly never. */
  whenReady(): Promise<void>;
  /** Rereads configuration files and folders; never rejects. */
  reload(): Promise<void>;
  /**
   * Stops accepting, finishes running requests, closes every connection; takes at most the
   * configured seconds, whatever a model does. Settles with what was cut off, if anything.
   * Afterwards the process can only exit: threads may still run.
   */
  drain(): Promise<CutLog | undefined>;
  /** Detaches from the engine after drain(), in a process that continues. */
  close(): void;
}

/** The transports that use TLS. */
export type HasTls = Readonly<Record<keyof TransportTls, boolean>>;

/**
 * Requests that a drain cut off: by listener, and by model as "name: count"; "unknown" if not all
 * listeners could be asked.
 */
export type CutLog = Readonly<
  Record<'httpRequests' | 'grpcRequests', number | string> & { readonly models: string }
>;

/** The parts of one server. */
interface Parts {
  readonly config: Config;
  readonly logger: Logger;
  readonly levels: LogLevels;
  readonly access: ServerAccess;
  readonly engine: Engine;
  /** undefined: HTTP is off. */
  readonly listener: HttpListenerKind | undefined;
  readonly registry: Registry;
  readonly source: ModelSource;
  readonly traces: Traces;
  readonly requestLog: RequestLog;
  /** Makes a text fit for clients. */
  readonly publicText: PublicText['of'];
}

interface PoolSettings {
  readonly httpPort: number;
  readonly monitoringPath: string;
  readonly tls: TransportTls;
  readonly admin: AdminSettings | undefined;
  /** The number of threads that the listeners may add. */
  readonly growthMax: number;
}

/**
 * HTTP's port, 0 if it is disabled. A port shared with other processes is not tested: sharing
 * processes do not conflict, and one that does not share is detected when the listeners open it.
 * Errors: InvalidArgument.
 */
async function reserveHttp({ listeners, host, httpPort }: Config): Promise<number> {
  if (!listeners.http) return 0;
  return listeners.reuseHttpPort && httpPort !== 0 ? httpPort : reservePort(host, httpPort);
}

/** Returns the admin address with the chosen port if 0 was given. Errors: InvalidArgument. */
async function reserveAdmin({ access }: Config): Promise<AdminAddress | undefined> {
  const { admin } = access;
  if (admin === undefined) return undefined;
  if (admin.host.startsWith(UNIX_PREFIX)) {
    // Before anything listens: an existing file that is not a dead server's socket is kept.
    try {
      await makeRoom(admin.host.slice(UNIX_PREFIX.length));
    } catch (error) {
      const text = `--admin-address: cannot listen on ${admin.host}: ${reasonOf(error)}`;
      throw new ServalError(ErrorCode.InvalidArgument, text);
    }
    return admin;
  }
  return { host: admin.host, port: await reservePort(admin.host, admin.port) };
}

function listenerPool(
  { config, logger, access, engine, listener, traces, publicText }: Parts,
  { httpPort, monitoringPath, tls, admin, growthMax }: PoolSettings,
): ListenerPool {
  const threads = listenerThreads(config, growthMax);
  const limits = connectionLimits(openFilesMax(), threads, config.connectionsMax);
  const own = engineOptions(config);
  const settings = {
    engine: { ...own, tracing: traces.word },
    bodyBytesMax: config.bodyBytesMax,
    inflatedBytesMax: own.inflatedBytesMax,
    memoryLimitBytes: own.memoryLimitBytes,
    host: config.host,
    serverVersion: servalVersion(),
    clientShm: config.access.clientShm,
    cudaShm:
      config.access.clientShm && hasCudaBeside(onnxruntimeLibrary(config.onnxruntimeLibrary)),
    logLevel: config.logLevel,
    logFormat: config.logFormat,
    logFile: config.logFile,
    metricsAllowed: config.metrics.allowed,
    ...(config.accessLog !== undefined && { accessLog: config.accessLogSettings }),
    policy: access.policy,
  };
  const shares = sharesPort(config);
  const { transport } = config.grpc;
  const grpcTls = tls.grpc && { tls: tls.grpc };
  return new ListenerPool({
    http: {
      ...settings,
      listener,
      port: httpPort,
      connectionsMax: listener === 'native' ? limits.native : limits.http,
      nativeThreads: threads.http,
      reusePort: config.listeners.reuseHttpPort,
      idleMs: config.httpIdleMs,
      healthBody: config.healthBody,
      console: config.access.console,
      allowedHosts: config.access.allowedHosts,
      monitoringPath,
      ...(tls.http && { tls: tls.http }),
      ...(config.access.cors && { cors: config.access.cors }),
    },
    workers: threads.workers,
    admin,
    grpc: config.listeners.grpc
      ? {
          ...settings,
          host: config.grpcHost,
          port: config.grpcPort,
          connectionsMax: limits.native,
          sharesPort: shares,
          transport: { ...transport, ...threads.grpc, ...grpcTls },
        }
      : undefined,
    publicText,
    hidesReasons: hidesReasons(access.policy),
    lost: (thread, error) => {
      // Half a server is worse than a restart.
      logger.error('a listener thread died; exiting', { thread, reason: error.message });
      engine.link.native.exitNow(1);
    },
  });
}

/** undefined if HTTP is disabled. Errors: InvalidArgument. */
function httpListener(config: Config, tls: ServerTls | undefined): HttpListenerKind | undefined {
  return config.listeners.http ? chooseHttpListener(config.httpListener, tls) : undefined;
}

function adminSettings(
  config: Config,
  admin: AdminAddress | undefined,
  tls: ServerTls | undefined,
): AdminSettings | undefined {
  if (admin === undefined) return undefined;
  const { socketMode } = config.access;
  return { ...admin, socketMode, ...(tls && { tls }) };
}

function engineOptions(config: Config) {
  return {
    ...engineSettings(config),
    inflatedBytesMax: Math.min(config.bodyBytesMax, INFLATED_BYTES_MAX),
    loadThreads: config.control.loadsAtOnce || LOADS_AT_ONCE,
    memoryLimitBytes: config.memoryLimitBytes || defaultMemoryLimit(readMemoryFacts()),
    restTimeoutUs: config.restTimeoutMs * 1000,
    unloadMsMax: config.drainSeconds * 1000,
    isolate: config.isolate,
    isolatesGpus: true,
    operatorLibraries: config.operatorLibraries,
  } satisfies EngineOptions;
}

function makeRegistry(
  config: Config,
  engine: Engine,
  logger: Logger,
  publicText: PublicText['of'],
): Registry {
  const { control } = config;
  const quiet = new QuietThreads((thread, idle) => loadBinding().threadPriority(thread, idle));
  const warmUp = warmUpWith(
    (handle, protocol, message, signal) => engine.control.warmUp(handle, protocol, message, signal),
    config.warmupIterations,
    logger,
  );
  return new Registry({
    engine: importingEngine(placingEngine(engine.control, placingOptions(config)), {
      importModel: (request) => importInThread(request, { programVersion: servalVersion(), quiet }),
      cacheFolder: config.modelCache ?? '',
      logger,
    }),
    logger,
    strictReadiness: config.strictReadiness,
    loadsAtOnce: control.loadsAtOnce,
    transition: control.transition,
    loadRetries: control.loadRetries,
    loadRetryMs: control.loadRetryMs,
    publicText,
    places: engine.control,
    countDemand: (value, change) => engine.link.serverValue(`demand_${value}`, change, true),
    memoryBytes: modelsMemory(config),
    loadLine: loadLineOf(config),
    ...(config.modelWarmup ? { prepare: warmUp } : {}),
  });
}

/** --models-memory-limit; by default what the limit of requests leaves. */
function modelsMemory({ control, memoryLimitBytes }: Config): number {
  if (control.modelsMemoryBytes > 0) return control.modelsMemoryBytes;
  const facts = readMemoryFacts();
  return modelsMemoryLimit(facts, memoryLimitBytes || defaultMemoryLimit(facts));
}

/** The progress line, if the log goes to a terminal. */
function loadLineOf({ logFormat, logFile, logLevel }: Config): LoadLine | undefined {
  const isShown = logFormat === 'text' && logFile === undefined && levelSwitches(logLevel).info;
  if (!isShown || !process.stderr.isTTY || process.env['TERM'] === 'dumb') return undefined;
  const line = new TerminalLine(process.stderr, [process.stdout]);
  return new LoadLine(line, SYSTEM_CLOCK, bytesReadByProcess);
}

/** Options for placing models on GPUs. */
function placingOptions(config: Config): PlacingOptions {
  const { modelCache = '', cudaGraphs } = config;
  const runtime = onnxruntimeLibrary(config.onnxruntimeLibrary);
  return { runtime, cacheFolder: modelCache, cudaGraphs, binding: loadBinding() };
}

/**
 * Path of TensorFlow Serving's metrics, "" = disabled. A bad file is an error: otherwise nobody
 * would notice it.
 */
async function monitoringPathOf(file: string | undefined): Promise<string> {
  if (file === undefined) return '';
  const { readMonitoringPath } = await import('../models/config/monitoring-config.js');
  return readMonitoringPath(file);
}

/** Applies TensorFlow Serving's platform file, if given. Errors: ConfigFileError. */
async function withPlatform(config: Config, logger: Logger): Promise<Config> {
  if (config.platformConfigFile === undefined) return config;
  const { readPlatformConfig } = await import('../models/config/platform-config.js');
  const { batching, warnings, threads, ...said } = await readPlatformConfig(
    config.platformConfigFile,
  );
  for (const { place, message } of warnings) {
    logger.warn('a field has no effect', { field: `${place}: ${message}` });
  }
  return {
    ...config,
    ...said,
    model: { ...config.model, ...threads },
    batching: { ...config.batching, ...(batching && { enabled: true, parameters: batching }) },
  };
}

/** Creates the model source and connects the parts that it notifies. */
function modelSource({
  config,
  logger,
  engine,
  registry,
  requestLog,
}: Pick<Parts, 'config' | 'logger' | 'engine' | 'registry' | 'requestLog'>): ModelSource {
  // Per-model threads stay 0: models use the shared pool, whose size the setting gives.
  const model = { ...config.model, intraOpThreads: 0 };
  return new ModelSource({ ...config, model }, logger, registry, {
    entriesChanged: (entries) => requestLog.configure(entries),
    looked: ({ unserved, warning, note }, looks) => {
      const { link } = engine;
      link.serverValue('problems_unserved', unserved, false);
      link.serverValue('problems_warning', warning, false);
      link.serverValue('problems_note', note, false);
      link.serverValue('looks', looks, false);
    },
  });
}

function logEngineEvents({ link, isolation }: Parts['engine'], logger: Logger): void {
  link.report = (error) => {
    logger.error('a response of the engine was not handled', { reason: String(error) });
  };
  isolation.follow(
    (death) => logger.error(...deathRecord(death)),
    (wait) => logger.warn(...waitRecord(wait)),
  );
}

/** Creates the control object that carries out control calls of all listeners. */
function modelControl(parts: Parts, pool: ListenerPool): ModelControl {
  const { config, engine, source, registry, levels, traces } = parts;
  return createModelControl({
    ...{ source, registry, levels, traces },
    logFile: config.logFile ?? '',
    requestLogFolder: config.requestLog.folder,
    mode: config.control.mode,
    sharedMemory: sharedMemoryControl(config.access.clientShm ? engine.regions : undefined),
    levelsChanged: (switches) => pool.setLogSwitches(switches),
  });
}

/**
 * Starts the server; settles when it listens and every model is loaded or has failed. Rejects with
 * ServalError if a port is in use or a path does not exist, and, if the configuration says so, if
 * anything is wrong with a model.
 */
export async function startServer(given: Config, growthMax = Infinity): Promise<RunningServer> {
  const levels = new LogLevels(given.logLevel);
  const { logLevel: level, logFormat: format, logFile: file } = given;
  const logger = createLogger({ level, format, file, control: levels });
  const config = await withPlatform(given, logger);
  for (const flag of config.ignoredFlags) logger.warn('a flag has no effect', { flag });
  void removeLeftovers(config.modelCache ?? '', loadBinding()).then((folders) => {
    for (const folder of folders) logger.info('removed leftovers of a killed server', { folder });
  });
  checkCacheFolder(config.modelCache ?? '');
  const access = new ServerAccess(config.access, logger);
  const [httpPort, admin, monitoringPath, tls] = await Promise.all([
    reserveHttp(config),
    reserveAdmin(config),
    monitoringPathOf(config.metrics.monitoringConfigFile),
    transportTls(config),
  ]);
  checkSharedTls(config, tls);
  const listener = httpListener(config, tls.http);
  const adminAt = adminSettings(config, admin, tls.admin);
  const engine = await createEngine(engineOptions(config));
  access.publishTo((callers) => engine.control.publishCallers(callers));
  logEngineEvents(engine, logger);
  const publicText = new PublicText(() => source.roots()).of;
  const reasons = publicReason(publicText, hidesReasons(access.policy));
  const registry = makeRegistry(config, engine, logger, reasons);
  const requestLog = new RequestLog({
    engine: new LinkRequestLog(engine.link),
    settings: config.requestLog,
    logger,
  });
  const { link } = engine;
  const traces = new Traces({ config: config.tracing, link, logger, version: servalVersion() });
  const source = modelSource({ config, logger, engine, registry, requestLog });
  const parts: Parts = {
    ...{ config, logger, levels, access, engine },
    ...{ listener, registry, source, traces, requestLog, publicText },
  };
  try {
    await traces.start();
    await source.firstLook();
  } catch (error) {
    engine.close();
    throw error;
  }
  // The addon finds a free port itself, so that no other process can take it in between.
  const port = listener === 'native' && config.httpPort === 0 ? 0 : httpPort;
  const pool = listenerPool(parts, {
    httpPort: port,
    monitoringPath,
    tls,
    admin: adminAt,
    growthMax,
  });
  access.follow((policy) => pool.setPolicy(policy));
  const control = modelControl(parts, pool);
  let observers: Observers | undefined;
  try {
    const started = source.start();
    const grpcPort = await pool.listening();
    registry.subscribe((snapshot) => pool.publish(snapshot));
    // Only now: the effects of control calls must be visible on every listener.
    pool.attachControl(control);
    observers = await startObservers(config, { engine, registry, access }, logger);
    await started;
    refuseBadStart(config, source, registry.snapshot);
    await pool.caughtUp();
    const at = listeningAt(config, tls, { httpPort: pool.httpPort ?? port, grpcPort, admin });
    return running(parts, at, pool, observers);
  } catch (error) {
    await Promise.all([pool.stop(), source.stop(), observers?.close()]);
    await Promise.all([requestLog.close(), traces.close()]);
    engine.close();
    throw error;
  }
}

/**
 * Errors: InvalidArgument with everything that was wrong, if --exit-on-error is set or if nothing
 * can be served, now or later.
 */
function refuseBadStart(config: Config, source: ModelSource, snapshot: RegistrySnapshot): void {
  const problems = [...new Set([...snapshot.faults, ...source.startProblems])];
  const { exitOnError, loadRetries } = config.control;
  const models = Object.values(snapshot.models);
  const mayServe =
    source.isWatched ||
    (loadRetries > 0 && models.length > 0) ||
    models.some((model) => model.defaultVersion !== undefined);
  if (problems.length === 0 || (mayServe && !exitOnError)) return;
  const why = exitOnError ? '--exit-on-error' : 'no model can be served and no folder is watched';
  throw new ServalError(ErrorCode.InvalidArgument, `not started (${why}): ${problems.join('; ')}`);
}

type ListeningAt = Pick<RunningServer, 'httpPort' | 'grpcPort' | 'admin' | 'tls'>;

function listeningAt(
  { listeners }: Config,
  tls: TransportTls,
  { httpPort, ...at }: Omit<ListeningAt, 'tls'>,
): ListeningAt {
  const { http, grpc, admin } = tls;
  return {
    ...at,
    httpPort: listeners.http ? httpPort : undefined,
    tls: { http: http !== undefined, grpc: grpc !== undefined, admin: admin !== undefined },
  };
}

function running(
  { config, logger, access, engine, registry, source, traces, requestLog }: Parts,
  { admin, ...ports }: ListeningAt,
  pool: ListenerPool,
  observers: Observers,
): RunningServer {
  const drain = async (): Promise<CutLog | undefined> => {
    access.close();
    const seconds = config.drainSeconds;
    const drained = async (): Promise<CutLog | undefined> => {
      await registry.drain();
      const [{ http, grpc, models }] = await Promise.all([pool.drain(seconds), source.stop()]);
      await Promise.all([observers.close(), requestLog.close(), traces.close()]);
      if (http + grpc === 0) return undefined;
      const counts = Object.entries(models).map(([name, count]) => `${name}: ${count}`);
      return { httpRequests: http, grpcRequests: grpc, models: counts.join(', ') };
    };
    // A listener whose thread runs a model does not receive the stop message.
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<CutLog>((resolve) => {
      timer = setTimeout(resolve, seconds * 1000 + DRAIN_GRACE_MS, {
        httpRequests: 'unknown',
        grpcRequests: 'unknown',
        models: 'unknown',
      });
    });
    return Promise.race([drained(), late]).finally(() => clearTimeout(timer));
  };
  const reload = async (): Promise<void> => {
    pool.reloadCertificates();
    access.reload();
    try {
      await source.reload();
    } catch (error) {
      logger.error('a reload failed', { reason: String(error) });
    }
  };
  const whenReady = (): Promise<void> =>
    new Promise((resolve) => {
      registry.subscribe((snapshot) => {
        if (snapshot.ready) void pool.caughtUp().then(resolve);
      });
    });
  const { metricsPort } = observers;
  const snapshot = (): RegistrySnapshot => registry.snapshot;
  const policy = (): Policy => access.policy;
  const close = (): void => engine.close();
  return {
    ...ports,
    metricsPort,
    admin,
    logger,
    policy,
    snapshot,
    whenReady,
    reload,
    drain,
    close,
  };
}
