// The flags of gRPC's listener: rows of the table of settings. Control plane, start-up only. Data
// only. Names and defaults are those of Triton and TensorFlow Serving where they have such a flag.
import { BODY_BYTES_MAX_DEFAULT, GRPC_THREADS_MAX, INT32_MAX } from '../base/limits.js';
import { GRPC_CONNECTION_DEFAULTS as DEFAULTS } from '../listeners/grpc/settings.js';
import { flag, setting, BOOL } from './values/flag-row.js';

/** gRPC's own numbers have 32 bits; the largest means never or unlimited. */

export const GRPC_COMPRESSIONS = ['none', 'low', 'medium', 'high'] as const;

const BYTES = { kind: 'int', min: 1, max: BODY_BYTES_MAX_DEFAULT } as const;
const MS = { kind: 'int', min: 1, max: INT32_MAX } as const;
const MS_OR_NEVER = { kind: 'int', min: 0, max: INT32_MAX } as const;
const COUNT = { kind: 'int', min: 0, max: INT32_MAX } as const;
const path = { kind: 'path' } as const;

const msOrInfinity = (ms: number): number => (ms === INT32_MAX ? Infinity : ms);
const msOrNever = (ms: number): number => (ms === 0 ? Infinity : msOrInfinity(ms));

export const GRPC_FLAGS = [
  setting(
    'threads',
    'grpc-threads',
    'N',
    { kind: 'int-or-auto', min: 1, max: GRPC_THREADS_MAX },
    'auto',
    'threads of the gRPC listener; auto: one, and more while it is busy and cores are free',
  ),
  flag('grpc-socket-path', 'PATH', path, '', 'also serve gRPC on this Unix socket'),
  flag('grpc-message-bytes-max', 'BYTES', BYTES, BODY_BYTES_MAX_DEFAULT, 'largest gRPC message'),
  flag(
    'grpc-use-ssl',
    'BOOL',
    BOOL,
    'false',
    'TLS on gRPC, with --grpc-server-cert and --grpc-server-key',
  ),
  flag(
    'grpc-server-cert',
    'FILE',
    path,
    '',
    'certificate (PEM) of gRPC with its chain; reloaded when it changes',
  ),
  flag('grpc-server-key', 'FILE', path, '', 'key of --grpc-server-cert (PEM)'),
  flag(
    'grpc-use-ssl-mutual',
    'BOOL',
    BOOL,
    'false',
    'TLS on gRPC; require client certificates signed by --grpc-root-cert',
  ),
  flag('grpc-root-cert', 'FILE', path, '', 'CA that signs client certificates (PEM)'),
  flag(
    'ssl-config-file',
    'FILE',
    path,
    '',
    'TensorFlow Serving SSLConfig as text proto: TLS on gRPC and HTTP',
  ),
  flag(
    'grpc-channel-arguments',
    'LIST',
    { kind: 'text' },
    '',
    'grpc.max_connection_age_ms=60000,...; arguments without a flag here log a warning',
  ),
  setting(
    'connection.concurrentStreamsMax',
    'grpc-max-concurrent-streams',
    'N',
    { kind: 'int', min: 1, max: INT32_MAX },
    DEFAULTS.concurrentStreamsMax,
    'maximum number of concurrent calls per connection; clients hold back further calls',
  ),
  setting(
    'connection.keepaliveTimeMs',
    'grpc-keepalive-time',
    'MS',
    MS,
    DEFAULTS.keepaliveTimeMs,
    'ping a client after this long without data from it',
    { as: msOrInfinity },
  ),
  setting(
    'connection.keepaliveTimeoutMs',
    'grpc-keepalive-timeout',
    'MS',
    MS,
    DEFAULTS.keepaliveTimeoutMs,
    'close the connection if the ping is not acknowledged within this time',
    { as: msOrInfinity },
  ),
  setting(
    'connection.keepalivePermitWithoutCalls',
    'grpc-keepalive-permit-without-calls',
    'BOOL',
    BOOL,
    String(DEFAULTS.keepalivePermitWithoutCalls),
    'send pings to clients without open calls, and accept theirs',
  ),
  setting(
    'connection.pingsWithoutDataMax',
    'grpc-http2-max-pings-without-data',
    'N',
    COUNT,
    DEFAULTS.pingsWithoutDataMax,
    'maximum number of pings to send without other data; 0: unlimited',
  ),
  setting(
    'connection.pingIntervalWithoutDataMsMin',
    'grpc-http2-min-recv-ping-interval-without-data',
    'MS',
    COUNT,
    DEFAULTS.pingIntervalWithoutDataMsMin,
    "minimum interval between a client's pings without data; shorter ones count as strikes",
  ),
  setting(
    'connection.pingStrikesMax',
    'grpc-http2-max-ping-strikes',
    'N',
    COUNT,
    DEFAULTS.pingStrikesMax,
    'maximum number of ping strikes before a client is disconnected; 0: unlimited',
  ),
  setting(
    'connection.connectionAgeMsMax',
    'grpc-max-connection-age',
    'MS',
    MS_OR_NEVER,
    0,
    'ask clients to reconnect after this time; 0: never',
    { as: msOrNever },
  ),
  setting(
    'connection.connectionAgeGraceMs',
    'grpc-max-connection-age-grace',
    'MS',
    MS_OR_NEVER,
    0,
    'time that running calls then have to finish; 0: unlimited',
    { as: msOrNever },
  ),
  setting(
    'connection.connectionIdleMsMax',
    'grpc-max-connection-idle',
    'MS',
    MS_OR_NEVER,
    0,
    'close connections that had no calls for this time; 0: never',
    { as: msOrNever },
  ),
  flag(
    'grpc-infer-response-compression-level',
    'LEVEL',
    { kind: 'choice', choices: GRPC_COMPRESSIONS },
    'none',
    'compress gRPC responses for clients that accept it: none, low, medium or high',
  ),
] as const;
