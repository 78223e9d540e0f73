// The TLS settings of each listener, and the check that listeners sharing a port agree. Control
// plane, main thread.
import { isDeepStrictEqual } from 'node:util';
import { ErrorCode, ServalError } from '../../base/errors.js';
import type { ServerTls } from '../../listeners/tls/settings.js';
import type { Config } from '../../config/config.js';
import { sharesPort } from '../../config/server-settings.js';

export interface TransportTls {
  readonly http: ServerTls | undefined;
  readonly grpc: ServerTls | undefined;
  readonly admin: ServerTls | undefined;
}

/** TLS settings from TensorFlow Serving's file, if given; else from the flags. */
export async function transportTls({ tls, grpc, access }: Config): Promise<TransportTls> {
  const { transport, sslConfigFile } = grpc;
  const hasAdmin = access.adminTls && access.admin !== undefined;
  const of = (shared: ServerTls | undefined): Omit<TransportTls, 'grpc'> => ({
    http: tls.http ? shared : undefined,
    admin: hasAdmin ? shared : undefined,
  });
  if (sslConfigFile === undefined) return { ...of(tls.shared), grpc: transport.tls };
  const { readSslConfig } = await import('../../models/config/ssl-config.js');
  const read = { ...(await readSslConfig(sslConfigFile)), ...tls.version };
  return { ...of(read), grpc: read };
}

/**
 * Errors: InvalidArgument: HTTP and gRPC share a port, but only one of them has these TLS settings.
 */
export function checkSharedTls(config: Config, { http, grpc }: TransportTls): void {
  if (!sharesPort(config) || isDeepStrictEqual(http, grpc)) return;
  const text = `--grpc-port: expected the same TLS settings for HTTP and gRPC, which share port`;
  throw new ServalError(ErrorCode.InvalidArgument, `${text} ${config.grpcPort}`);
}
