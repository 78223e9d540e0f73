// What the REST inference routes have in common: from head and chunks to one engine call, and from
// the answer or error back to the exchange. Hot path; the listener's thread.
import { ErrorCode, ServalError } from '../errors.js';
import { PENDING, type CompletionTarget, type EnginePort } from '../native/port.js';
import {
  headerName, type HttpExchange, type RequestHead, type Route,
} from '../transport/listener.js';
import {
  answerCoding, bodyCoding, checkedLength, overLimit, pack, unpack, type Coding,
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
    this.exchange.ticket = 0;
    this.route.settle(this.exchange, code, body, jsonBytes);
  }
}

const CONTENT_LENGTH = headerName('content-length');
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
  protected abstract fail(exchange: HttpExchange, code: ErrorCode, message: string): void;

  begin(head: RequestHead, exchange: HttpExchange): void {
    try {
      const { bodyBytesMax } = this.context;
      exchange.contentLength = checkedLength(head.header(CONTENT_LENGTH), bodyBytesMax);
      exchange.contentEncoding = head.header(CONTENT_ENCODING);
      if (exchange.contentEncoding !== '') this.#startUnpacking(exchange);
      this.readHead(head, exchange);
    } catch (error) {
      this.failWith(exchange, error);
    }
  }

  // Hot path 2/12. The common case is the last line but two: one chunk, one call.
  data(exchange: HttpExchange, chunk: ArrayBuffer, last: boolean): void {
    if (exchange.chunks !== undefined) {
      this.#collect(exchange, chunk, last);
      return;
    }
    const { port } = this.context;
    if (exchange.ticket === 0 && last) {
      this.#answer(exchange, port.infer(this.protocol, this.handle, chunk, exchange.jsonBytes));
      return;
    }
    if (!this.#append(exchange, chunk) || !last) return;
    const { ticket, jsonBytes } = exchange;
    exchange.ticket = 0;
    this.#answer(exchange, port.inferBody(ticket, this.protocol, this.handle, jsonBytes));
  }

  abort(exchange: HttpExchange): void {
    exchange.chunks = undefined;
    if (exchange.ticket === 0) return;
    this.context.port.cancel(exchange.ticket);
    exchange.ticket = 0;
  }

  /** Takes the outcome of a request, at once or later. `body` is valid until return. */
  settle(exchange: HttpExchange, code: number, body: Buffer, jsonBytes: number): void {
    if (code !== ErrorCode.Ok) {
      this.fail(exchange, code as ErrorCode, body.toString('utf8'));
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

  #append(exchange: HttpExchange, chunk: ArrayBuffer): boolean {
    const { port } = this.context;
    if (exchange.ticket === 0) {
      const opened = port.openBody(exchange.contentLength, Math.max(exchange.jsonBytes, 0));
      if (opened !== ErrorCode.Ok) {
        this.fail(exchange, opened as ErrorCode, port.answer().toString('utf8'));
        return false;
      }
      exchange.ticket = port.ticket();
    }
    const appended = port.appendBody(exchange.ticket, chunk);
    if (appended === ErrorCode.Ok) return true;
    const message = port.answer().toString('utf8');
    port.cancel(exchange.ticket);
    exchange.ticket = 0;
    this.fail(exchange, appended as ErrorCode, message);
    return false;
  }

  #startUnpacking(exchange: HttpExchange): void {
    const coding = bodyCoding(exchange.contentEncoding);
    exchange.contentEncoding = coding;
    if (coding !== 'identity') exchange.chunks = [];
  }

  #collect(exchange: HttpExchange, chunk: ArrayBuffer, last: boolean): void {
    const chunks = exchange.chunks ?? [];
    exchange.chunkBytes += chunk.byteLength;
    if (exchange.chunkBytes > this.context.bodyBytesMax) {
      exchange.chunks = [];
      this.failWith(exchange, overLimit(this.context.bodyBytesMax));
      return;
    }
    chunks.push(Buffer.from(new Uint8Array(chunk))); // a copy: the chunk dies on return
    if (!last) return;
    exchange.chunks = undefined;
    void this.#unpackAndInfer(exchange, Buffer.concat(chunks));
  }

  async #unpackAndInfer(exchange: HttpExchange, packed: Buffer): Promise<void> {
    const { port, inflatedBytesMax } = this.context;
    try {
      const body = await unpack(exchange.contentEncoding as Coding, packed, inflatedBytesMax);
      if (exchange.finished) return; // the client went away meanwhile
      const bytes = new Uint8Array(body).buffer;
      this.#answer(exchange, port.infer(this.protocol, this.handle, bytes, exchange.jsonBytes));
    } catch (error) {
      const known = error instanceof ServalError;
      this.fail(exchange, known ? error.code : ErrorCode.Internal, (error as Error).message);
    }
  }

  #succeedPacked(
    exchange: HttpExchange,
    coding: 'gzip' | 'deflate',
    body: Buffer,
    jsonBytes: number,
  ): void {
    pack(coding, body).then(
      (packed) => {
        exchange.answerCoding = coding;
        this.succeed(exchange, packed, jsonBytes);
      },
      (error: ServalError) => this.fail(exchange, error.code, error.message),
    );
  }
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
