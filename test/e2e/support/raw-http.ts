// HTTP/1.1 by hand over a TCP socket: the test chooses which bytes are sent in which pieces;
// responses are parsed strictly, so that bytes after a response's end are detected. Test time only.
import { connect, type Socket } from 'node:net';
import { DEADLINE_MS } from './serval-process.js';

export interface RawResponse {
  readonly status: number;
  /** Lower-case names; a repeated header is an error. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

export class RawConnection {
  readonly socket: Socket;
  /** True once the server has closed its side. */
  closed = false;
  private readonly chunks: Buffer[] = [];
  private receivedBytes = 0;
  private waiting: (() => void)[] = [];

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => {
      this.chunks.push(chunk);
      this.receivedBytes += chunk.length;
      this.wake();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => this.end());
    socket.on('end', () => this.end());
  }

  static open(port: number, host = '127.0.0.1'): Promise<RawConnection> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host, port });
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject);
        resolve(new RawConnection(socket));
      });
    });
  }

  /** Settles when the kernel has accepted the bytes. */
  write(bytes: string | Uint8Array): Promise<void> {
    return new Promise((resolve) => {
      this.socket.write(bytes, () => resolve());
    });
  }

  /** One TCP segment each: the next is sent when the kernel has accepted the previous one. */
  async writePieces(pieces: Iterable<string | Uint8Array>): Promise<void> {
    for (const piece of pieces) {
      await this.write(piece);
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    }
  }

  /**
   * Resolves to the next response; `noBody`: one to a HEAD request. Rejects if the connection
   * closes first.
   */
  async response(noBody = false): Promise<RawResponse> {
    const head = await this.until(() => {
      const end = this.received.indexOf('\r\n\r\n');
      return end < 0 ? undefined : end + 4;
    }, 'a response head');
    const [statusLine = '', ...lines] = this.take(head).toString('latin1').trimEnd().split('\r\n');
    const status = /^HTTP\/1\.1 (\d{3}) .+$/.exec(statusLine)?.[1];
    if (status === undefined) throw new Error(`no status line: ${statusLine}`);
    const headers = new Map<string, string>();
    for (const line of lines) {
      const [, name = '', value = ''] = /^([^:]+): ?(.*)$/.exec(line) ?? [];
      if (headers.has(name.toLowerCase())) throw new Error(`header ${name} twice`);
      headers.set(name.toLowerCase(), value);
    }
    const length = Number(headers.get('content-length') ?? 0);
    const none = noBody || status === '100';
    const body = this.take(
      await this.until(
        () => (none ? 0 : this.receivedBytes >= length ? length : undefined),
        'a response body',
      ),
    );
    return { status: Number(status), headers, body };
  }

  /**
   * When the server closes the connection, resolves to the bytes that were received and not read.
   */
  async rest(): Promise<string> {
    await this.until(() => (this.closed ? 0 : undefined), 'the end of the connection', true);
    return this.take(this.receivedBytes).toString('latin1');
  }

  /** Received bytes that belong to no response read so far. */
  get unread(): number {
    return this.receivedBytes;
  }

  close(): void {
    this.socket.destroy();
  }

  /** Everything received and not consumed, in one piece. */
  private get received(): Buffer {
    const whole = this.chunks.length === 1 ? this.chunks[0] : Buffer.concat(this.chunks);
    this.chunks.splice(0, this.chunks.length, whole ?? Buffer.alloc(0));
    return this.chunks[0] ?? Buffer.alloc(0);
  }

  private take(bytes: number): Buffer {
    const { received } = this;
    this.chunks[0] = received.subarray(bytes);
    this.receivedBytes -= bytes;
    return received.subarray(0, bytes);
  }

  private async until(
    found: () => number | undefined,
    what: string,
    afterClose = false,
  ): Promise<number> {
    const limit = setTimeout(() => this.socket.destroy(new Error('too late')), DEADLINE_MS);
    try {
      for (;;) {
        const answer = found();
        if (answer !== undefined) return answer;
        if (this.closed && !afterClose) {
          const text = this.received.toString('latin1').slice(0, 200);
          throw new Error(`connection closed before ${what}; received: ${text}`);
        }
        await new Promise<void>((resolve) => {
          this.waiting.push(resolve);
        });
      }
    } finally {
      clearTimeout(limit);
    }
  }

  private end(): void {
    this.closed = true;
    this.wake();
  }

  private wake(): void {
    for (const resolve of this.waiting.splice(0)) resolve();
  }
}

/**
 * A request as bytes; `headers` are whole lines. Content-Length is added to a body unless they
 * state its framing.
 */
export function requestBytes(
  method: string,
  path: string,
  body: string | Uint8Array = '',
  headers: readonly string[] = [],
): Buffer {
  const bytes = Buffer.from(body);
  const lines = [`${method} ${path} HTTP/1.1`, 'Host: test', ...headers];
  const stated = headers.some((line) => /^(content-length|transfer-encoding):/i.test(line));
  if (!stated && (bytes.length > 0 || method === 'POST')) {
    lines.push(`Content-Length: ${bytes.length}`);
  }
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), bytes]);
}

/** `body` in the chunked coding, in chunks of `size` bytes. */
export function chunked(body: string | Uint8Array, size: number): Buffer {
  const bytes = Buffer.from(body);
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) {
    const chunk = bytes.subarray(at, at + size);
    parts.push(Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n'));
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]);
}

/** Sends one request on a new connection. */
export async function exchange(
  port: number,
  method: string,
  path: string,
  body: string | Uint8Array = '',
  headers: readonly string[] = [],
  host?: string,
): Promise<RawResponse> {
  const connection = await RawConnection.open(port, host);
  try {
    await connection.write(requestBytes(method, path, body, headers));
    return await connection.response(method === 'HEAD');
  } finally {
    connection.close();
  }
}

/** The value of a JSON body. */
export function jsonOf(response: RawResponse): unknown {
  return JSON.parse(response.body.toString('utf8'));
}

/** The text of an error body, which must be {"error": text} and nothing else. */
export function errorOf(response: RawResponse): string {
  const value = jsonOf(response) as Record<string, unknown>;
  if (Object.keys(value).join() !== 'error' || typeof value['error'] !== 'string') {
    throw new Error(`no error body: ${response.body.toString('utf8')}`);
  }
  return value['error'];
}
