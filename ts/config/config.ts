// The configuration of `serval serve`: command line over configuration file over defaults. Control
// plane, start-up only. ts/config/flags.ts lists the settings.
import { resolve } from 'node:path';
import type { AccessLogSettings } from './observation/access-log-settings.js';
import { accessSettings, type AccessConfig } from './access.js';
import { requestLogSettings } from './observation/request-log.js';
import type { RequestLogSettings } from './observation/request-log-settings.js';
import { hasOtherFlags, parseFlags } from './command-line.js';
import { SERVE_FLAGS, findFlag } from './flags.js';
import type { FlagRow } from './values/flag-row.js';
import {
  boolValue,
  choiceValue,
  configError,
  graphOptimizationValue,
  intValue,
  lastText,
  providersValue,
  sizeValue,
  textValue,
} from './values/values.js';
import { echo } from '../base/text.js';
import { transportSettings, type GrpcConfig } from './grpc.js';
import { listenersSettings, type ListenersConfig } from './listeners.js';
import type { TlsConfig } from './tls.js';
import { traceSettings, type TraceConfig } from './observation/tracing.js';
import type { Written } from './values/values.js';
import {
  batchingSettings,
  checkTogether,
  controlSettings,
  importSettings,
  metricsSettings,
  platformConfigFile,
  servingApiSettings,
} from './serving.js';
import type { SettingsReader } from './values/settings-reader.js';
import type {
  BatchingSettings,
  ControlSettings,
  MetricsSettings,
  ServingApiSettings,
} from './serving.js';
import { localPath, modelPath, type ModelPath } from './values/model-path.js';
import { LOG_FORMATS, LOG_LEVELS } from '../base/logger.js';
import type { LogFormat, LogLevel } from '../base/logger.js';
import { HTTP_LISTENERS } from '../listeners/http/kind.js';
import type { HttpListenerChoice } from '../listeners/http/kind.js';
import type { ExecModeName, ProviderOptions } from '../model/engine-api.js';

export type {
  BatchingSettings,
  ControlSettings,
  MetricsSettings,
  ModelControlMode,
  ServingApiSettings,
} from './serving.js';

const TRITON_LOG_FORMATS = new Set(['default', 'iso8601']);

/** Settings that every model gets. */
export interface ModelSettings {
  readonly execMode: ExecModeName;
  readonly inlineUsMax: number;
  readonly queueRequestsMax: number;
  readonly instances: number;
  readonly intraOpThreads: number;
  readonly interOpThreads: number;
  /** ONNX Runtime's level: 0, 1, 2 or 99. */
  readonly graphOptimization: number;
  readonly providers: readonly ProviderOptions[];
}

/** Where models come from. Paths are absolute. */
export interface ModelSources {
  readonly paths: readonly ModelPath[];
  readonly modelRepositories: readonly string[];
  readonly baseModel: { readonly name: string; readonly path: string } | undefined;
  readonly modelConfigFile: string | undefined;
  /** Of configurations in configs/, that count in place of config.pbtxt; absent = none. */
  readonly modelConfigName?: string;
}

export interface Config {
  readonly sources: ModelSources;
  readonly model: ModelSettings;
  readonly listeners: ListenersConfig;
  /** Of HTTP; of gRPC and of the metrics' own port too, where they have none. */
  readonly host: string;
  readonly grpcHost: string;
  readonly httpPort: number;
  readonly grpcPort: number;
  readonly httpThreads: number;
  readonly httpListener: HttpListenerChoice;
  /** A connection without a request is closed after so long. */
  readonly httpIdleMs: number;
  /** Of each port; 0 = what the limit of open files allows. */
  readonly connectionsMax: number;
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
  /** undefined: stderr. */
  readonly logFile: string | undefined;
  readonly drainSeconds: number;
  readonly healthBody: 'json' | 'empty';
  readonly strictReadiness: boolean;
  readonly bodyBytesMax: number;
  readonly tls: TlsConfig;
  readonly grpc: GrpcConfig;
  readonly access: AccessConfig;
  /** What requests may hold in all; 0: found out at start (memory-limit.ts). */
  readonly memoryLimitBytes: number;
  /** Of the host, pinned for GPUs; 0: none. */
  readonly pinnedPoolBytes: number;
  readonly jsonDepthMax: number;
  readonly onnxruntimeLibrary: string | undefined;
  readonly control: ControlSettings;
  readonly batching: BatchingSettings;
  /** TensorFlow Serving's; what it says counts in place of the flags that say the same. */
  readonly platformConfigFile: string | undefined;
  readonly restTimeoutMs: number;
  readonly servingApi: ServingApiSettings;
  readonly modelWarmup: boolean;
  /** Tags of the meta graph that is served of a SavedModel. */
  readonly savedModelTags: readonly string[];
  /** Models in processes of their own; `all` among them: every one that can be. */
  readonly isolate: readonly string[];
  /** Models on GPUs have CUDA graphs where they can. */
  readonly cudaGraphs: boolean;
  /** TensorFlow models whose answers depend on random numbers are served. */
  readonly allowRandom: boolean;
  /** Where compiled models are kept; undefined = nowhere. */
  readonly modelCache: string | undefined;
  /** 0 = the requests' own counts. */
  readonly warmupIterations: number;
  readonly metrics: MetricsSettings;
  /** undefined = off; "-" = stderr. */
  readonly accessLog: string | undefined;
  readonly accessLogSettings: AccessLogSettings;
  readonly tracing: TraceConfig;
  readonly requestLog: RequestLogSettings;
  /** Flags of other servers that were given and mean nothing here: "--flag: why". */
  readonly ignoredFlags: readonly string[];
}

/** The configuration.
 * Errors: InvalidArgument naming the flag, or file, line and column. */
export async function parseServeConfig(args: readonly string[], cwd: string): Promise<Config> {
  const others = hasOtherFlags(args, SERVE_FLAGS);
  const peers = others ? await import('./peers/peers.js') : undefined;
  const flags = parseFlags(args, cwd, SERVE_FLAGS, peers);
  const given = new Map(flags.settings);
  if (flags.positional.length > 0) {
    given.set('paths', { where: 'PATH', texts: flags.positional, folder: cwd });
  }
  const config = await configOf(given, cwd);
  return { ...config, ignoredFlags: [...flags.ignored, ...config.ignoredFlags] };
}

/** What was given over the configuration file that it names, if it names one, over defaults.
 * Errors: InvalidArgument. */
export async function configOf(given: ReadonlyMap<string, Written>, cwd: string): Promise<Config> {
  const settings = new Map<string, Written>();
  const file = given.get('config');
  if (file !== undefined) {
    const { readConfigFile } = await import('./file.js');
    const path = resolve(cwd, textValue(file));
    for (const [name, written] of await readConfigFile(path)) settings.set(name, written);
  }
  for (const [name, written] of given) settings.set(name, written);
  return buildConfig(settings);
}

/** Checks every value. Errors: InvalidArgument. */
export function buildConfig(settings: ReadonlyMap<string, Written>): Config {
  const row = (name: string): FlagRow => {
    const found = findFlag(name);
    if (found === undefined) throw new TypeError(`no flag ${name}`);
    return found;
  };
  const written = (name: string): Written =>
    settings.get(name) ?? { where: `--${name}`, texts: [row(name).default], folder: '' };
  const intOf = (name: string, from: Written): number => intValue(row(name), from);
  const int = (name: string): number => intOf(name, written(name));
  const given: SettingsReader['given'] = (name) => settings.get(name);
  const bool = (name: string): boolean => boolValue(written(name));
  const read: SettingsReader = {
    int,
    bool,
    intOf,
    boolOf: boolValue,
    written,
    given,
    filePath: (name) => {
      const from = given(name);
      return from === undefined ? undefined : resolve(from.folder, textValue(from));
    },
  };
  const transport = transportSettings(read);
  const host = textValue(written('host'));
  const hostOf = (name: string): string => {
    const from = given(name);
    return from === undefined ? host : textValue(from);
  };
  const config: Config = {
    sources: modelSources(given),
    model: {
      execMode: choiceValue(['auto', 'inline', 'queued'] as const, written('exec-mode')),
      inlineUsMax: int('inline-us-max'),
      queueRequestsMax: int('queue-requests-max'),
      instances: int('instances'),
      intraOpThreads: int('intra-op-threads'),
      interOpThreads: int('inter-op-threads'),
      graphOptimization: graphOptimizationValue(written('graph-optimization')),
      providers: providersValue(written('providers')),
    },
    ...{ isolate: namesOf(given('isolate')), cudaGraphs: bool('cuda-graphs') },
    listeners: listenersSettings(read),
    ...{ host, grpcHost: hostOf('grpc-address') },
    httpPort: int('http-port'),
    grpcPort: int('grpc-port'),
    httpThreads: int('http-threads'),
    httpListener: choiceValue(HTTP_LISTENERS, written('http-listener')),
    httpIdleMs: int('http-idle-seconds') * 1000,
    connectionsMax: int('max-connections'),
    logLevel: choiceValue(LOG_LEVELS, written('log-level')),
    logFormat: logFormatOf(written('log-format')),
    logFile: read.filePath('log-file'),
    drainSeconds: int('drain-seconds'),
    healthBody: choiceValue(['json', 'empty'] as const, written('health-body')),
    strictReadiness: bool('strict-readiness'),
    bodyBytesMax: int('body-bytes-max'),
    ...transport,
    access: accessSettings(read),
    ...memorySettings(read),
    jsonDepthMax: int('json-depth-max'),
    onnxruntimeLibrary: read.filePath('onnxruntime-library'),
    control: controlSettings(read),
    batching: batchingSettings(read),
    platformConfigFile: platformConfigFile(read),
    restTimeoutMs: int('rest-api-timeout-in-ms'),
    servingApi: servingApiSettings(read),
    modelWarmup: bool('enable-model-warmup'),
    ...importSettings(read),
    warmupIterations: int('num-request-iterations-for-warmup'),
    metrics: metricsSettings(read, hostOf('metrics-address')),
    accessLog: accessLogPath(given('access-log')),
    accessLogSettings: accessLogSettings(int, bool),
    ...{ tracing: traceSettings(read), requestLog: requestLogSettings(read) },
    ignoredFlags: transport.grpc.ignored,
  };
  checkTogether(config, written);
  return config;
}

const namesOf = (from: Written | undefined): readonly string[] =>
  (from?.texts ?? []).flatMap((text) => text.split(','));

function memorySettings({
  int,
  written,
}: SettingsReader): Pick<Config, 'memoryLimitBytes' | 'pinnedPoolBytes'> {
  return {
    memoryLimitBytes: sizeValue(written('memory-limit')),
    pinnedPoolBytes: int('pinned-memory-pool-byte-size'),
  };
}

/** Triton's words too: our text has the time of day in ISO 8601. */
function logFormatOf(from: Written): LogFormat {
  const word = lastText(from).toLowerCase();
  return TRITON_LOG_FORMATS.has(word) ? 'text' : choiceValue(LOG_FORMATS, from);
}

/** A path of its own, or "-". */
function accessLogSettings(
  int: (name: string) => number,
  bool: (name: string) => boolean,
): AccessLogSettings {
  return {
    oneIn: int('access-log-one-in'),
    errorsOnly: bool('access-log-errors-only'),
    reasons: bool('access-log-reasons'),
  };
}

function accessLogPath(from: Written | undefined): string | undefined {
  if (from === undefined) return undefined;
  const text = textValue(from);
  return text === '-' ? text : resolve(from.folder, text);
}

/** Source: Triton's server/docs/user_guide/model_configuration.md, Custom Model Configuration. */
function modelConfigName(from: Written | undefined): Pick<ModelSources, 'modelConfigName'> {
  if (from === undefined) return {};
  const name = textValue(from);
  if (!/[\s/\\]/.test(name)) return { modelConfigName: name };
  const expected = 'expected the name of a file in configs/ without .pbtxt, blanks and slashes';
  throw configError(from.where, `${expected}, got ${echo(name)}`);
}

function modelSources(given: (name: string) => Written | undefined): ModelSources {
  const list = (name: string): readonly string[] => {
    const from = given(name);
    if (from === undefined) return [];
    return from.texts.map((text) =>
      localPath(from.folder, textValue({ ...from, texts: [text] }), from.where),
    );
  };
  const places = given('paths');
  const paths = (places?.texts ?? []).map((text) =>
    modelPath(
      places?.folder ?? '',
      textValue({ where: '', folder: '', ...places, texts: [text] }),
      places?.where ?? '',
    ),
  );
  const modelRepositories = list('model-repository');
  const base = given('model-base-path');
  const name = given('model-name');
  if (base === undefined && name !== undefined) {
    const got = echo(lastText(name));
    throw configError(name.where, `expected --model-base-path with it, got ${got}`);
  }
  const file = given('model-config-file');
  if (base !== undefined && file !== undefined) {
    throw configError(file.where, 'expected either this or --model-base-path, got both');
  }
  if (base === undefined && file === undefined && paths.length + modelRepositories.length === 0) {
    throw configError(
      'command line',
      'nothing to serve: expected a PATH, --model-repository DIR, --model-base-path DIR or ' +
        '--model-config-file FILE',
    );
  }
  const baseModel = base && {
    name: name === undefined ? 'default' : textValue(name),
    path: localPath(base.folder, textValue(base), base.where),
  };
  const modelConfigFile = file && localPath(file.folder, textValue(file), file.where);
  const configName = modelConfigName(given('model-config-name'));
  return { paths, modelRepositories, baseModel, modelConfigFile, ...configName };
}
