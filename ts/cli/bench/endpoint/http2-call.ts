// Makes one call with Node's HTTP/2 client, by prior knowledge or ALPN: shared by gRPC calls and
// REST over HTTP/2. Control plane.
import { connect } from 'node:http2';
import { BENCH_REQUEST_BYTES_MAX } from '../../../base/limits.js';

export interface Http2Address {
  readonly host: string;
  readonly port: number;
  /** PEM, "" = the roots that Node trusts; undefined: no TLS. */
  readonly tlsCa: string | undefined;
}

export interface Http2Answer {
  readonly status: number;
  /** Headers and trailers, by name. */
  readonly fields: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

/** `headers`: with :method and :path. Errors: Error: no complete response arrived in time. */
export function http2Call(
  { host, port, tlsCa }: Http2Address,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array | undefined,
  timeoutMs: number,
): Promise<Http2Answer> {
  const scheme = tlsCa === undefined ? 'http' : 'https';
  const authority = `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`;
  return new Promise((resolve, reject) => {
    const session = connect(authority, tlsCa ? { ca: tlsCa } : {});
    const lost = (error: Error): void => {
      reject(error);
      session.destroy();
    };
    session.on('error', lost);
    const stream = session.request(headers, { endStream: body === undefined });
    stream.setTimeout(timeoutMs, () => lost(new Error(`none within ${timeoutMs / 1000} s`)));
    const chunks: Buffer[] = [];
    const fields = new Map<string, string>();
    let bytes = 0;
    let status = 0;
    const take = (more: Readonly<Record<string, unknown>>): void => {
      for (const [name, value] of Object.entries(more)) fields.set(name, String(value));
    };
    stream.on('response', (more) => {
      take(more);
      status = more[':status'] ?? 0;
    });
    stream.on('trailers', take);
    stream.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > BENCH_REQUEST_BYTES_MAX) lost(new Error(`${bytes} bytes`));
      else chunks.push(chunk);
    });
    stream.on('error', lost);
    stream.on('close', () => {
      resolve({ status, fields, body: Buffer.concat(chunks) });
      session.close();
    });
    if (body !== undefined) stream.end(body);
  });
}
