// The table of settings: one row per flag of `serval serve`, which is also a key of the
// configuration file, an option of the library and a line of --help. A row names the configuration
// member that holds its value; the configuration's type and reader are derived from the rows.
// Control plane, start-up only. Data only.
import {
  CONNECTIONS_MAX,
  HTTP_IDLE_MS,
  HTTP_IDLE_SECONDS_MAX,
  HTTP_THREADS_MAX,
} from '../base/limits.js';
import { LOG_FORMATS, LOG_LEVELS, type LogFormat } from '../base/logger.js';
import { HTTP_LISTENERS } from '../listeners/http/kind.js';
import { echo, nearWord } from '../base/text.js';
import {
  choice,
  flag,
  setting,
  type FlagRow,
  type SettingsOf,
  type SettingValues,
  BOOL,
  TEXT,
} from './values/flag-row.js';
import { choiceValue, configError, lastText, type Written } from './values/values.js';
import { ACCESS_FLAGS } from './access-flags.js';
import { GRPC_FLAGS } from './grpc-flags.js';
import { LISTENER_FLAGS } from './listeners.js';
import { MODEL_FLAGS, RUN_FLAGS } from './model-flags.js';
import { REQUEST_LOG_FLAGS } from './observation/request-log.js';
import { TLS_FLAGS } from './tls.js';
import { TRACE_FLAGS } from './observation/trace-flags.js';

const PORT = { kind: 'int', min: 0, max: 65_535 } as const;
const path = { kind: 'path' } as const;
const TRITON_LOG_FORMATS = new Set(['default', 'iso8601']);

/** Accepts Triton's names too: Serval's text format has the time of day in ISO 8601. */
function logFormatOf(from: Written): LogFormat {
  const word = lastText(from).toLowerCase();
  return TRITON_LOG_FORMATS.has(word) ? 'text' : choiceValue(LOG_FORMATS, from);
}

/** Quantiles of summaries, as written; "" = none. Errors: InvalidArgument. */
function quantileList(from: Written): string {
  const text = lastText(from);
  const isQuantile = (word: string): boolean => /^(?:0(?:\.\d+)?|1(?:\.0+)?)$/.test(word);
  if (text === '') return text;
  const words = text.split(',');
  const isUnique = new Set(words.map(Number)).size === words.length;
  if (isUnique && words.every(isQuantile)) return text;
  throw configError(
    from.where,
    `expected different numbers from 0 to 1, such as 0.5,0.99, got ${echo(text)}`,
  );
}

const API_FLAGS = [
  setting(
    'restTimeoutMs',
    'rest-api-timeout-in-ms',
    'MS',
    { kind: 'int', min: 0, max: 86_400_000 },
    30_000,
    'time limit of a REST request, which then fails with status 504; 0: no limit',
  ),
  setting(
    'servingApi.tensorContent',
    'enable-serialization-as-tensor-content',
    'BOOL',
    BOOL,
    'false',
    "TensorFlow Serving's gRPC API: return tensors as raw bytes (tensor_content)",
    { engine: 'tfTensorContent' },
  ),
  setting(
    'servingApi.checkMethod',
    'enable-signature-method-name-check',
    'BOOL',
    BOOL,
    'false',
    'Classify and Regress: require the matching method_name in the signature',
    { engine: 'tfCheckMethod' },
  ),
  setting(
    'metrics.monitoringConfigFile',
    'monitoring-config-file',
    'FILE',
    path,
    '',
    'TensorFlow Serving MonitoringConfig: serves its metrics at the path that it names',
  ),
  setting('metrics.allowed', 'allow-metrics', 'BOOL', BOOL, 'true', 'serve and record metrics', {
    engine: 'metrics',
  }),
  setting(
    'metrics.latencyCounters',
    'metrics-latency-counters',
    'BOOL',
    BOOL,
    'true',
    'write the counters of latencies, nv_inference_*_duration_us',
    { engine: 'latencyCounters' },
  ),
  setting(
    'metrics.summaryQuantiles',
    'metrics-summary-quantiles',
    'LIST',
    TEXT,
    '',
    'write summaries of latencies with these quantiles of the last minute, such as 0.5,0.99',
    { engine: 'summaryQuantiles', read: quantileList },
  ),
  setting(
    'metrics.port',
    'metrics-port',
    'PORT',
    { kind: 'int', min: -1, max: 65_535 },
    -1,
    'also serve /metrics on this port; 0 picks a free one; -1: no extra port',
  ),
  flag('metrics-address', 'ADDRESS', TEXT, '', 'address of --metrics-port (default: --host)'),
  flag('access-log', 'FILE', TEXT, '', 'one JSON line per request; "-" is stderr'),
  setting(
    'accessLogSettings.errorsOnly',
    'access-log-errors-only',
    'BOOL',
    BOOL,
    'false',
    'write only failed requests to the access log',
  ),
  setting(
    'accessLogSettings.reasons',
    'access-log-reasons',
    'BOOL',
    BOOL,
    'true',
    'include the error message in the lines of failed requests',
  ),
  setting(
    'accessLogSettings.oneIn',
    'access-log-one-in',
    'N',
    { kind: 'int', min: 1, max: 1_000_000_000 },
    1,
    'write every N-th request to the access log',
  ),
] as const;

const ADDRESS_FLAGS = [
  setting('host', 'host', 'ADDRESS', TEXT, '0.0.0.0', 'address to listen on', {
    aliases: ['http-address'],
  }),
  setting('httpPort', 'http-port', 'PORT', PORT, 8000, 'REST, V1 and V2; 0 picks a free port', {
    aliases: ['rest-api-port'],
  }),
  flag('grpc-address', 'ADDRESS', TEXT, '', 'address that gRPC listens on (default: --host)'),
  setting(
    'grpcPort',
    'grpc-port',
    'PORT',
    PORT,
    8001,
    "gRPC; 0 picks a free port; the HTTP port's number serves both on one port",
    {
      aliases: ['port'],
    },
  ),
  setting(
    'httpThreads',
    'http-threads',
    'N',
    { kind: 'int-or-auto', min: 1, max: HTTP_THREADS_MAX },
    'auto',
    'listener threads of the HTTP port; auto: one, and more while it is busy and cores are free',
    { aliases: ['http-thread-count'] },
  ),
  setting(
    'httpListener',
    'http-listener',
    'KIND',
    choice(HTTP_LISTENERS),
    'auto',
    'HTTP implementation: native (the addon; auto selects it) or uws (uWebSockets.js)',
  ),
] as const;

const SERVER_FLAGS = [
  setting(
    'connectionsMax',
    'max-connections',
    'N',
    { kind: 'int', min: 0, max: CONNECTIONS_MAX },
    0,
    'maximum connections per port (0: as many as the open-file limit allows)',
  ),
  setting(
    'httpIdleMs',
    'http-idle-seconds',
    'S',
    { kind: 'int', min: 1, max: HTTP_IDLE_SECONDS_MAX },
    HTTP_IDLE_MS / 1000,
    'close idle HTTP connections after this time (uws: always 10 s)',
    { as: (seconds) => seconds * 1000 },
  ),
  setting('logLevel', 'log-level', 'LEVEL', choice(LOG_LEVELS), 'info', LOG_LEVELS.join(', '), {
    ofModels: true,
  }),
  setting(
    'logFile',
    'log-file',
    'FILE',
    path,
    '',
    'write the log to this file instead of stderr; the file may be rotated',
  ),
  setting(
    'logFormat',
    'log-format',
    'FORMAT',
    choice(LOG_FORMATS),
    'text',
    LOG_FORMATS.join(' or '),
    { read: logFormatOf, ofModels: true },
  ),
  flag(
    'config',
    'FILE',
    path,
    '',
    'YAML file with the names of these flags as keys; flags override it',
    {
      commandLineOnly: true,
    },
  ),
  setting(
    'drainSeconds',
    'drain-seconds',
    'N',
    { kind: 'int', min: 0, max: 86_400 },
    30,
    'after SIGTERM, time that running requests have to finish',
    { aliases: ['exit-timeout-secs'] },
  ),
  setting(
    'healthBody',
    'health-body',
    'FORM',
    choice(['json', 'empty']),
    'json',
    'body of V2 health responses',
  ),
  setting(
    'strictReadiness',
    'strict-readiness',
    'BOOL',
    BOOL,
    'true',
    'report ready only when every model is available; false: once started',
  ),
] as const;

/** Rows whose values become configuration members without further checks. */
export const SETTINGS = [
  ...MODEL_FLAGS,
  ...API_FLAGS,
  ...ADDRESS_FLAGS,
  ...LISTENER_FLAGS,
  ...SERVER_FLAGS,
  ...RUN_FLAGS,
] as const;

/** The part of the configuration that the rows fill. */
export type Settings = SettingValues<SettingsOf<typeof SETTINGS>>;

export const SERVE_FLAGS: readonly FlagRow[] = [
  ...MODEL_FLAGS,
  ...API_FLAGS,
  ...REQUEST_LOG_FLAGS,
  ...ADDRESS_FLAGS,
  ...LISTENER_FLAGS,
  ...TLS_FLAGS,
  ...GRPC_FLAGS,
  ...ACCESS_FLAGS,
  ...TRACE_FLAGS,
  ...SERVER_FLAGS,
  ...RUN_FLAGS,
];

/** Normalizes a name written with dashes, underscores or camelCase. */
export function canonicalName(written: string): string {
  return written
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replaceAll('_', '-')
    .toLowerCase();
}

/** Returns the row with this name or alias. */
export function findFlag(
  written: string,
  rows: readonly FlagRow[] = SERVE_FLAGS,
): FlagRow | undefined {
  const name = canonicalName(written);
  return rows.find((row) => row.name === name || row.aliases.includes(name));
}

/** Returns the flag that may have been meant, for "did you mean"; undefined: none is near. */
export function nearestFlag(
  written: string,
  rows: readonly FlagRow[] = SERVE_FLAGS,
): string | undefined {
  const names = rows.flatMap((row) => [row.name, ...row.aliases]);
  return nearWord(canonicalName(written), names);
}
