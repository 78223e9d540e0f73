// One gRPC call with Node's own HTTP/2: what a server says of a model, and whether it takes a
// request. Control plane.
import { connect } from 'node:http2';
import { ErrorCode, ServalError } from '../../errors.js';
import { BENCH_CALL_MS, BENCH_REQUEST_BYTES_MAX } from '../../limits.js';
import { PREFIX_BYTES } from '../load/http2.js';

/** By gRPC status; the others are refusals. */
const CODES: Readonly<Record<string, ErrorCode>> = {
  '5': ErrorCode.ModelNotFound,
  '12': ErrorCode.Unimplemented,
  '14': ErrorCode.ModelNotReady,
};

export interface GrpcAddress {
  readonly host: string;
  readonly port: number;
  readonly tlsCa: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

/** `path`: /package.Service/Method; `message`: with its prefix. Answers the message.
 * Errors: what the server says; Unimplemented: it has no such call; ModelNotReady: no answer. */
export function grpcCall(
  { host, port, tlsCa, headers }: GrpcAddress,
  path: string,
  message: Uint8Array,
): Promise<Buffer> {
  const scheme = tlsCa === undefined ? 'http' : 'https';
  const authority = `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const where = `${host}:${port}`;
  return new Promise((resolve, reject) => {
    const session = connect(authority, tlsCa ? { ca: tlsCa } : {});
    const fail = (code: ErrorCode, why: string): void => {
      reject(new ServalError(code, `${where}: ${why}`));
      session.destroy();
    };
    const lost = (why: string): void => fail(ErrorCode.ModelNotReady, `no answer: ${why}`);
    session.on('error', (error) => lost(error.message));
    const stream = session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...headers,
    });
    stream.setTimeout(BENCH_CALL_MS, () => lost(`none within ${BENCH_CALL_MS / 1000} s`));
    const chunks: Buffer[] = [];
    let bytes = 0;
    let status: string | undefined;
    let said = '';
    const take = (fields: Readonly<Record<string, unknown>>): void => {
      if (fields['grpc-status'] === undefined) return;
      status = String(fields['grpc-status']);
      said = decoded(String(fields['grpc-message'] ?? ''));
    };
    stream.on('response', (fields) => {
      take(fields);
      const http = fields[':status'];
      if (http !== 200) fail(ErrorCode.ModelNotReady, `no gRPC: status ${String(http)}`);
    });
    stream.on('trailers', take);
    stream.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > BENCH_REQUEST_BYTES_MAX)
        fail(ErrorCode.BodyTooLarge, `an answer of ${bytes} bytes`);
      else chunks.push(chunk);
    });
    stream.on('error', (error) => lost(error.message));
    stream.on('close', () => {
      if (status === '0') {
        resolve(Buffer.concat(chunks).subarray(PREFIX_BYTES));
        session.close();
        return;
      }
      const code = CODES[status ?? ''] ?? ErrorCode.InvalidArgument;
      fail(code, status === undefined ? 'no answer' : `gRPC status ${status}: ${said}`);
    });
    stream.end(message);
  });
}

function decoded(message: string): string {
  try {
    return decodeURIComponent(message);
  } catch {
    return message;
  }
}
