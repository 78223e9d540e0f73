// The settings of how models come and go, of batching and of metrics: the part of the configuration
// that operators of TensorFlow Serving and Triton bring along. Control plane, start-up only.
import { echo } from '../base/text.js';
import { choiceValue, configError, wordsValue } from './values/values.js';
import type { BatchingParameters } from '../model/batching-parameters.js';
import type { Config } from './config.js';
import type { HttpListenerChoice } from '../listeners/http/kind.js';
import type { ListenersConfig } from './listeners.js';
import type { SettingsReader } from './values/settings-reader.js';
import type { Written } from './values/values.js';

export type ModelControlMode = 'none' | 'poll' | 'explicit';

/** How models come and go. Seconds: 0 = once. */
export interface ControlSettings {
  readonly mode: ModelControlMode;
  readonly loadModels: readonly string[];
  readonly repositoryPollSeconds: number;
  readonly modelConfigFilePollSeconds: number;
  /** -1 = base paths are never looked at again. */
  readonly fileSystemPollSeconds: number;
  readonly settleMs: number;
  readonly reloadChangedVersions: boolean;
  readonly transition: 'availability' | 'resource';
  readonly labelsForUnavailable: boolean;
  readonly loadRetries: number;
  readonly loadRetryMs: number;
  readonly loadsAtOnce: number;
  readonly exitOnError: boolean;
}

export interface BatchingSettings {
  /** For models from base paths and models.config. */
  readonly enabled: boolean;
  readonly parametersFile: string | undefined;
  /** In place of the file; absent: none were found elsewhere. */
  readonly parameters?: BatchingParameters;
  readonly perModel: boolean;
  /** Repository models without config.pbtxt; 0 = they are not batched. */
  readonly defaultMaxBatchSize: number;
  readonly autoComplete: boolean;
}

export interface MetricsSettings {
  readonly allowed: boolean;
  /** Where `port` listens. */
  readonly host: string;
  /** -1 = on the HTTP port only. */
  readonly port: number;
  readonly monitoringConfigFile: string | undefined;
}

/** TensorFlow Serving's API. */
export interface ServingApiSettings {
  /** gRPC answers carry tensors as raw bytes. */
  readonly tensorContent: boolean;
  /** classify and regress look at a signature's method name. */
  readonly checkMethod: boolean;
}

export function controlSettings({ int, bool, written, given }: SettingsReader): ControlSettings {
  return {
    mode: choiceValue(['none', 'poll', 'explicit'] as const, written('model-control-mode')),
    loadModels: (given('load-model')?.texts ?? []).filter((name) => name !== ''),
    repositoryPollSeconds: int('repository-poll-secs'),
    modelConfigFilePollSeconds: int('model-config-file-poll-wait-seconds'),
    fileSystemPollSeconds: int('file-system-poll-wait-seconds'),
    settleMs: int('settle-ms'),
    reloadChangedVersions: bool('reload-changed-versions'),
    transition: choiceValue(['availability', 'resource'] as const, written('version-transition')),
    labelsForUnavailable: bool('allow-version-labels-for-unavailable-models'),
    loadRetries: int('max-num-load-retries'),
    loadRetryMs: int('load-retry-interval-micros') / 1000,
    loadsAtOnce: int('num-load-threads'),
    exitOnError: bool('exit-on-error'),
  };
}

export function batchingSettings({ int, bool, filePath }: SettingsReader): BatchingSettings {
  return {
    enabled: bool('enable-batching'),
    parametersFile: filePath('batching-parameters-file'),
    perModel: bool('enable-per-model-batching-parameters'),
    defaultMaxBatchSize: int('default-max-batch-size'),
    autoComplete: !bool('disable-auto-complete-config'),
  };
}

/** Flags that say what the file says; TensorFlow Serving passes over them where it has the file. */
const OF_PLATFORM = [
  'enable-batching',
  'batching-parameters-file',
  'intra-op-threads',
  'inter-op-threads',
  'saved-model-tags',
  'enable-model-warmup',
  'num-request-iterations-for-warmup',
];

/** Errors: InvalidArgument naming a flag that the file stands for. */
export function platformConfigFile({ given, filePath }: SettingsReader): string | undefined {
  const file = filePath('platform-config-file');
  const other = file === undefined ? undefined : OF_PLATFORM.find((name) => given(name));
  if (other === undefined) return file;
  const where = given(other)?.where ?? '';
  throw configError(where, 'expected either this or --platform-config-file, got both');
}

/** Of models that are imported. */
export function importSettings({
  bool,
  written,
  filePath,
}: SettingsReader): Pick<Config, 'savedModelTags' | 'allowRandom' | 'modelCache'> {
  return {
    savedModelTags: wordsValue(written('saved-model-tags')),
    allowRandom: bool('allow-random'),
    modelCache: filePath('model-cache'),
  };
}

export function servingApiSettings({ bool }: SettingsReader): ServingApiSettings {
  return {
    tensorContent: bool('enable-serialization-as-tensor-content'),
    checkMethod: bool('enable-signature-method-name-check'),
  };
}

export function metricsSettings(
  { int, bool, filePath }: SettingsReader,
  host: string,
): MetricsSettings {
  return {
    allowed: bool('allow-metrics'),
    host,
    port: int('metrics-port'),
    monitoringConfigFile: filePath('monitoring-config-file'),
  };
}

/** Whether HTTP and gRPC are served on one port. */
export function sharesPort({
  listeners,
  httpPort,
  grpcPort,
  host,
  grpcHost,
}: Pick<Together, 'listeners' | 'httpPort' | 'grpcPort' | 'host' | 'grpcHost'>): boolean {
  const both = listeners.http && listeners.grpc && httpPort !== 0;
  return both && httpPort === grpcPort && host === grpcHost;
}

interface Together {
  readonly listeners: ListenersConfig;
  readonly host: string;
  readonly grpcHost: string;
  readonly httpPort: number;
  readonly grpcPort: number;
  readonly metrics: MetricsSettings;
  readonly batching: BatchingSettings;
  readonly control: ControlSettings;
  readonly httpListener: HttpListenerChoice;
  readonly grpc: { readonly transport: { readonly unixPath: string } };
}

/** Errors: InvalidArgument: settings that one port for HTTP and gRPC cannot have. */
function checkSharedPort(config: Together, written: (name: string) => Written): void {
  const { listeners, httpListener, grpc } = config;
  if (httpListener === 'uws') {
    const text = 'expected native where HTTP and gRPC share a port, got uws';
    throw configError(written('http-listener').where, text);
  }
  if (grpc.transport.unixPath !== '') {
    const text = 'expected none where HTTP and gRPC share a port';
    throw configError(written('grpc-socket-path').where, text);
  }
  if (listeners.reuseHttpPort !== listeners.reuseGrpcPort) {
    const text = `expected the value of --reuse-http-port where HTTP and gRPC share a port`;
    throw configError(written('reuse-grpc-port').where, text);
  }
}

/** Refuses settings that contradict each other. Errors: InvalidArgument naming the flag. */
export function checkTogether(config: Together, written: (name: string) => Written): void {
  const { listeners, metrics, batching, control } = config;
  const httpPort = listeners.http ? config.httpPort : 0;
  const grpcPort = listeners.grpc ? config.grpcPort : 0;
  if (sharesPort(config)) checkSharedPort(config, written);
  const isTaken =
    (metrics.port === httpPort && metrics.host === config.host) ||
    (metrics.port === grpcPort && metrics.host === config.grpcHost);
  if (metrics.port > 0 && isTaken) {
    throw configError(
      written('metrics-port').where,
      `expected a port of its own, got ${metrics.port}, which is HTTP's or gRPC's`,
    );
  }
  if (batching.parametersFile !== undefined && !batching.enabled) {
    throw configError(
      written('batching-parameters-file').where,
      'expected --enable-batching with it',
    );
  }
  const place = control.loadModels.find((name) => name.includes('/'));
  if (place !== undefined) {
    throw configError(
      written('load-model').where,
      `expected the name of a model in a --model-repository, got a path, ${echo(place)}: give ` +
        'the folder that holds the model to --model-repository, or serve the model by PATH alone',
    );
  }
  if (control.loadModels.length > 0 && control.mode !== 'explicit') {
    throw configError(
      written('load-model').where,
      `expected --model-control-mode=explicit with it, got ${control.mode}`,
    );
  }
}
