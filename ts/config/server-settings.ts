// The settings of model control, batching and metrics: the part of the configuration that operators
// of TensorFlow Serving and Triton already have. Control plane, start-up only.
import { echo } from '../base/text.js';
import { configError } from './values/values.js';
import type { BatchingParameters } from '../model/batching-parameters.js';
import type { Settings } from './flags.js';
import type { HttpListenerChoice } from '../listeners/http/kind.js';
import type { ListenersConfig } from './listeners.js';
import type { SettingsReader } from './values/settings-reader.js';
import type { Written } from './values/values.js';

/**
 * Settings of loading and unloading. Seconds: 0 = once; `fileSystemPollSeconds` -1: base paths are
 * scanned only once.
 */
export type ModelControlSettings = Settings['control'];
export type ModelControlMode = ModelControlSettings['mode'];

/**
 * `enabled`: for models of base paths and models.config. `defaultMaxBatchSize`: for repository
 * models without config.pbtxt; 0 = no batching.
 */
export type BatchingSettings = Settings['batching'] & {
  /** Replaces the file's parameters; absent: no other file has any. */
  readonly parameters?: BatchingParameters;
};

/** `port`: -1 = metrics only on the HTTP port. */
export type MetricsSettings = Settings['metrics'] & {
  /** The address of `port`. */
  readonly host: string;
};

/**
 * TensorFlow Serving's API. `tensorContent`: gRPC responses carry tensors as raw bytes.
 * `checkMethod`: classify and regress check a signature's method name.
 */
export type ServingApiSettings = Settings['servingApi'];

/** Selects the requests that are logged; native/stats/access_log.h has the same settings. */
export type AccessLogSettings = Settings['accessLogSettings'];

/**
 * Flags that repeat a setting of the file; TensorFlow Serving ignores them when it has the file.
 */
const OF_PLATFORM = [
  'enable-batching',
  'batching-parameters-file',
  'intra-op-threads',
  'inter-op-threads',
  'saved-model-tags',
  'enable-model-warmup',
  'num-request-iterations-for-warmup',
];

/** Errors: InvalidArgument naming a flag that repeats a setting of the file. */
export function checkPlatformFile({ given, filePath }: SettingsReader): void {
  const file = filePath('platform-config-file');
  const other = file === undefined ? undefined : OF_PLATFORM.find((name) => given(name));
  if (other === undefined) return;
  const where = given(other)?.where ?? '';
  throw configError(where, 'expected either this or --platform-config-file, got both');
}

/** Returns whether HTTP and gRPC share one port. */
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
  readonly control: ModelControlSettings;
  readonly httpListener: HttpListenerChoice;
  readonly grpc: { readonly transport: { readonly unixPath: string } };
}

/** Errors: InvalidArgument: settings that a shared port for HTTP and gRPC does not support. */
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
      `expected an unused port, got ${metrics.port}, which is HTTP's or gRPC's`,
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
  if (control.namespacing && control.mode === 'explicit') {
    throw configError(
      written('model-namespacing').where,
      'expected --model-control-mode none or poll with it, got explicit: load calls name no ' +
        'namespace',
    );
  }
  if (control.loadModels.length > 0 && control.mode !== 'explicit') {
    throw configError(
      written('load-model').where,
      `expected --model-control-mode=explicit with it, got ${control.mode}`,
    );
  }
}
