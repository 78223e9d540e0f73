// The flags of gRPC's listener: rows of the table of settings. Control plane, start-up only. Data
// only. Names and defaults are Triton's and TensorFlow Serving's where they have them.
import { BODY_BYTES_MAX_DEFAULT, GRPC_THREADS_MAX } from '../base/limits.js';
import { GRPC_CONNECTION_DEFAULTS as DEFAULTS } from '../listeners/grpc/settings.js';
import { flag, setting } from './values/flag-row.js';

/** gRPC's own numbers are of 32 bits; the largest means never, or any number. */
export const INT32_MAX = 2_147_483_647;

export const GRPC_COMPRESSIONS = ['none', 'low', 'medium', 'high'] as const;

const BYTES = { kind: 'int', min: 1, max: BODY_BYTES_MAX_DEFAULT } as const;
const MS = { kind: 'int', min: 1, max: INT32_MAX } as const;
const MS_OR_NEVER = { kind: 'int', min: 0, max: INT32_MAX } as const;
const COUNT = { kind: 'int', min: 0, max: INT32_MAX } as const;
const BOOL = { kind: 'bool' } as const;
const path = { kind: 'path' } as const;

const msOrInfinity = (ms: number): number => (ms === INT32_MAX ? Infinity : ms);
const msOrNever = (ms: number): number => (ms === 0 ? Infinity : msOrInfinity(ms));

export const GRPC_FLAGS = [
  setting(
    'threads',
    'grpc-threads',
    'N',
    { kind: 'int', min: 1, max: GRPC_THREADS_MAX },
    1,
    'threads of the gRPC listener',
  ),
  flag('grpc-socket-path', 'PATH', path, '', 'gRPC on this unix socket too'),
  flag('grpc-message-bytes-max', 'BYTES', BYTES, BODY_BYTES_MAX_DEFAULT, 'largest gRPC message'),
  flag('grpc-use-ssl', 'BOOL', BOOL, 'false', 'TLS on gRPC, with the next two'),
  flag('grpc-server-cert', 'FILE', path, '', 'certificate (PEM) with its chain; read anew'),
  flag('grpc-server-key', 'FILE', path, '', 'its key (PEM)'),
  flag(
    'grpc-use-ssl-mutual',
    'BOOL',
    BOOL,
    'false',
    'TLS on gRPC, for clients with a certificate that --grpc-root-cert signed',
  ),
  flag('grpc-root-cert', 'FILE', path, '', 'who signs certificates of clients (PEM)'),
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
    'grpc.max_connection_age_ms=60000,...: those with a flag here; the rest warn',
  ),
  setting(
    'connection.concurrentStreamsMax',
    'grpc-max-concurrent-streams',
    'N',
    { kind: 'int', min: 1, max: INT32_MAX },
    DEFAULTS.concurrentStreamsMax,
    'calls at once on one connection; clients wait with the rest',
  ),
  setting(
    'connection.keepaliveTimeMs',
    'grpc-keepalive-time',
    'MS',
    MS,
    DEFAULTS.keepaliveTimeMs,
    'ping a client that was silent for so long',
    { as: msOrInfinity },
  ),
  setting(
    'connection.keepaliveTimeoutMs',
    'grpc-keepalive-timeout',
    'MS',
    MS,
    DEFAULTS.keepaliveTimeoutMs,
    'close its connection when it does not answer within',
    { as: msOrInfinity },
  ),
  setting(
    'connection.keepalivePermitWithoutCalls',
    'grpc-keepalive-permit-without-calls',
    'BOOL',
    BOOL,
    String(DEFAULTS.keepalivePermitWithoutCalls),
    'ping clients that have no calls, and let them ping',
  ),
  setting(
    'connection.pingsWithoutDataMax',
    'grpc-http2-max-pings-without-data',
    'N',
    COUNT,
    DEFAULTS.pingsWithoutDataMax,
    'pings of ours while nothing else is sent; 0: any number',
  ),
  setting(
    'connection.pingIntervalWithoutDataMsMin',
    'grpc-http2-min-recv-ping-interval-without-data',
    'MS',
    COUNT,
    DEFAULTS.pingIntervalWithoutDataMsMin,
    'clients that ping more often while nothing is sent to them get a strike',
  ),
  setting(
    'connection.pingStrikesMax',
    'grpc-http2-max-ping-strikes',
    'N',
    COUNT,
    DEFAULTS.pingStrikesMax,
    'a client with more strikes is disconnected; 0: any number',
  ),
  setting(
    'connection.connectionAgeMsMax',
    'grpc-max-connection-age',
    'MS',
    MS_OR_NEVER,
    0,
    'ask clients to connect anew after so long; 0: never',
    { as: msOrNever },
  ),
  setting(
    'connection.connectionAgeGraceMs',
    'grpc-max-connection-age-grace',
    'MS',
    MS_OR_NEVER,
    0,
    'what its calls may take then; 0: any time',
    { as: msOrNever },
  ),
  setting(
    'connection.connectionIdleMsMax',
    'grpc-max-connection-idle',
    'MS',
    MS_OR_NEVER,
    0,
    'close connections without calls for so long; 0: never',
    { as: msOrNever },
  ),
  flag(
    'grpc-infer-response-compression-level',
    'LEVEL',
    { kind: 'choice', choices: GRPC_COMPRESSIONS },
    'none',
    'pack gRPC answers for clients that take it: none, low, medium or high',
  ),
] as const;
