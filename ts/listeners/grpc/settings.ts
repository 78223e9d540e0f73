// Start settings of a gRPC listener of any kind. Data only; control plane.
import type { ThreadRange } from '../threads.js';
import type { ServerTls } from '../tls/settings.js';

/** Connection settings, named after gRPC's channel arguments. Milliseconds: Infinity = never. */
export interface GrpcConnectionSettings {
  /** Maximum streams (calls) open at once on one connection; clients wait with further ones. */
  readonly concurrentStreamsMax: number;
  /** A connection that was idle this long is pinged, and closed if it does not respond. */
  readonly keepaliveTimeMs: number;
  readonly keepaliveTimeoutMs: number;
  readonly keepalivePermitWithoutCalls: boolean;
  /** Maximum pings that the server sends without data in between. */
  readonly pingsWithoutDataMax: number;
  /**
   * Minimum interval of a client's pings while nothing is sent to it; more frequent ones are
   * strikes.
   */
  readonly pingIntervalWithoutDataMsMin: number;
  /** Strikes until the connection is closed; 0 = no limit. */
  readonly pingStrikesMax: number;
  readonly connectionAgeMsMax: number;
  readonly connectionAgeGraceMs: number;
  readonly connectionIdleMsMax: number;
}

/** Source: grpc_arg_keys; Triton's flags have the same defaults. */
export const GRPC_CONNECTION_DEFAULTS: GrpcConnectionSettings = {
  concurrentStreamsMax: 4096,
  keepaliveTimeMs: 7_200_000,
  keepaliveTimeoutMs: 20_000,
  keepalivePermitWithoutCalls: false,
  pingsWithoutDataMax: 2,
  pingIntervalWithoutDataMsMin: 300_000,
  pingStrikesMax: 2,
  connectionAgeMsMax: Infinity,
  connectionAgeGraceMs: Infinity,
  connectionIdleMsMax: Infinity,
};

/** Settings of a gRPC listener, except its address. */
export interface GrpcTransportSettings extends GrpcConnectionSettings, ThreadRange {
  /** Maximum size of one message; compressed ones count uncompressed. */
  readonly receiveBytesMax: number;
  readonly sendBytesMax: number;
  /** "" = none. */
  readonly unixPath: string;
  /** Mode of its file. */
  readonly unixMode?: number;
  /** Other processes with this setting may listen on the same port. */
  readonly reusePort?: boolean;
  /** Compression of responses for clients that accept it: 0 = off, else zlib's level. */
  readonly compressionLevel: number;
  readonly tls?: ServerTls;
}

/** Failed TLS handshakes of clients. */
export interface HandshakeFailures {
  /** Total so far. */
  readonly failures: number;
  /** The last one's address, and the reason. */
  readonly peer: string;
  readonly reason: string;
}
