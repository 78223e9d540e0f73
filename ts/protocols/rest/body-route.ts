// REST routes that are answered later: from a whole body, or from none. Documents and control
// requests, never inference; the listener's thread, which only waits meanwhile.
import { ErrorCode, ServalError } from '../../errors.js';
import {
  headerName,
  type HeldBytes,
  type HttpExchange,
  type RequestHead,
  type Route,
} from '../../transport/listener.js';
import { bodyCoding, checkedLength, overLimit, unpack, type Coding } from './content-encoding.js';

const CONTENT_LENGTH = headerName('content-length');
const CONTENT_ENCODING = headerName('content-encoding');

/** What is sent when all went well. */
export interface Answer {
  readonly contentType: string;
  readonly body: Uint8Array | string;
}

/** Sends an error in the protocol's own form. */
export type Fail = (exchange: HttpExchange, code: ErrorCode, message: string) => void;

/** Sends what `make` comes to; errors that are none of ours are Internal. `make` is called at once
 * and may throw too. */
export function answerLater(exchange: HttpExchange, fail: Fail, make: () => Promise<Answer>): void {
  const failed = (error: unknown): void => {
    if (error instanceof ServalError) fail(exchange, error.code, error.message);
    else fail(exchange, ErrorCode.Internal, error instanceof Error ? error.message : String(error));
  };
  try {
    make()
      .then(({ contentType, body }) => exchange.send(200, contentType, body))
      .catch(failed);
  } catch (error) {
    failed(error);
  }
}

/** Needs no body (one that is sent is passed over). `make` reads the head before it first waits. */
export class LaterRoute implements Route {
  constructor(
    private readonly fail: Fail,
    private readonly make: (head: RequestHead) => Promise<Answer>,
  ) {}

  begin(head: RequestHead, exchange: HttpExchange): void {
    answerLater(exchange, this.fail, () => this.make(head));
  }
  data(): void {
    // Not asked for.
  }
  abort(): void {
    // What was begun goes on; its answer is dropped by the exchange.
  }
}

export interface BodyLimits {
  readonly bodyBytesMax: number;
  /** Of what a compressed body may unpack to. */
  readonly inflatedBytesMax: number;
  readonly held: HeldBytes;
}

/** Bytes that one request holds. */
class Counted {
  bytes = 0;
  constructor(private readonly held: HeldBytes) {}

  /** False, and nothing counted, where they do not fit. */
  readonly take = (bytes: number): boolean => {
    if (!this.held.take(bytes)) return false;
    this.bytes += bytes;
    return true;
  };

  release(): void {
    this.held.change(-this.bytes);
    this.bytes = 0;
  }
}

/** Collects and unpacks a body, then asks `make`, which gets memory of its own. The body counts in
 * the budget, twice (its pieces, and the whole), until `make` has answered.
 * Errors: MemoryFull, BodyTooLarge, MalformedBody, UnsupportedEncoding. */
export class BodyRoute implements Route {
  readonly #counted = new WeakMap<HttpExchange, Counted>();

  constructor(
    private readonly limits: BodyLimits,
    private readonly fail: Fail,
    private readonly make: (body: Buffer) => Promise<Answer>,
  ) {}

  begin(head: RequestHead, exchange: HttpExchange): void {
    try {
      const length = head.header(CONTENT_LENGTH);
      exchange.contentLength = checkedLength(length, this.limits.bodyBytesMax);
      exchange.contentEncoding = bodyCoding(head.header(CONTENT_ENCODING));
      const counted = new Counted(this.limits.held);
      if (!counted.take(2 * exchange.contentLength)) throw noMemory(exchange.contentLength);
      this.#counted.set(exchange, counted);
      exchange.chunks = [];
    } catch (error) {
      if (!(error instanceof ServalError)) throw error;
      this.fail(exchange, error.code, error.message);
    }
  }

  data(exchange: HttpExchange, chunk: ArrayBuffer, last: boolean): void {
    const { chunks } = exchange;
    if (chunks === undefined) return; // refused already
    const { bodyBytesMax } = this.limits;
    exchange.chunkBytes += chunk.byteLength;
    const counted = this.#counted.get(exchange);
    if (counted === undefined) throw new TypeError('a chunk without its head');
    const more = 2 * exchange.chunkBytes - counted.bytes; // of a body without a stated length
    const error =
      exchange.chunkBytes > bodyBytesMax
        ? overLimit(bodyBytesMax)
        : more > 0 && !counted.take(more)
          ? noMemory(exchange.chunkBytes)
          : undefined;
    if (error !== undefined) {
      exchange.chunks = undefined;
      counted.release();
      this.fail(exchange, error.code, error.message);
      return;
    }
    chunks.push(Buffer.from(new Uint8Array(chunk))); // a copy: the chunk dies on return
    if (!last) return;
    exchange.chunks = undefined;
    const coding = exchange.contentEncoding as Coding;
    answerLater(exchange, this.fail, async () => {
      try {
        return await this.make(await this.#unpacked(coding, Buffer.concat(chunks), counted));
      } finally {
        counted.release();
      }
    });
  }

  abort(exchange: HttpExchange): void {
    if (exchange.chunks === undefined) return; // who answers releases
    exchange.chunks = undefined;
    this.#counted.get(exchange)?.release();
  }

  #unpacked(coding: Coding, body: Buffer, { take }: Counted): Promise<Buffer> {
    if (coding === 'identity') return Promise.resolve(body);
    return unpack(coding, body, { bytesMax: this.limits.inflatedBytesMax, take });
  }
}

function noMemory(bytes: number): ServalError {
  return new ServalError(ErrorCode.MemoryFull, `no memory for a request body of ${bytes} bytes`);
}
