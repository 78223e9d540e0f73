// Requests over HTTP/2 with Node's own client, and responses in the form of raw-http.ts. Test time
// only.
import {
  connect,
  type ClientHttp2Session,
  type ClientSessionOptions,
  type SecureClientSessionOptions,
} from 'node:http2';
import type { RawResponse } from './raw-http.js';

export interface Http2Request {
  readonly method?: string;
  readonly path: string;
  readonly body?: string | Uint8Array;
  /** "Name: value" each. */
  readonly headers?: readonly string[];
}

/** A connection; `at`: "http://127.0.0.1:8000", or with https. */
export class Http2Client {
  readonly session: ClientHttp2Session;

  constructor(at: string, options: ClientSessionOptions | SecureClientSessionOptions = {}) {
    this.session = connect(at, options);
    this.session.on('error', () => undefined);
  }

  /** Rejects if the stream ends without a response. */
  ask({ method = 'GET', path, body = '', headers = [] }: Http2Request): Promise<RawResponse> {
    return new Promise((resolve, reject) => {
      const fields: Record<string, string | string[]> = { ':method': method, ':path': path };
      for (const line of headers) {
        const colon = line.indexOf(':', 1);
        const name = line.slice(0, colon).toLowerCase();
        const value = line.slice(colon + 1).trim();
        const before = fields[name];
        fields[name] = before === undefined ? value : [before, value].flat();
      }
      const stream = this.session.request(fields, { endStream: body.length === 0 });
      const answer: { status: number; headers: Map<string, string> } = {
        status: 0,
        headers: new Map(),
      };
      const chunks: Buffer[] = [];
      stream.on('response', (response) => {
        answer.status = Number(response[':status']);
        for (const [name, value] of Object.entries(response)) {
          if (!name.startsWith(':')) answer.headers.set(name, String(value));
        }
      });
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('error', reject);
      stream.on('close', () => {
        if (answer.status === 0) reject(new Error(`no answer, code ${stream.rstCode}`));
        else resolve({ ...answer, body: Buffer.concat(chunks) });
      });
      if (body.length > 0) stream.end(body);
    });
  }

  close(): Promise<void> {
    return new Promise((resolve) => this.session.close(resolve));
  }
}

/** Sends one request on a new connection; like exchange() of raw-http.ts. */
export async function exchange2(
  port: number,
  method: string,
  path: string,
  body: string | Uint8Array = '',
  headers: readonly string[] = [],
): Promise<RawResponse> {
  const client = new Http2Client(`http://127.0.0.1:${port}`);
  try {
    return await client.ask({ method, path, body, headers });
  } finally {
    client.session.destroy();
  }
}
