// What a gRPC listener is started with, whichever it is. Data only; control plane.
import type { ServerTls } from '../tls/settings.js';

/** Of connections; the names are those of gRPC's channel arguments. Milliseconds: Infinity =
 * never. */
export interface GrpcConnectionSettings {
  /** Streams (calls) open at once on one connection; clients wait with the rest. */
  readonly concurrentStreamsMax: number;
  /** A connection that was silent this long is pinged, and closed when it does not answer. */
  readonly keepaliveTimeMs: number;
  readonly keepaliveTimeoutMs: number;
  readonly keepalivePermitWithoutCalls: boolean;
  /** Pings of ours while nothing is sent. */
  readonly pingsWithoutDataMax: number;
  /** Clients may ping this often while nothing is sent to them; strikes otherwise. */
  readonly pingIntervalWithoutDataMsMin: number;
  /** 0 = any number. */
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

/** What settings say of a gRPC listener, beside its address. */
export interface GrpcTransportSettings extends GrpcConnectionSettings {
  /** One message; compressed ones count unpacked. */
  readonly receiveBytesMax: number;
  readonly sendBytesMax: number;
  /** "" = none. */
  readonly unixPath: string;
  /** Of its file. */
  readonly unixMode?: number;
  readonly threads: number;
  /** Other processes that set it may listen on the port too. */
  readonly reusePort?: boolean;
  /** How answers are packed for clients that take it: 0 not at all, else zlib's level. */
  readonly compressionLevel: number;
  readonly tls?: ServerTls;
}

/** TLS handshakes of clients that failed. */
export interface HandshakeFailures {
  /** So far. */
  readonly failures: number;
  /** The last one's address, and why. */
  readonly peer: string;
  readonly reason: string;
}
