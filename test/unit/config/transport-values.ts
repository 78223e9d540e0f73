// Values for the flags of HTTP, gRPC and TLS, and the resulting configuration. Test time only.
import type { Config } from '../../../ts/config/config.js';

export const HTTP_VALUES = {
  'http-port': '1',
  'grpc-port': '2',
  'http-threads': '3',
  'http-listener': 'uws',
  'tls-cert': 'cert.pem',
  'tls-key': 'key.pem',
  'tls-client-ca': 'ca.pem',
  'tls-min-version': '1.3',
  'http-use-ssl': 'false',
  'allow-http': 'on',
  'allow-grpc': 'True',
  'reuse-http-port': '1',
  'reuse-grpc-port': 'true',
};
export const LISTENING_CONFIG = {
  listeners: { http: true, grpc: true, reuseHttpPort: true, reuseGrpcPort: true },
  httpPort: 1,
  grpcPort: 2,
  httpThreads: 3,
  httpListener: 'uws',
} satisfies Partial<Config>;
export const TLS_CONFIG: Config['tls'] = {
  shared: {
    certificate: { path: '/somewhere/cert.pem' },
    key: { path: '/somewhere/key.pem' },
    roots: { path: '/somewhere/ca.pem' },
    clientRequired: true,
    minVersion: 'TLSv1.3',
  },
  http: false,
  version: { minVersion: 'TLSv1.3' },
};

/** Settings of metrics without flags. */
export const DEFAULT_METRICS = {
  allowed: true,
  host: '0.0.0.0',
  port: -1,
  monitoringConfigFile: undefined,
  latencyCounters: true,
  summaryQuantiles: '',
} as const;

export const GRPC_VALUES = {
  'grpc-threads': '30',
  'grpc-socket-path': 'grpc.sock',
  'grpc-message-bytes-max': '11',
  'grpc-use-ssl': 'true',
  'grpc-server-cert': 'server.pem',
  'grpc-server-key': '/key.pem',
  'grpc-use-ssl-mutual': 'true',
  'grpc-root-cert': 'root.pem',
  'grpc-channel-arguments': 'grpc.max_connection_idle_ms=1,grpc.lb_policy_name=x',
  'grpc-max-concurrent-streams': '31',
  'grpc-keepalive-time': '32',
  'grpc-keepalive-timeout': '33',
  'grpc-keepalive-permit-without-calls': 'true',
  'grpc-http2-max-pings-without-data': '34',
  'grpc-http2-min-recv-ping-interval-without-data': '35',
  'grpc-http2-max-ping-strikes': '36',
  'grpc-max-connection-age': '37',
  'grpc-max-connection-age-grace': '38',
  'grpc-max-connection-idle': '39',
  'grpc-infer-response-compression-level': 'medium',
};
const GRPC_IGNORED = [
  '--grpc-channel-arguments grpc.lb_policy_name: there is no such setting here',
];
export const GRPC_CONFIG: Config['grpc'] = {
  transport: {
    receiveBytesMax: 11,
    sendBytesMax: 11,
    unixPath: '/somewhere/grpc.sock',
    unixMode: 0o700,
    reusePort: true,
    compressionLevel: 6,
    tls: {
      certificate: { path: '/somewhere/server.pem' },
      key: { path: '/key.pem' },
      roots: { path: '/somewhere/root.pem' },
      clientRequired: true,
      minVersion: 'TLSv1.3',
    },
    concurrentStreamsMax: 31,
    keepaliveTimeMs: 32,
    keepaliveTimeoutMs: 33,
    keepalivePermitWithoutCalls: true,
    pingsWithoutDataMax: 34,
    pingIntervalWithoutDataMsMin: 35,
    pingStrikesMax: 36,
    connectionAgeMsMax: 37,
    connectionAgeGraceMs: 38,
    connectionIdleMsMax: 39,
  },
  threads: 30,
  sslConfigFile: undefined,
  ignored: GRPC_IGNORED,
};
