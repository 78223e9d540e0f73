// REST routes that respond asynchronously: from a whole body, or from none. Documents and control
// requests, never inference; the listener's thread, which only waits meanwhile.
import { ErrorCode, ServalError, reasonOf } from '../../base/errors.js';
import {
  CONTENT_LENGTH,
  headerName,
  type HeldBytes,
  type HttpExchange,
  type RequestHead,
  type Route,
} from '../../listeners/http/listener.js';
import { bodyCoding, checkedLength, overLimit, unpack, type Coding } from './content-encoding.js';

const CONTENT_ENCODING = headerName('content-encoding');

/** The response on success. */
export interface Answer {
  readonly contentType: string;
  readonly body: Uint8Array | string;
}

/** Sends an error in the protocol's own form. `retryAfterS`: see ServalError. */
export type Fail = (
  exchange: HttpExchange,
  code: ErrorCode,
  message: string,
  retryAfterS?: number,
) => void;

/**
 * Sends the result of `make`; foreign errors become Internal. `make` is called immediately and may
 * throw too.
 */
export function answerLater(exchange: HttpExchange, fail: Fail, make: () => Promise<Answer>): void {
  const failed = (error: unknown): void => {
    if (error instanceof ServalError) {
      fail(exchange, error.code, error.message, error.retryAfterS);
    } else {
      fail(exchange, ErrorCode.Internal, reasonOf(error));
    }
  };
  try {
    make()
      .then(({ contentType, body }) => exchange.send(200, contentType, body))
      .catch(failed);
  } catch (error) {
    failed(error);
  }
}

/** Needs no body (one that is sent is ignored). `make` reads the head before its first await. */
export class LaterRoute implements Route {
  constructor(
    private readonly fail: Fail,
    private readonly make: (head: RequestHead) => Promise<Answer>,
  ) {}

  begin(head: RequestHead, exchange: HttpExchange): void {
    answerLater(exchange, this.fail, () => this.make(head));
  }
  data(): void {
    // The body is ignored.
  }
  abort(): void {
    // Running work continues; the exchange drops its response.
  }
}

export interface BodyLimits {
  readonly bodyBytesMax: number;
  /** Maximum size of an uncompressed body. */
  readonly inflatedBytesMax: number;
  readonly held: HeldBytes;
}

/**
 * A body that is being received, and the bytes that it holds. Attached to its exchange until it is
 * answered.
 */
export class CollectedBody {
  readonly chunks: Buffer[] = [];
  chunkBytes = 0;
  /** Bytes counted in the budget. */
  bytes = 0;
  /** Aborted when the client leaves before the response. */
  readonly left = new AbortController();
  /** All of it has arrived: whoever answers releases it. */
  isWhole = false;

  constructor(
    readonly coding: Coding,
    readonly query: string,
    private readonly held: HeldBytes,
  ) {}

  /** Returns false, and counts nothing, if they do not fit. */
  readonly take = (bytes: number): boolean => {
    if (!this.held.take(bytes)) return false;
    this.bytes += bytes;
    return true;
  };

  /**
   * Copies a chunk, which is invalid on return. Returns an error if it cannot: BodyTooLarge,
   * MemoryFull.
   */
  add(chunk: ArrayBuffer, bodyBytesMax: number): ServalError | undefined {
    this.chunkBytes += chunk.byteLength;
    if (this.chunkBytes > bodyBytesMax) return overLimit(bodyBytesMax);
    const more = 2 * this.chunkBytes - this.bytes; // for a body without a stated length
    if (more > 0 && !this.take(more)) return noMemory(this.chunkBytes);
    this.chunks.push(Buffer.from(new Uint8Array(chunk)));
    return undefined;
  }

  /** The whole body, decompressed. Errors: those of unpack(). */
  unpacked(bytesMax: number): Promise<Buffer> {
    const body = Buffer.concat(this.chunks);
    if (this.coding === 'identity') return Promise.resolve(body);
    return unpack(this.coding, body, { bytesMax, take: this.take });
  }

  release(): void {
    this.held.change(-this.bytes);
    this.bytes = 0;
  }
}

/**
 * Collects and decompresses a body, then calls `make`, which receives its own memory and a signal
 * for when the client leaves (`left`, whose reason is Cancelled; using it is optional). The body
 * counts in the budget, twice (its pieces, and the whole), until `make` has settled. Errors:
 * MemoryFull, BodyTooLarge, MalformedBody, UnsupportedEncoding.
 */
export class BodyRoute implements Route {
  constructor(
    private readonly limits: BodyLimits,
    private readonly fail: Fail,
    private readonly make: (body: Buffer, query: string, left: AbortSignal) => Promise<Answer>,
  ) {}

  begin(head: RequestHead, exchange: HttpExchange): void {
    exchange.state = undefined;
    try {
      const length = checkedLength(head.header(CONTENT_LENGTH), this.limits.bodyBytesMax);
      const coding = bodyCoding(head.header(CONTENT_ENCODING));
      const collected = new CollectedBody(coding, head.query(), this.limits.held);
      if (!collected.take(2 * length)) throw noMemory(length);
      exchange.state = collected;
    } catch (error) {
      if (!(error instanceof ServalError)) throw error;
      this.fail(exchange, error.code, error.message);
    }
  }

  data(exchange: HttpExchange, chunk: ArrayBuffer, last: boolean): void {
    const collected = exchange.state;
    if (!(collected instanceof CollectedBody)) return; // refused already
    const error = collected.add(chunk, this.limits.bodyBytesMax);
    if (error !== undefined) {
      this.#drop(exchange, collected);
      this.fail(exchange, error.code, error.message);
      return;
    }
    if (!last) return;
    collected.isWhole = true;
    answerLater(exchange, this.fail, async () => {
      try {
        const body = await collected.unpacked(this.limits.inflatedBytesMax);
        return await this.make(body, collected.query, collected.left.signal);
      } finally {
        collected.release();
        // An aborted exchange may already serve another request.
        if (exchange.state === collected) exchange.state = undefined;
      }
    });
  }

  abort(exchange: HttpExchange): void {
    const { state } = exchange;
    if (!(state instanceof CollectedBody)) return;
    if (state.isWhole) state.left.abort(clientLeft());
    else this.#drop(exchange, state);
  }

  #drop(exchange: HttpExchange, collected: CollectedBody): void {
    exchange.state = undefined;
    collected.release();
  }
}

export function noMemory(bytes: number): ServalError {
  return new ServalError(ErrorCode.MemoryFull, `no memory for a request body of ${bytes} bytes`);
}

function clientLeft(): ServalError {
  return new ServalError(ErrorCode.Cancelled, 'the client went away');
}
