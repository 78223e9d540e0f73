// Makes one gRPC call with Node's HTTP/2 client, to get a model's metadata and to check that the
// server accepts a request. Control plane.
import { GRPC_TYPE } from '../../../base/media-types.js';
import { ErrorCode, GrpcCode, reasonOf, ServalError } from '../../../base/errors.js';
import { BENCH_CALL_MS } from '../../../base/limits.js';
import { PREFIX_BYTES } from '../request/message-prefix.js';
import { http2Call } from './http2-call.js';

/** By gRPC status; the others are refusals. */
const CODES: Readonly<Record<string, ErrorCode>> = {
  [GrpcCode.NOT_FOUND]: ErrorCode.ModelNotFound,
  [GrpcCode.UNIMPLEMENTED]: ErrorCode.Unimplemented,
  [GrpcCode.UNAVAILABLE]: ErrorCode.ModelNotReady,
};

export interface GrpcAddress {
  readonly host: string;
  readonly port: number;
  readonly tlsCa: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * `path`: /package.Service/Method; `message`: with its prefix. Returns the response message.
 * Errors: the server's; Unimplemented: it has no such call; ModelNotReady: no response.
 */
export async function grpcCall(
  { host, port, tlsCa, headers }: GrpcAddress,
  path: string,
  message: Uint8Array,
): Promise<Buffer> {
  const fail = (code: ErrorCode, why: string): ServalError =>
    new ServalError(code, `${host}:${port}: ${why}`);
  const head = {
    ':method': 'POST',
    ':path': path,
    'content-type': GRPC_TYPE,
    te: 'trailers',
    ...headers,
  };
  const address = { host, port, tlsCa };
  const answer = await http2Call(address, head, message, BENCH_CALL_MS).catch((error: unknown) => {
    throw fail(ErrorCode.ModelNotReady, `no response: ${reasonOf(error)}`);
  });
  if (answer.status !== 200) {
    throw fail(ErrorCode.ModelNotReady, `not a gRPC server: HTTP status ${answer.status}`);
  }
  const status = answer.fields.get('grpc-status');
  if (status === `${GrpcCode.OK}`) return answer.body.subarray(PREFIX_BYTES);
  if (status === undefined) throw fail(ErrorCode.InvalidArgument, 'no response');
  const said = decoded(answer.fields.get('grpc-message') ?? '');
  const code = CODES[status] ?? ErrorCode.InvalidArgument;
  throw fail(code, `gRPC status ${status}: ${said}`);
}

function decoded(message: string): string {
  try {
    return decodeURIComponent(message);
  } catch {
    return message;
  }
}
