// gRPC's messages in HTTP/2's data: a flag, a length, the bytes. Pure but for compression; Node
// only, any thread. Source: gRPC over HTTP2, Length-Prefixed-Message.
import { deflateSync, gunzipSync, gzipSync, inflateSync } from 'node:zlib';
import { badResponse } from '../core/errors.js';

const HEAD_BYTES = 5;
const COMPRESSED = 1;

export type Encoding = 'gzip' | 'deflate' | 'none';

/** One message as a frame: its head, and its bytes without a copy. */
export function frameOf(message: Uint8Array, encoding: Encoding): readonly Uint8Array[] {
  const isCompressed = encoding !== 'none' && message.length > 0;
  const compress = encoding === 'gzip' ? gzipSync : deflateSync;
  const bytes = isCompressed ? compress(message) : message;
  const head = Buffer.alloc(HEAD_BYTES);
  head[0] = isCompressed ? COMPRESSED : 0;
  head.writeUInt32BE(bytes.length, 1);
  return [head, bytes];
}

/** Collects the chunks of a response; a message is copied once, into its own buffer. */
export class FrameReader {
  readonly #encoding: string;
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  /** The length of the message whose head was read. */
  #length: number | undefined;
  #isCompressed = false;

  /** `encoding`: the response's grpc-encoding. */
  constructor(encoding: string) {
    this.#encoding = encoding;
  }

  /** Whether a message has begun that is not complete. */
  get isInside(): boolean {
    return this.#bytes > 0 || this.#length !== undefined;
  }

  /** Adds a chunk; yields the messages that are complete. Errors: INTERNAL. */
  *push(chunk: Uint8Array): Generator<Uint8Array> {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    for (;;) {
      if (this.#length === undefined) {
        if (this.#bytes < HEAD_BYTES) return;
        const head = this.#take(HEAD_BYTES);
        this.#isCompressed = head[0] === COMPRESSED;
        this.#length = new DataView(head.buffer).getUint32(1);
      }
      if (this.#bytes < this.#length) return;
      const message = this.#take(this.#length);
      this.#length = undefined;
      yield this.#isCompressed ? this.#decompressed(message) : message;
    }
  }

  /** The next bytes, which are there, as a copy. */
  #take(length: number): Uint8Array {
    const taken = new Uint8Array(length);
    let [at, used] = [0, 0];
    while (at < length) {
      const chunk = this.#chunks[used] as Uint8Array;
      const part = chunk.subarray(0, length - at);
      taken.set(part, at);
      at += part.length;
      if (part.length === chunk.length) used += 1;
      else this.#chunks[used] = chunk.subarray(part.length);
    }
    this.#chunks.splice(0, used);
    this.#bytes -= length;
    return taken;
  }

  #decompressed(message: Uint8Array): Uint8Array {
    const decode = { gzip: gunzipSync, deflate: inflateSync }[this.#encoding];
    if (decode !== undefined) return new Uint8Array(decode(message));
    throw badResponse('gRPC', 'the encoding gzip or deflate', this.#encoding);
  }
}
