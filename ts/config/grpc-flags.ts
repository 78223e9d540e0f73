// The flags of gRPC's listener: rows of the table of settings. Control plane, start-up only. Data
// only. Names and defaults are Triton's and TensorFlow Serving's where they have them.
import { BODY_BYTES_MAX_DEFAULT, GRPC_THREADS_MAX } from '../base/limits.js';
import { GRPC_CONNECTION_DEFAULTS as DEFAULTS } from '../listeners/grpc/settings.js';
import { flag, type FlagType } from './values/flag-row.js';

/** gRPC's own numbers are of 32 bits; the largest means never, or any number. */
export const INT32_MAX = 2_147_483_647;

export const GRPC_COMPRESSIONS = ['none', 'low', 'medium', 'high'] as const;

const BYTES: FlagType = { kind: 'int', min: 1, max: BODY_BYTES_MAX_DEFAULT };
const MS: FlagType = { kind: 'int', min: 1, max: INT32_MAX };
const MS_OR_NEVER: FlagType = { kind: 'int', min: 0, max: INT32_MAX };
const COUNT: FlagType = { kind: 'int', min: 0, max: INT32_MAX };
const BOOL: FlagType = { kind: 'bool' };
const path: FlagType = { kind: 'path' };

export const GRPC_FLAGS = [
  flag(
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
  flag(
    'grpc-max-concurrent-streams',
    'N',
    { kind: 'int', min: 1, max: INT32_MAX },
    DEFAULTS.concurrentStreamsMax,
    'calls at once on one connection; clients wait with the rest',
  ),
  flag(
    'grpc-keepalive-time',
    'MS',
    MS,
    DEFAULTS.keepaliveTimeMs,
    'ping a client that was silent for so long',
  ),
  flag(
    'grpc-keepalive-timeout',
    'MS',
    MS,
    DEFAULTS.keepaliveTimeoutMs,
    'close its connection when it does not answer within',
  ),
  flag(
    'grpc-keepalive-permit-without-calls',
    'BOOL',
    BOOL,
    String(DEFAULTS.keepalivePermitWithoutCalls),
    'ping clients that have no calls, and let them ping',
  ),
  flag(
    'grpc-http2-max-pings-without-data',
    'N',
    COUNT,
    DEFAULTS.pingsWithoutDataMax,
    'pings of ours while nothing else is sent; 0: any number',
  ),
  flag(
    'grpc-http2-min-recv-ping-interval-without-data',
    'MS',
    COUNT,
    DEFAULTS.pingIntervalWithoutDataMsMin,
    'clients that ping more often while nothing is sent to them get a strike',
  ),
  flag(
    'grpc-http2-max-ping-strikes',
    'N',
    COUNT,
    DEFAULTS.pingStrikesMax,
    'a client with more strikes is disconnected; 0: any number',
  ),
  flag(
    'grpc-max-connection-age',
    'MS',
    MS_OR_NEVER,
    0,
    'ask clients to connect anew after so long; 0: never',
  ),
  flag(
    'grpc-max-connection-age-grace',
    'MS',
    MS_OR_NEVER,
    0,
    'what its calls may take then; 0: any time',
  ),
  flag(
    'grpc-max-connection-idle',
    'MS',
    MS_OR_NEVER,
    0,
    'close connections without calls for so long; 0: never',
  ),
  flag(
    'grpc-infer-response-compression-level',
    'LEVEL',
    { kind: 'choice', choices: GRPC_COMPRESSIONS },
    'none',
    'pack gRPC answers for clients that take it: none, low, medium or high',
  ),
];
