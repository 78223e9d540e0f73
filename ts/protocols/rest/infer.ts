// Common part of the REST inference routes: from head and chunks to one engine call, and from its
// response or error back to the exchange. Hot path; the listener's thread.
import { ErrorCode, reasonOf, ServalError } from '../../base/errors.js';
import { readError, type Missing } from '../../engine/missing.js';
import type { ServerValue } from '../../engine/binding.js';
import type { CompletionTarget, RequestLink } from '../../engine/link.js';
import {
  CONTENT_LENGTH,
  headerName,
  type EngineRoute,
  type HeldBytes,
  type HttpExchange,
  type RequestHead,
  type Route,
} from '../../listeners/http/listener.js';
import { CollectedBody, noMemory } from './body-route.js';
import {
  answerCoding,
  bodyCoding,
  checkedLength,
  PACKED_CODINGS,
  pack,
  type PackedName,
} from './content-encoding.js';

/** Dependencies of every REST protocol. */
export interface RestContext {
  readonly link: RequestLink;
  readonly held: HeldBytes;
  readonly bodyBytesMax: number;
  readonly inflatedBytesMax: number;
}

const REASONS: Readonly<Partial<Record<ErrorCode, ServerValue>>> = {
  [ErrorCode.ModelNotFound]: 'refused_not_found',
  [ErrorCode.ModelNotReady]: 'refused_not_ready',
  [ErrorCode.BodyTooLarge]: 'refused_body_too_large',
  [ErrorCode.InvalidArgument]: 'refused_malformed',
};

/** Counts a request that is refused here; the engine counts those that reach it. */
export function countRefused({ link }: RestContext, code: ErrorCode): void {
  link.serverValue(REASONS[code] ?? 'refused_other', 1, true);
}

/** State of one inference request. Kept with its exchange for the next one. */
export class InferState implements CompletionTarget {
  ticket = 0;
  route: InferRoute;
  /** Inference-Header-Content-Length, -1 = absent. */
  jsonBytes = -1;
  /** Stated body length, 0 = unknown. */
  contentLength = 0;
  acceptEncoding = '';
  contentEncoding = '';
  /** A body that is decompressed here. */
  collected: CollectedBody | undefined = undefined;
  /** Content-Encoding of the response, '' = none. */
  answerCoding = '';
  /** The caller's trace context; '' = none, or tracing is off. */
  traceParent = '';
  traceState = '';

  constructor(
    readonly exchange: HttpExchange,
    route: InferRoute,
  ) {
    this.route = route;
  }

  /** The exchange's state, reset for its next request. */
  static begin(exchange: HttpExchange, route: InferRoute): InferState {
    const { state } = exchange;
    if (!(state instanceof InferState)) {
      const made = new InferState(exchange, route);
      exchange.state = made;
      return made;
    }
    state.ticket = 0;
    state.route = route;
    state.jsonBytes = -1;
    state.contentLength = 0;
    state.acceptEncoding = '';
    state.contentEncoding = '';
    state.answerCoding = '';
    state.collected = undefined;
    state.traceParent = '';
    return state;
  }

  traced(parent: string): void {
    this.#add('traceparent', parent);
  }

  waited(loadMs: number): void {
    this.#add('serval-load-wait-ms', String(loadMs));
  }

  #add(header: string, value: string): void {
    const { exchange } = this;
    exchange.added = [...(exchange.added ?? []), header, value];
  }

  complete(code: number, body: Buffer, jsonBytes: number): void {
    this.route.settle(this, code, body, jsonBytes);
  }
}

/**
 * A longer body never arrives in one piece (uWebSockets.js reads at most this much at a time), so
 * its memory is reserved before any of it is read.
 */
const ONE_PIECE_BYTES_MAX = 524_288;
const CONTENT_ENCODING = headerName('content-encoding');
const TRACE_PARENT = headerName('traceparent');
const TRACE_STATE = headerName('tracestate');

export abstract class InferRoute implements Route {
  /** Present if the model exists. */
  readonly engine: EngineRoute | undefined;

  constructor(
    protected readonly context: RestContext,
    private readonly protocol: number,
    private readonly handle: number,
    model: string,
  ) {
    const failed: EngineRoute['failed'] = (exchange, code, body, missingBytes) => {
      const error = readError(code, body, missingBytes);
      this.fail(exchange, error.code, error.message, error.missing, error.retryAfterS);
    };
    this.engine = handle === 0 ? undefined : { protocol, handle, model, failed };
  }

  /** Reads the protocol's own headers; throws ServalError for a bad one. */
  protected abstract readHead(head: RequestHead, state: InferState): void;
  protected abstract succeed(state: InferState, body: Uint8Array, jsonBytes: number): void;
  /**
   * `missing`: which name in the request the engine could not find. `retryAfterS`: see EngineError.
   */
  protected abstract fail(
    exchange: HttpExchange,
    code: ErrorCode,
    message: string,
    missing?: Missing,
    retryAfterS?: number,
  ): void;

  begin(head: RequestHead, exchange: HttpExchange): void {
    const state = InferState.begin(exchange, this);
    try {
      const { bodyBytesMax, link } = this.context;
      if (link.readsParents) readTraceParent(head, state);
      state.contentLength = checkedLength(head.header(CONTENT_LENGTH), bodyBytesMax);
      state.contentEncoding = head.header(CONTENT_ENCODING);
      if (state.contentEncoding !== '') state.contentEncoding = bodyCoding(state.contentEncoding);
      this.readHead(head, state);
      if (state.contentEncoding === 'zstd') this.#collect(state);
      else if (state.contentLength > ONE_PIECE_BYTES_MAX) this.#open(state);
    } catch (error) {
      if (!(error instanceof ServalError)) throw error;
      countRefused(this.context, error.code);
      this.fail(exchange, error.code, error.message);
    }
  }

  // Hot path: receive. The common case comes first: one chunk, one call.
  data(exchange: HttpExchange, chunk: ArrayBuffer, last: boolean): void {
    const { link } = this.context;
    const state = exchange.state as InferState;
    if (state.collected !== undefined) {
      this.#collected(state, state.collected, chunk, last);
      return;
    }
    const coding =
      state.contentEncoding === '' ? undefined : PACKED_CODINGS.get(state.contentEncoding);
    if (state.ticket === 0 && last && coding === undefined) {
      if (state.traceParent !== '') link.traceParent(state.traceParent, state.traceState);
      if (exchange.asked !== undefined) this.#handOver(exchange);
      link.infer(this.protocol, this.handle, chunk, state.jsonBytes, state);
      return;
    }
    if (state.ticket === 0 && !this.#open(state)) return;
    if (!link.appendBody(chunk, state) || !last) return;
    if (state.traceParent !== '') link.traceParent(state.traceParent, state.traceState);
    if (exchange.asked !== undefined) this.#handOver(exchange);
    if (coding === undefined) link.inferBody(this.protocol, this.handle, state.jsonBytes, state);
    else link.inferPacked(this.protocol, this.handle, state.jsonBytes, coding, state);
  }

  abort(exchange: HttpExchange): void {
    const state = exchange.state as InferState;
    const { collected } = state;
    state.collected = undefined;
    if (collected?.isWhole === false) collected.release();
    this.context.link.cancel(state);
  }

  /** Handles the outcome of a request, immediately or later. `body` is valid until return. */
  settle(state: InferState, code: number, body: Buffer, jsonBytes: number): void {
    if (code !== ErrorCode.Ok) {
      const error = readError(code, body, jsonBytes);
      this.fail(state.exchange, error.code, error.message, error.missing, error.retryAfterS);
      return;
    }
    if (state.acceptEncoding !== '') {
      const coding = answerCoding(state.acceptEncoding);
      if (coding !== 'identity') {
        this.#succeedPacked(state, coding, Buffer.from(body), jsonBytes);
        return;
      }
    }
    this.succeed(state, body, jsonBytes);
  }

  // The engine writes the log line of a request whose model it knows.
  #handOver(exchange: HttpExchange): void {
    if (this.handle !== 0) exchange.asked = undefined;
  }

  // Errors: MemoryFull.
  #collect(state: InferState): void {
    const collected = new CollectedBody('zstd', '', this.context.held);
    if (!collected.take(2 * state.contentLength)) throw noMemory(state.contentLength);
    state.collected = collected;
  }

  // Bodies in codings that the engine does not support are decompressed before it is called.
  #collected(state: InferState, collected: CollectedBody, chunk: ArrayBuffer, last: boolean): void {
    const { bodyBytesMax, inflatedBytesMax, link } = this.context;
    const error = collected.add(chunk, bodyBytesMax);
    if (error !== undefined) {
      state.collected = undefined;
      collected.release();
      countRefused(this.context, error.code);
      this.fail(state.exchange, error.code, error.message);
      return;
    }
    if (!last) return;
    collected.isWhole = true;
    collected
      .unpacked(inflatedBytesMax)
      .then((body) => {
        if (state.collected !== collected) return; // the client left
        state.collected = undefined;
        state.contentLength = body.length;
        if (!this.#open(state) || !link.appendBody(bytesOf(body), state)) return;
        if (state.traceParent !== '') link.traceParent(state.traceParent, state.traceState);
        if (state.exchange.asked !== undefined) this.#handOver(state.exchange);
        link.inferBody(this.protocol, this.handle, state.jsonBytes, state);
      })
      .catch((problem: unknown) => {
        if (state.collected !== collected) return;
        state.collected = undefined;
        const isOurs = problem instanceof ServalError;
        const { code, message } = isOurs
          ? problem
          : new ServalError(ErrorCode.Internal, reasonOf(problem));
        countRefused(this.context, code);
        this.fail(state.exchange, code, message);
      })
      .finally(() => collected.release());
  }

  // Errors: MemoryFull, QueueFull; already answered then.
  #open(state: InferState): boolean {
    const alignedAt = Math.max(state.jsonBytes, 0);
    return this.context.link.openBody(state.contentLength, alignedAt, state);
  }

  #succeedPacked(state: InferState, coding: PackedName, body: Buffer, jsonBytes: number): void {
    const { link } = this.context;
    link.countBytes(body.length, false);
    const packing = pack(coding, body);
    void packing.finally(() => link.countBytes(-body.length, false)).catch(() => undefined);
    packing.then(
      (packed) => {
        state.answerCoding = coding;
        this.succeed(state, packed, jsonBytes);
      },
      (error: ServalError) => this.fail(state.exchange, error.code, error.message),
    );
  }
}

/** The engine reads from an ArrayBuffer's beginning. */
function bytesOf(body: Buffer): ArrayBuffer {
  const { buffer, byteOffset, byteLength } = body;
  if (byteOffset === 0 && byteLength === buffer.byteLength) return buffer as ArrayBuffer;
  return buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer;
}

function readTraceParent(head: RequestHead, state: InferState): void {
  state.traceParent = head.header(TRACE_PARENT);
  if (state.traceParent !== '') state.traceState = head.header(TRACE_STATE);
}

const RETRY_SOON: readonly string[] = ['Retry-After', '1'];

/** Headers that both REST protocols send with an error; undefined = none. */
export function errorHeaders(code: ErrorCode, retryAfterS?: number): readonly string[] | undefined {
  if (retryAfterS !== undefined) return ['Retry-After', String(retryAfterS)];
  return code === ErrorCode.MemoryFull ? RETRY_SOON : undefined;
}

/** The error body of both REST protocols. */
export function errorBody(message: string): string {
  return JSON.stringify({ error: message });
}

/** A route whose response needs no body: documents and errors. Created once per URL and table. */
export class DocumentRoute implements Route {
  constructor(private readonly answer: (head: RequestHead, exchange: HttpExchange) => void) {}

  begin(head: RequestHead, exchange: HttpExchange): void {
    this.answer(head, exchange);
  }
  data(): void {
    throw new TypeError('a document route received a body');
  }
  abort(): void {
    // Documents respond in begin(): nothing can be waiting.
  }
}
