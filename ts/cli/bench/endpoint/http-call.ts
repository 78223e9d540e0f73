// Makes one REST call, to get a model's metadata and to check that the server accepts a request.
// Control plane.
import { request as plainRequest } from 'node:http';
import { ErrorCode, reasonOf, ServalError } from '../../../base/errors.js';
import { BENCH_REQUEST_BYTES_MAX } from '../../../base/limits.js';
import { echo } from '../../../base/text.js';

export interface HttpCall {
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
  /** HTTP/2 in place of HTTP/1.1. */
  readonly isHttp2: boolean;
  /** PEM; "" = the roots that Node trusts. */
  readonly tlsCa: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** The request is a POST if set. */
  readonly body?: Uint8Array;
}

/** The body of the response. Errors: the server's; ModelNotReady: no response. */
export async function httpCall(call: HttpCall): Promise<Buffer> {
  if (call.isHttp2) return overHttp2(call);
  const { host, port, isTls, tlsCa, path, headers, timeoutMs, body } = call;
  const request = isTls ? (await import('node:https')).request : plainRequest;
  const where = `${host}:${port}${path}`;
  return new Promise((resolve, reject) => {
    const lost = (why: string): void => {
      reject(new ServalError(ErrorCode.ModelNotReady, `${where}: no response: ${why}`));
    };
    const sent = request(
      {
        host,
        port,
        path,
        method: body === undefined ? 'GET' : 'POST',
        headers: { ...headers, ...(body && { 'content-length': body.length }) },
        agent: false,
        ...(tlsCa !== '' && { ca: tlsCa }),
      },
      (answer) => {
        const chunks: Buffer[] = [];
        let bytes = 0;
        answer.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes > BENCH_REQUEST_BYTES_MAX) sent.destroy(new Error(`${bytes} bytes`));
          else chunks.push(chunk);
        });
        answer.on('error', (error) => lost(error.message));
        answer.on('end', () => {
          const all = Buffer.concat(chunks);
          const { statusCode: status = 0 } = answer;
          if (status === 200) resolve(all);
          else reject(refusal(where, status, all));
        });
      },
    );
    sent.setTimeout(timeoutMs, () => sent.destroy(new Error(`none within ${timeoutMs / 1000} s`)));
    sent.on('error', (error) => lost(error.message));
    sent.end(body);
  });
}

async function overHttp2(call: HttpCall): Promise<Buffer> {
  const { http2Call } = await import('./http2-call.js');
  const { host, port, isTls, tlsCa, path, headers, timeoutMs, body } = call;
  const where = `${host}:${port}${path}`;
  const head = { ':method': body === undefined ? 'GET' : 'POST', ':path': path, ...headers };
  const address = { host, port, tlsCa: isTls ? tlsCa : undefined };
  const answer = await http2Call(address, head, body, timeoutMs).catch((error: unknown) => {
    const text = `${where}: no response over HTTP/2: ${reasonOf(error)}`;
    throw new ServalError(ErrorCode.ModelNotReady, text);
  });
  if (answer.status !== 200) throw refusal(where, answer.status, answer.body);
  return answer.body;
}

function refusal(where: string, status: number, body: Buffer): ServalError {
  const text = body.toString('utf8', 0, 65_536);
  let message = echo(text);
  try {
    const { error } = JSON.parse(text) as { readonly error?: unknown };
    if (typeof error === 'string') message = error;
  } catch {
    // It is not JSON.
  }
  const code = status === 404 ? ErrorCode.ModelNotFound : ErrorCode.InvalidArgument;
  const own = status >= 500 ? ErrorCode.BackendFailed : code;
  return new ServalError(own, `${where}: status ${status}: ${message}`);
}
