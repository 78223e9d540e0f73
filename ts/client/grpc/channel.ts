// gRPC over node:http2. Node only, any thread; the socket is on the calling thread's event loop.
//
// A client needs only a part of gRPC: one connection, unary calls and one bidirectional stream,
// deadlines, metadata, statuses, compression, keepalive. node:http2 has the transport, and
// ts/protobuf already reads and writes the messages, so this file and frames.ts are all that is
// missing: about 10 KB of the bundle. @grpc/grpc-js would add 400 KB (with its name resolution,
// load balancing, service configuration and channelz), a second retry policy beside the one that
// REST needs, and a copy of each message for its serializer. Load balancing over several servers is
// therefore left to a proxy.
import { connect, constants, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';
import { connect as connectSocket } from 'node:net';
import { ClientError, badResponse, grpcCode, httpCode, shown } from '../core/errors.js';
import { tlsSettings } from '../node/sender.js';
import { FrameReader, frameOf, type Encoding } from './frames.js';
import type { GrpcOptions } from './options.js';

export interface StreamCall {
  readonly path: string;
  readonly signal: AbortSignal;
  /** ms; undefined: no deadline. */
  readonly left: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly encoding: Encoding;
}

const WINDOW_BYTES = 16 * 2 ** 20;
const PING_TIMEOUT_MS = 20_000;
const HTTP_OK = 200;
const TIMEOUT_DIGITS_MAX = 1e8;

type Headers = Readonly<Record<string, string | string[] | number | undefined>>;

export class Channel {
  readonly #url: string;
  readonly #options: GrpcOptions;
  readonly #unixPath: string | undefined;
  #session: Promise<ClientHttp2Session> | undefined;
  #active = 0;
  #isClosed = false;

  /** `target`: "grpc://HOST:PORT", "grpcs://..." (TLS), "HOST:PORT" or "unix:PATH". */
  constructor(target: string, options: GrpcOptions) {
    const [, scheme = 'grpc', rest = ''] =
      /^(?:(grpcs?|https?):\/\/|(?=.))(.*?)\/?$/.exec(target) ?? [];
    this.#unixPath = /^unix:(?:\/\/)?(.+)$/.exec(target)?.[1];
    const isTls = scheme === 'grpcs' || scheme === 'https';
    this.#url = `http${isTls ? 's' : ''}://${this.#unixPath === undefined ? rest : 'localhost'}`;
    if (rest.includes('/') && this.#unixPath === undefined) this.#url = '';
    if (!URL.canParse(this.#url)) {
      const expected = 'grpc://HOST:PORT, grpcs://HOST:PORT, HOST:PORT or unix:PATH';
      throw new ClientError('INVALID_ARGUMENT', `expected ${expected}, got ${shown(target)}`);
    }
    this.#options = options;
  }

  get url(): string {
    return this.#url;
  }

  /** Closes the connection when its calls have ended; further calls fail. */
  close(): void {
    this.#isClosed = true;
    void this.#session?.then(
      (session) => session.close(),
      () => undefined,
    );
  }

  /** Sends one message; returns the one of the response. Errors: ClientError. */
  async unary(message: Uint8Array, call: StreamCall): Promise<Uint8Array> {
    let found: Uint8Array | undefined;
    for await (const one of this.stream([message], call)) {
      if (found !== undefined) throw badResponse(call.path, 'one message', 'several');
      found = one;
    }
    if (found === undefined) throw badResponse(call.path, 'one message', 'none');
    return found;
  }

  /** Sends messages as they are yielded, and yields those of the response. A consumer that stops
   * cancels the call. Errors: ClientError; those of `messages`. */
  async *stream(
    messages: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
    call: StreamCall,
  ): AsyncGenerator<Uint8Array> {
    const session = await this.#connected(call.signal);
    const stream = this.#open(session, call);
    const reply = new Reply(call.path, stream);
    let failure: unknown;
    const sending = send(stream, messages, call.encoding).catch((error: unknown) => {
      failure = error;
      stream.close(constants.NGHTTP2_CANCEL);
    });
    const abort = (): void => stream.close(constants.NGHTTP2_CANCEL);
    call.signal.addEventListener('abort', abort);
    this.#hold(session, 1);
    try {
      if (call.signal.aborted) abort();
      yield* reply.messages();
      if (failure !== undefined) throw failure;
      reply.check();
    } catch (error) {
      throw failure ?? error;
    } finally {
      call.signal.removeEventListener('abort', abort);
      if (!stream.closed) abort();
      this.#hold(session, -1);
      void sending;
    }
  }

  /** Only calls in progress keep the process running. */
  #hold(session: ClientHttp2Session, change: number): void {
    this.#active += change;
    if (session.destroyed) return;
    if (this.#active > 0) session.ref();
    else session.unref();
  }

  #open(session: ClientHttp2Session, call: StreamCall): ClientHttp2Stream {
    const { path, headers, encoding, left } = call;
    try {
      return session.request({
        ':method': 'POST',
        ':path': path,
        ...(this.#options.authority !== undefined && { ':authority': this.#options.authority }),
        'content-type': 'application/grpc',
        te: 'trailers',
        'user-agent': 'serval-client',
        'grpc-accept-encoding': 'identity,gzip,deflate',
        ...(encoding !== 'none' && { 'grpc-encoding': encoding }),
        ...(left !== undefined && { 'grpc-timeout': timeoutText(left) }),
        ...headers,
      });
    } catch (error) {
      throw unavailable(`${this.#url}${path}`, error, 'unsent');
    }
  }

  async #connected(signal: AbortSignal): Promise<ClientHttp2Session> {
    if (this.#isClosed) throw new ClientError('CANCELLED', `${this.#url}: the client is closed`);
    let abort = (): void => undefined;
    const aborted = new Promise<never>((_, reject) => {
      abort = () => reject(new ClientError('CANCELLED', `${this.#url}: cancelled`));
    });
    aborted.catch(() => undefined);
    signal.addEventListener('abort', abort);
    try {
      for (;;) {
        if (signal.aborted) abort();
        this.#session ??= this.#connect();
        const connecting = this.#session;
        const session = await Promise.race([aborted, connecting]);
        if (!session.closed && !session.destroyed) return session;
        // Its events come later.
        if (this.#session === connecting) this.#session = undefined;
      }
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  #connect(): Promise<ClientHttp2Session> {
    const path = this.#unixPath;
    const session = connect(this.#url, {
      ...tlsSettings(this.#options.tls),
      settings: { initialWindowSize: WINDOW_BYTES, enablePush: false },
      ...(path !== undefined && { createConnection: () => connectSocket(path) }),
    });
    const connecting = new Promise<ClientHttp2Session>((resolve, reject) => {
      session.once('connect', () => {
        session.setLocalWindowSize(WINDOW_BYTES);
        this.#keepAlive(session);
        if (this.#active === 0) session.unref();
        resolve(session);
      });
      session.on('error', (error) => reject(unavailable(this.#url, error, 'unsent')));
      session.on('close', () => reject(unavailable(this.#url, 'connection closed', 'unsent')));
    });
    const forget = (): void => {
      if (this.#session === connecting) this.#session = undefined;
    };
    for (const event of ['error', 'close', 'goaway']) session.on(event, forget);
    return connecting;
  }

  #keepAlive(session: ClientHttp2Session): void {
    const { keepalive } = this.#options;
    if (keepalive === undefined) return;
    const { intervalMs, timeoutMs = PING_TIMEOUT_MS } = keepalive;
    const timer = setInterval(() => {
      if (this.#active === 0) return;
      const late = setTimeout(() => {
        session.destroy(new Error(`no response to a ping in ${timeoutMs} ms`));
      }, timeoutMs);
      // Called with an error when the connection ends first.
      if (!session.ping(() => clearTimeout(late))) clearTimeout(late);
    }, intervalMs);
    timer.unref();
    session.once('close', () => clearInterval(timer));
  }
}

function unavailable(where: string, cause: unknown, retry: 'unsent' | 'lost'): ClientError {
  const { message, code } = cause as { readonly message?: string; readonly code?: string };
  const reason = message || code || String(cause);
  return new ClientError('UNAVAILABLE', `${where}: no response: ${reason}`, { retry, cause });
}

async function send(
  stream: ClientHttp2Stream,
  messages: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  encoding: Encoding,
): Promise<void> {
  for await (const message of messages) {
    if (stream.closed || stream.destroyed) return;
    let isFull = false;
    for (const piece of frameOf(message, encoding)) isFull = !stream.write(piece);
    if (isFull) await drained(stream);
  }
  if (!stream.destroyed) stream.end();
}

function drained(stream: ClientHttp2Stream): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      stream.off('drain', done).off('close', done);
      resolve();
    };
    stream.on('drain', done).on('close', done);
    if (stream.closed || !stream.writableNeedDrain) done();
  });
}

/** At most eight digits. Source: gRPC over HTTP2, Timeout. */
function timeoutText(ms: number): string {
  const whole = Math.max(1, Math.ceil(ms));
  return whole < TIMEOUT_DIGITS_MAX ? `${whole}m` : `${Math.ceil(whole / 1000)}S`;
}

/** The response of one call. */
class Reply {
  readonly #path: string;
  readonly #stream: ClientHttp2Stream;
  readonly #ended: Promise<void>;
  #headers: Headers = {};
  #trailers: Headers = {};
  #error: unknown;

  constructor(path: string, stream: ClientHttp2Stream) {
    this.#path = path;
    this.#stream = stream;
    stream.on('response', (headers) => {
      this.#headers = headers;
    });
    stream.on('trailers', (headers) => {
      this.#trailers = headers;
    });
    stream.on('error', (error) => {
      this.#error = error;
    });
    this.#ended = new Promise((resolve) => {
      stream.once('close', resolve);
    });
  }

  async *messages(): AsyncGenerator<Uint8Array> {
    let reader: FrameReader | undefined;
    try {
      for await (const chunk of this.#stream) {
        if (this.#headers[':status'] !== HTTP_OK) continue;
        reader ??= new FrameReader(String(this.#headers['grpc-encoding'] ?? 'identity'));
        yield* reader.push(chunk as Uint8Array);
      }
    } catch (error) {
      if (error instanceof ClientError) throw error;
      this.#error ??= error;
    }
    await this.#ended;
    if (reader?.isInside === true && this.#status === '0') {
      throw badResponse(this.#path, 'whole messages', 'a part of one');
    }
  }

  get #status(): string | undefined {
    const status = this.#trailers['grpc-status'] ?? this.#headers['grpc-status'];
    return status === undefined ? undefined : String(status);
  }

  /** Throws unless the call ended with the status OK. */
  check(): void {
    const http = this.#headers[':status'];
    const status = this.#status;
    if (status === '0') return;
    if (status !== undefined) throw this.#refused(Number(status));
    if (http !== undefined && http !== HTTP_OK) {
      const code = httpCode(Number(http));
      const retry = http === 503 || http === 429 ? 'unsent' : undefined;
      throw new ClientError(code, `${this.#path}: HTTP status ${http}`, { retry });
    }
    const isRefused = this.#stream.rstCode === constants.NGHTTP2_REFUSED_STREAM;
    const cause = this.#error ?? 'the connection was closed';
    throw unavailable(this.#path, cause, isRefused ? 'unsent' : 'lost');
  }

  #refused(status: number): ClientError {
    const trailers = { ...this.#headers, ...this.#trailers };
    const code = grpcCode(status);
    const pushback = trailers['grpc-retry-pushback-ms'];
    const isWanted = pushback === undefined || /^\d+$/.test(String(pushback));
    return new ClientError(code, `${this.#path}: ${code}: ${messageOf(trailers)}`, {
      status,
      retry: code === 'UNAVAILABLE' && isWanted ? 'unsent' : undefined,
      retryAfterMs: isWanted && pushback !== undefined ? Number(pushback) : undefined,
    });
  }
}

function messageOf(trailers: Headers): string {
  const text = String(trailers['grpc-message'] ?? '');
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
