// HTTP calls of the REST clients: address, headers, compression, statuses as errors, retries. Any
// thread of any JavaScript runtime; a sender other than fetch is given by Node's client.
import { ClientError, httpCode, shown } from '../core/errors.js';
import { jsonText, parseJson } from '../core/json.js';
import { Calls, TIMEOUT_MS, retryAfterMs, type Clock } from '../core/retry.js';
import type { CallOptions, RestOptions } from '../core/types.js';

export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | string | undefined;
  readonly signal: AbortSignal;
}

export interface HttpReply {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly body: Uint8Array;
}

/** Rejects with ClientError UNAVAILABLE if there is no response. */
export type Send = (request: HttpRequest) => Promise<HttpReply>;

export interface RestCall {
  readonly method?: string | undefined;
  /** The path after the base address, encoded. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: Uint8Array | string | undefined;
  /** Whether the server may run it twice: the default. */
  readonly isRepeatable?: boolean | undefined;
  /** Statuses other than 200 that are no errors. */
  readonly accepts?: (status: number) => boolean;
}

/** Errors of a connection that was never made: the server did not run the request. */
const UNSENT = /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|CONNECT_TIMEOUT/;
const utf8 = new TextDecoder();

/** The error of a request without a response. */
export function noResponse(url: string, thrown: unknown): ClientError {
  const {
    message,
    code = '',
    cause,
  } = thrown as {
    readonly message?: string;
    readonly code?: string;
    readonly cause?: { readonly message?: string; readonly code?: string };
  };
  const reason = cause?.message || cause?.code || message || code || String(thrown);
  const isUnsent = UNSENT.test(`${code} ${cause?.code} ${reason}`);
  return new ClientError('UNAVAILABLE', `${url}: no response: ${reason}`, {
    retry: isUnsent ? 'unsent' : 'lost',
    cause: thrown,
  });
}

function fetchSender(fetchOf: typeof fetch): Send {
  return async ({ url, body, ...request }) => {
    try {
      const init = body === undefined ? request : { ...request, body: body as string };
      const reply = await fetchOf(url, init);
      const bytes = new Uint8Array(await reply.arrayBuffer());
      return { status: reply.status, headers: reply.headers, body: bytes };
    } catch (error) {
      throw noResponse(url, error);
    }
  };
}

export class RestCaller {
  readonly #base: string;
  readonly #options: RestOptions;
  readonly #calls: Calls;
  readonly #send: Send;

  /** `url`: scheme, host, port and an optional path. Errors: INVALID_ARGUMENT. */
  constructor(url: string, options: RestOptions, send?: Send, clock?: Clock) {
    if (!/^https?:\/\/[^/]/.test(url)) {
      throw new ClientError(
        'INVALID_ARGUMENT',
        `expected a URL with http:// or https://, got ${shown(url)}`,
      );
    }
    this.#base = url.replace(/\/+$/, '');
    this.#options = options;
    this.#calls = new Calls(options, clock);
    this.#send = send ?? fetchSender(options.fetch ?? ((...given) => fetch(...given)));
  }

  /** Options for the further requests of one call, which share its time limit. */
  remaining<O extends CallOptions>(options: O): () => O {
    const { timeoutMs = this.#options.timeoutMs ?? TIMEOUT_MS } = options;
    const end = performance.now() + timeoutMs;
    return () =>
      timeoutMs > 0 ? { ...options, timeoutMs: Math.max(1, end - performance.now()) } : options;
  }

  /** Errors: ClientError with the text of the server's `error`. */
  async call(call: RestCall, options: CallOptions = {}): Promise<HttpReply> {
    const { method = call.body === undefined ? 'GET' : 'POST', isRepeatable = true } = call;
    const where = `${method} ${this.#base}${call.path}`;
    const { apiKey, apiKeyHeader, compression = 'none' } = this.#options;
    const encoding = options.compression ?? compression;
    const headers: Record<string, string> = { ...call.headers, ...this.#options.headers };
    if (apiKey !== undefined) {
      headers[apiKeyHeader ?? 'authorization'] = apiKeyHeader ? apiKey : `Bearer ${apiKey}`;
    }
    let { body } = call;
    if (body !== undefined && encoding !== 'none') {
      body = await compressed(body, encoding);
      headers['content-encoding'] = encoding;
    }
    Object.assign(headers, options.headers);
    const url = this.#base + call.path;
    return this.#calls.run(where, options, isRepeatable, async ({ signal }) => {
      const reply = await this.#send({ method, url, headers, body, signal });
      if (reply.status === 200 || call.accepts?.(reply.status)) return reply;
      throw refused(where, reply);
    });
  }

  /** Errors: also INTERNAL: the response is not JSON. */
  async json(call: RestCall, options?: CallOptions): Promise<unknown> {
    const { body } = await this.call(call, options);
    return parseJson(call.path, utf8.decode(body));
  }

  /** A POST of a JSON document. */
  post(path: string, document: unknown, options?: CallOptions): Promise<unknown> {
    const headers = { 'content-type': 'application/json' };
    return this.json({ path, headers, body: jsonText(document) }, options);
  }
}

async function compressed(body: Uint8Array | string, encoding: 'gzip' | 'deflate') {
  const stream = new Blob([body as string]).stream();
  const packed = new Response(stream.pipeThrough(new CompressionStream(encoding)));
  return new Uint8Array(await packed.arrayBuffer());
}

function refused(where: string, { status, headers, body }: HttpReply): ClientError {
  const text = utf8.decode(body.subarray(0, 65_536));
  let message = shown(text);
  try {
    const { error, detail } = JSON.parse(text) as {
      readonly error?: unknown;
      readonly detail?: unknown;
    };
    const reason = error ?? detail;
    if (reason !== undefined)
      message = typeof reason === 'string' ? reason : JSON.stringify(reason);
  } catch {
    // Proxies send other texts.
  }
  const retry = status === 503 || status === 429 ? 'unsent' : undefined;
  const after = retryAfterMs(headers.get('retry-after'));
  return new ClientError(httpCode(status), `${where}: status ${status}: ${message}`, {
    status,
    retry,
    retryAfterMs: after,
  });
}

/** "/v2/models/NAME[/versions/V]". */
export function modelPath(protocol: string, model: string, version?: string | number): string {
  const inside =
    version === undefined || version === '' ? '' : `/versions/${encodeURIComponent(version)}`;
  return `/${protocol}/models/${encodeURIComponent(model)}${inside}`;
}
