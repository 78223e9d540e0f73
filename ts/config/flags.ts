// The table of settings: one row per flag of `serval serve`, also the keys of the configuration
// file and the text of --help. Control plane, start-up only. Data only; ts/config/config.ts
// reads it.
import {
  BODY_BYTES_MAX_DEFAULT,
  PINNED_POOL_BYTES_DEFAULT,
  CONNECTIONS_MAX,
  HTTP_IDLE_MS,
  HTTP_IDLE_SECONDS_MAX,
  HTTP_THREADS_MAX,
  JSON_DEPTH_MAX_DEFAULT,
  MODEL_THREADS_MAX,
} from '../base/limits.js';
import { LOG_FORMATS, LOG_LEVELS } from '../base/logger.js';
import { HTTP_LISTENERS } from '../listeners/http/kind.js';
import { nearestWord } from '../base/text.js';
import { flag, type FlagRow, type FlagType } from './values/flag-row.js';
import { ACCESS_FLAGS } from './access-flags.js';
import { GRPC_FLAGS } from './grpc-flags.js';
import { LISTENER_FLAGS } from './listeners.js';
import { REQUEST_LOG_FLAGS } from './observation/request-log.js';
import { TLS_FLAGS } from './tls.js';
import { TRACE_FLAGS } from './observation/trace-flags.js';

const PORT: FlagType = { kind: 'int', min: 0, max: 65_535 };
const BYTES: FlagType = { kind: 'int', min: 1, max: BODY_BYTES_MAX_DEFAULT };
const SECONDS: FlagType = { kind: 'int', min: 0, max: 86_400 };
const THREADS: FlagType = { kind: 'int', min: 0, max: MODEL_THREADS_MAX };
const text: FlagType = { kind: 'text' };
const path: FlagType = { kind: 'path' };
const choice = (choices: readonly string[]): FlagType => ({ kind: 'choice', choices });

export const SERVE_FLAGS: readonly FlagRow[] = [
  flag(
    'paths',
    'PATH',
    { kind: 'path-list' },
    '',
    'a model file, a folder of such files, a model folder or a repository; NAME=PATH names a model',
    { positional: true },
  ),
  flag(
    'model-repository',
    'DIR',
    { kind: 'path-list' },
    '',
    'serve DIR/<name>/<version>/model.onnx; may be repeated',
    { aliases: ['model-store'] },
  ),
  flag(
    'model-name',
    'NAME',
    text,
    '',
    'name of the model in --model-base-path (default: "default")',
  ),
  flag('model-base-path', 'DIR', path, '', 'serve one model, DIR/<version>/model.onnx'),
  flag(
    'model-config-file',
    'FILE',
    path,
    '',
    'TensorFlow Serving models.config: several models with policies and labels',
  ),
  flag(
    'model-config-file-poll-wait-seconds',
    'N',
    SECONDS,
    0,
    'read --model-config-file anew this often; 0: once',
  ),
  flag(
    'file-system-poll-wait-seconds',
    'N',
    { kind: 'int', min: -1, max: 86_400 },
    1,
    'look for new versions under base paths this often; 0 or -1: only at start',
  ),
  flag(
    'model-control-mode',
    'MODE',
    choice(['none', 'poll', 'explicit']),
    'none',
    'repositories: all models once, all and watched, or --load-model and the repository API',
  ),
  flag(
    'repository-poll-secs',
    'N',
    { kind: 'int', min: 1, max: 86_400 },
    15,
    'poll mode: look at the repositories this often',
  ),
  flag(
    'load-model',
    'NAME',
    { kind: 'text-list' },
    '',
    'explicit mode: load this at start; may be repeated; * loads all',
  ),
  flag(
    'model-config-name',
    'NAME',
    text,
    '',
    'repository models: configs/NAME.pbtxt, where there is one, in place of config.pbtxt',
  ),
  flag(
    'settle-ms',
    'MS',
    { kind: 'int', min: 0, max: 3_600_000 },
    1000,
    'a version folder found while serving is loaded when nothing in it changed for this long',
  ),
  flag(
    'reload-changed-versions',
    'BOOL',
    { kind: 'bool' },
    'true',
    'when polling: files of a loaded version that changed are loaded anew',
  ),
  flag(
    'version-transition',
    'POLICY',
    choice(['availability', 'resource']),
    'availability',
    'load the new version before the old one goes, or after',
  ),
  flag(
    'allow-version-labels-for-unavailable-models',
    'BOOL',
    { kind: 'bool' },
    'true',
    'labels apply when their version becomes available; false: such a label is an error',
  ),
  flag(
    'max-num-load-retries',
    'N',
    { kind: 'int', min: 0, max: 1000 },
    0,
    'how often a failed load is tried again',
    { aliases: ['model-load-retry-count'] },
  ),
  flag(
    'load-retry-interval-micros',
    'US',
    { kind: 'int', min: 0, max: 86_400_000_000 },
    60_000_000,
    'time between two tries',
  ),
  flag(
    'num-load-threads',
    'N',
    { kind: 'int', min: 0, max: 256 },
    0,
    'models that load at the same time; 0: 4',
    { aliases: ['model-load-thread-count'] },
  ),
  flag(
    'exit-on-error',
    'BOOL',
    { kind: 'bool' },
    'false',
    'stop when a model or a configuration file given at start is bad',
  ),
  flag(
    'enable-batching',
    'BOOL',
    { kind: 'bool' },
    'false',
    'join requests of models from base paths, by --batching-parameters-file',
  ),
  flag(
    'batching-parameters-file',
    'FILE',
    path,
    '',
    'TensorFlow Serving BatchingParameters as text proto',
  ),
  flag(
    'platform-config-file',
    'FILE',
    path,
    '',
    'TensorFlow Serving PlatformConfigMap as text proto: batching, threads, tags, warm-up',
  ),
  flag(
    'enable-per-model-batching-parameters',
    'BOOL',
    { kind: 'bool' },
    'false',
    'batching_params.pbtxt in a version folder wins over the file for all',
  ),
  flag(
    'default-max-batch-size',
    'N',
    { kind: 'int', min: 0, max: 1_000_000 },
    4,
    'repository models without a configuration: batch up to this many rows; 0: none',
  ),
  flag(
    'disable-auto-complete-config',
    'BOOL',
    { kind: 'bool' },
    'false',
    'repository models without config.pbtxt are refused',
    { aliases: ['strict-model-config'] },
  ),
  flag(
    'enable-model-warmup',
    'BOOL',
    { kind: 'bool' },
    'true',
    'run warmup requests before a version becomes available',
  ),
  flag(
    'num-request-iterations-for-warmup',
    'N',
    { kind: 'int', min: 0, max: 1_000_000 },
    0,
    'runs of each recorded warmup request; 0: one',
  ),
  flag(
    'saved-model-tags',
    'TAGS',
    text,
    'serve',
    'SavedModels: the meta graph with exactly these tags, separated by commas; "": without tags',
  ),
  flag(
    'allow-random',
    'BOOL',
    { kind: 'bool' },
    'true',
    "serve TensorFlow models whose answers depend on random numbers, which are not TensorFlow's",
  ),
  flag(
    'model-cache',
    'DIR',
    path,
    '',
    'keep compiled TensorFlow models here, so that the next start is quick',
  ),
  flag(
    'rest-api-timeout-in-ms',
    'MS',
    { kind: 'int', min: 0, max: 86_400_000 },
    30_000,
    'a REST request that takes longer is answered 504; 0: no limit',
  ),
  flag(
    'enable-serialization-as-tensor-content',
    'BOOL',
    { kind: 'bool' },
    'false',
    "answers of TensorFlow Serving's gRPC API carry numbers as raw bytes (tensor_content)",
  ),
  flag(
    'enable-signature-method-name-check',
    'BOOL',
    { kind: 'bool' },
    'false',
    'classify and regress only signatures whose method_name says so',
  ),
  flag(
    'monitoring-config-file',
    'FILE',
    path,
    '',
    'TensorFlow Serving MonitoringConfig: its metrics at its path',
  ),
  flag('allow-metrics', 'BOOL', { kind: 'bool' }, 'true', 'serve and record metrics'),
  flag(
    'metrics-port',
    'PORT',
    { kind: 'int', min: -1, max: 65_535 },
    -1,
    'serve /metrics on this port too; 0 picks a free one; -1: not',
  ),
  flag('metrics-address', 'ADDRESS', text, '', 'address of --metrics-port (default: --host)'),
  flag('access-log', 'FILE', text, '', 'one JSON line per request; "-" is stderr'),
  flag(
    'access-log-errors-only',
    'BOOL',
    { kind: 'bool' },
    'false',
    'write every request that failed to the access log, and no other',
  ),
  flag(
    'access-log-reasons',
    'BOOL',
    { kind: 'bool' },
    'true',
    'lines of failed requests have what the client was told',
  ),
  flag(
    'access-log-one-in',
    'N',
    { kind: 'int', min: 1, max: 1_000_000_000 },
    1,
    'write every N-th request to the access log',
  ),
  ...REQUEST_LOG_FLAGS,
  flag('host', 'ADDRESS', text, '0.0.0.0', 'address to listen on', { aliases: ['http-address'] }),
  flag('http-port', 'PORT', PORT, 8000, 'REST, V1 and V2; 0 picks a free port', {
    aliases: ['rest-api-port'],
  }),
  flag('grpc-address', 'ADDRESS', text, '', 'address that gRPC listens on (default: --host)'),
  flag('grpc-port', 'PORT', PORT, 8001, "gRPC; 0 picks a free port; HTTP's port serves both", {
    aliases: ['port'],
  }),
  flag(
    'http-threads',
    'N',
    { kind: 'int', min: 1, max: HTTP_THREADS_MAX },
    1,
    'listeners on the HTTP port, one worker thread each',
    { aliases: ['http-thread-count'] },
  ),
  flag(
    'http-listener',
    'KIND',
    choice(HTTP_LISTENERS),
    'auto',
    'what HTTP runs on: native (the addon; auto is that too) or uws (uWebSockets.js)',
  ),
  ...LISTENER_FLAGS,
  ...TLS_FLAGS,
  ...GRPC_FLAGS,
  ...ACCESS_FLAGS,
  ...TRACE_FLAGS,
  flag(
    'max-connections',
    'N',
    { kind: 'int', min: 0, max: CONNECTIONS_MAX },
    0,
    'connections of each port, at most what the limit of open files allows; 0: so many',
  ),
  flag(
    'http-idle-seconds',
    'S',
    { kind: 'int', min: 1, max: HTTP_IDLE_SECONDS_MAX },
    HTTP_IDLE_MS / 1000,
    'an HTTP connection without a request is closed after this time (uws: always 10 s)',
  ),
  flag('log-level', 'LEVEL', choice(LOG_LEVELS), 'info', LOG_LEVELS.join(', ')),
  flag('log-file', 'FILE', path, '', 'write the log here, not to stderr; it may be moved away'),
  flag('log-format', 'FORMAT', choice(LOG_FORMATS), 'text', LOG_FORMATS.join(' or ')),
  flag('config', 'FILE', path, '', 'YAML with the names of these flags; flags win', {
    commandLineOnly: true,
  }),
  flag(
    'drain-seconds',
    'N',
    { kind: 'int', min: 0, max: 86_400 },
    30,
    'after SIGTERM, how long running requests may take',
    { aliases: ['exit-timeout-secs'] },
  ),
  flag('health-body', 'FORM', choice(['json', 'empty']), 'json', 'body of V2 health replies'),
  flag(
    'strict-readiness',
    'BOOL',
    { kind: 'bool' },
    'true',
    'ready only when every model is available; false: ready when started',
  ),
  flag(
    'exec-mode',
    'MODE',
    choice(['auto', 'inline', 'queued']),
    'auto',
    'where models run: listener thread, instance threads, or by measured time',
  ),
  flag(
    'inline-us-max',
    'US',
    { kind: 'int', min: 0, max: 1_000_000 },
    100,
    'auto: a model slower than this goes to instance threads',
  ),
  flag(
    'queue-requests-max',
    'N',
    { kind: 'int', min: 1, max: 1_000_000 },
    1024,
    'requests that may wait for one model; more are refused',
  ),
  flag(
    'instances',
    'N',
    { kind: 'int', min: 1, max: MODEL_THREADS_MAX },
    1,
    'instance threads of each model',
  ),
  flag(
    'cuda-graphs',
    'BOOL',
    { kind: 'bool' },
    'false',
    'record the runs of models on GPUs as CUDA graphs, where they can be; see gpu.md',
  ),
  flag(
    'isolate',
    'NAMES',
    { kind: 'text' },
    '',
    'models whose sessions run in processes of their own: name,name,... or "all"; "none": not ' +
      'those on GPUs either, which do by themselves',
  ),
  flag(
    'intra-op-threads',
    'N',
    THREADS,
    0,
    'threads of the pool that all models share; 0: one per core',
    { aliases: ['tensorflow-intra-op-parallelism'] },
  ),
  flag('inter-op-threads', 'N', THREADS, 0, 'operators at the same time; 0: one by one', {
    aliases: ['tensorflow-inter-op-parallelism'],
  }),
  flag(
    'graph-optimization',
    'LEVEL',
    { kind: 'graph-optimization' },
    'all',
    'none (0), basic (1), extended (2) or all (99)',
  ),
  flag(
    'providers',
    'LIST',
    { kind: 'providers' },
    '',
    'in order of preference: cuda:device_id=0,cpu; auto (default with a GPU): by model',
  ),
  flag(
    'body-bytes-max',
    'BYTES',
    BYTES,
    BODY_BYTES_MAX_DEFAULT,
    'largest HTTP request body, inflated',
    { aliases: ['http-max-input-size'] },
  ),
  flag(
    'memory-limit',
    'SIZE',
    { kind: 'size' },
    0,
    'bytes that requests and answers may hold in all (512M, 4G); 0: half of what is free at start',
  ),
  flag(
    'pinned-memory-pool-byte-size',
    'BYTES',
    { kind: 'int', min: 0, max: 2 ** 40 },
    PINNED_POOL_BYTES_DEFAULT,
    'memory of the host that GPUs copy from and to, pinned when a model first runs on one; 0: none',
  ),
  flag(
    'json-depth-max',
    'N',
    { kind: 'int', min: 1, max: 10_000 },
    JSON_DEPTH_MAX_DEFAULT,
    'deepest nesting of JSON',
  ),
  flag(
    'onnxruntime-library',
    'PATH',
    path,
    '',
    'libonnxruntime.so (SERVAL_ORT_LIBRARY, else of `serval gpu install`, else the bundled one)',
  ),
];

/** One spelling for what is written with dashes, underscores or camelCase. */
export function canonicalName(written: string): string {
  return written
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replaceAll('_', '-')
    .toLowerCase();
}

/** The row with this name or alias. */
export function findFlag(
  written: string,
  rows: readonly FlagRow[] = SERVE_FLAGS,
): FlagRow | undefined {
  const name = canonicalName(written);
  return rows.find((row) => row.name === name || row.aliases.includes(name));
}

/** The known flag with the fewest edits, for "did you mean". */
export function nearestFlag(written: string, rows: readonly FlagRow[] = SERVE_FLAGS): string {
  const names = rows.flatMap((row) => [row.name, ...row.aliases]);
  return nearestWord(canonicalName(written), names);
}
