// What the REST inference routes have in common: from head and chunks to one engine call, and from
// the answer or error back to the exchange. Hot path; the listener's thread.
import { ErrorCode, ServalError } from '../../errors.js';
import { readError, type Missing } from '../../native/missing.js';
import { PENDING, type CompletionTarget, type EnginePort } from '../../native/port.js';
import {
  headerName,
  type HttpExchange,
  type RequestHead,
  type Route,
} from '../../transport/listener.js';
import {
  answerCoding,
  bodyCoding,
  checkedLength,
  PACKED_CODINGS,
  pack,
} from './content-encoding.js';

/** What every REST protocol is made with. */
export interface RestContext {
  readonly port: EnginePort;
  readonly bodyBytesMax: number;
  readonly inflatedBytesMax: number;
}

/** A queued request's way back to its exchange. */
class Waiting implements CompletionTarget {
  constructor(
    private readonly route: InferRoute,
    private readonly exchange: HttpExchange,
  ) {}

  complete(code: number, body: Buffer, jsonBytes: number): void {
    const { exchange } = this;
    exchange.answerTicket = exchange.ticket;
    exchange.ticket = 0;
    this.route.settle(exchange, code, body, jsonBytes);
    exchange.answerTicket = 0;
  }
}

const CONTENT_LENGTH = headerName('content-length');
/** A longer body never comes in one piece (uWebSockets.js reads so much at a time): room for it is
 * asked for before any of it is read. */
const ONE_PIECE_BYTES_MAX = 524_288;
const CONTENT_ENCODING = headerName('content-encoding');

export abstract class InferRoute implements Route {
  constructor(
    protected readonly context: RestContext,
    private readonly protocol: number,
    private readonly handle: number,
  ) {}

  /** Reads the protocol's own headers; throws ServalError for a bad one. */
  protected abstract readHead(head: RequestHead, exchange: HttpExchange): void;
  protected abstract succeed(exchange: HttpExchange, body: Uint8Array, jsonBytes: number): void;
  /** `missing`: what the engine has not, of the request's names. */
  protected abstract fail(
    exchange: HttpExchange,
    code: ErrorCode,
    message: string,
    missing?: Missing,
  ): void;

  begin(head: RequestHead, exchange: HttpExchange): void {
    try {
      const { bodyBytesMax } = this.context;
      exchange.contentLength = checkedLength(head.header(CONTENT_LENGTH), bodyBytesMax);
      exchange.contentEncoding = head.header(CONTENT_ENCODING);
      if (exchange.contentEncoding !== '') {
        exchange.contentEncoding = bodyCoding(exchange.contentEncoding);
      }
      this.readHead(head, exchange);
      if (exchange.contentLength > ONE_PIECE_BYTES_MAX) {
        this.#open(exchange);
      }
    } catch (error) {
      this.failWith(exchange, error);
    }
  }

  // Hot path 2/12. The common case is the last line but two: one chunk, one call.
  data(exchange: HttpExchange, chunk: ArrayBuffer, last: boolean): void {
    const { port } = this.context;
    const coding =
      exchange.contentEncoding === '' ? undefined : PACKED_CODINGS.get(exchange.contentEncoding);
    if (exchange.ticket === 0 && last && coding === undefined) {
      this.#answer(exchange, port.infer(this.protocol, this.handle, chunk, exchange.jsonBytes));
      return;
    }
    if (!this.#append(exchange, chunk) || !last) return;
    const { ticket, jsonBytes } = exchange;
    exchange.ticket = 0;
    this.#answer(
      exchange,
      coding === undefined
        ? port.inferBody(ticket, this.protocol, this.handle, jsonBytes)
        : port.inferPacked(ticket, this.protocol, this.handle, jsonBytes, coding),
    );
  }

  abort(exchange: HttpExchange): void {
    if (exchange.ticket === 0) return;
    this.context.port.cancel(exchange.ticket);
    exchange.ticket = 0;
  }

  /** Takes the outcome of a request, at once or later. `body` is valid until return. */
  settle(exchange: HttpExchange, code: number, body: Buffer, jsonBytes: number): void {
    if (code !== ErrorCode.Ok) {
      const error = readError(code, body, jsonBytes);
      this.fail(exchange, error.code, error.message, error.missing);
      return;
    }
    if (exchange.acceptEncoding !== '') {
      const coding = answerCoding(exchange.acceptEncoding);
      if (coding !== 'identity') {
        this.#succeedPacked(exchange, coding, Buffer.from(body), jsonBytes);
        return;
      }
    }
    this.succeed(exchange, body, jsonBytes);
  }

  protected failWith(exchange: HttpExchange, error: unknown): void {
    if (error instanceof ServalError) this.fail(exchange, error.code, error.message);
    else throw error;
  }

  #answer(exchange: HttpExchange, code: number): void {
    const { port } = this.context;
    if (code === PENDING) {
      exchange.ticket = port.expect(new Waiting(this, exchange));
      return;
    }
    this.settle(exchange, code, port.answer(), port.answerJsonBytes());
  }

  // Errors: MemoryFull, QueueFull; answered here.
  #open(exchange: HttpExchange): boolean {
    const { port } = this.context;
    const opened = port.openBody(exchange.contentLength, Math.max(exchange.jsonBytes, 0));
    if (opened === ErrorCode.Ok) exchange.ticket = port.ticket();
    else this.fail(exchange, opened as ErrorCode, port.answer().toString('utf8'));
    return opened === ErrorCode.Ok;
  }

  #append(exchange: HttpExchange, chunk: ArrayBuffer): boolean {
    const { port } = this.context;
    if (exchange.ticket === 0 && !this.#open(exchange)) return false;
    const appended = port.appendBody(exchange.ticket, chunk);
    if (appended === ErrorCode.Ok) return true;
    const message = port.answer().toString('utf8');
    port.cancel(exchange.ticket);
    exchange.ticket = 0;
    this.fail(exchange, appended as ErrorCode, message);
    return false;
  }

  #succeedPacked(
    exchange: HttpExchange,
    coding: 'gzip' | 'deflate',
    body: Buffer,
    jsonBytes: number,
  ): void {
    const { port } = this.context;
    port.countBytes(body.length, false);
    const packing = pack(coding, body);
    void packing.finally(() => port.countBytes(-body.length, false)).catch(() => undefined);
    packing.then(
      (packed) => {
        exchange.answerCoding = coding;
        this.succeed(exchange, packed, jsonBytes);
      },
      (error: ServalError) => this.fail(exchange, error.code, error.message),
    );
  }
}

const RETRY_SOON: readonly string[] = ['Retry-After', '1'];

/** Headers that both REST protocols send with an error; undefined = none. */
export function errorHeaders(code: ErrorCode): readonly string[] | undefined {
  return code === ErrorCode.MemoryFull ? RETRY_SOON : undefined;
}

/** The error body of both REST protocols. */
export function errorBody(message: string): string {
  return JSON.stringify({ error: message });
}

/** A route whose answer needs no body: documents and errors. Made once per URL and table. */
export class DocumentRoute implements Route {
  constructor(private readonly answer: (head: RequestHead, exchange: HttpExchange) => void) {}

  begin(head: RequestHead, exchange: HttpExchange): void {
    this.answer(head, exchange);
  }
  data(): void {
    throw new TypeError('a document route was given a body');
  }
  abort(): void {
    // Documents are answered in begin(): nothing can be waiting.
  }
}
