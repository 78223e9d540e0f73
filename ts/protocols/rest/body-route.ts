// REST routes that are answered later: from a whole body, or from none. Documents and control
// requests, never inference; the listener's thread, which only waits meanwhile.
import { ErrorCode, ServalError, reasonOf } from '../../errors.js';
import {
  CONTENT_LENGTH,
  headerName,
  type HeldBytes,
  type HttpExchange,
  type RequestHead,
  type Route,
} from '../../transport/listener.js';
import { bodyCoding, checkedLength, overLimit, unpack, type Coding } from './content-encoding.js';

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
    else fail(exchange, ErrorCode.Internal, reasonOf(error));
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

/** A body that comes, and the bytes that it holds. With its exchange until it is answered. */
class CollectedBody {
  readonly chunks: Buffer[] = [];
  chunkBytes = 0;
  /** Counted. */
  bytes = 0;
  /** Of the client, before it was answered. */
  readonly left = new AbortController();
  /** It has all come: who answers releases it. */
  isWhole = false;

  constructor(
    readonly coding: Coding,
    readonly query: string,
    private readonly held: HeldBytes,
  ) {}

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

/** Collects and unpacks a body, then asks `make`, which gets memory of its own, and is told when
 * the client leaves (`left`, whose reason is Cancelled; it need not look). The body counts in the
 * budget, twice (its pieces, and the whole), until `make` has answered.
 * Errors: MemoryFull, BodyTooLarge, MalformedBody, UnsupportedEncoding. */
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
    const { bodyBytesMax } = this.limits;
    const { chunks, coding } = collected;
    collected.chunkBytes += chunk.byteLength;
    const more = 2 * collected.chunkBytes - collected.bytes; // of a body without a stated length
    const error =
      collected.chunkBytes > bodyBytesMax
        ? overLimit(bodyBytesMax)
        : more > 0 && !collected.take(more)
          ? noMemory(collected.chunkBytes)
          : undefined;
    if (error !== undefined) {
      this.#drop(exchange, collected);
      this.fail(exchange, error.code, error.message);
      return;
    }
    chunks.push(Buffer.from(new Uint8Array(chunk))); // a copy: the chunk dies on return
    if (!last) return;
    collected.isWhole = true;
    answerLater(exchange, this.fail, async () => {
      try {
        const body = await this.#unpacked(coding, Buffer.concat(chunks), collected);
        return await this.make(body, collected.query, collected.left.signal);
      } finally {
        collected.release();
        // An exchange that was left may be another request's by now.
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

  #unpacked(coding: Coding, body: Buffer, { take }: CollectedBody): Promise<Buffer> {
    if (coding === 'identity') return Promise.resolve(body);
    return unpack(coding, body, { bytesMax: this.limits.inflatedBytesMax, take });
  }
}

function noMemory(bytes: number): ServalError {
  return new ServalError(ErrorCode.MemoryFull, `no memory for a request body of ${bytes} bytes`);
}

function clientLeft(): ServalError {
  return new ServalError(ErrorCode.Cancelled, 'the client went away');
}
