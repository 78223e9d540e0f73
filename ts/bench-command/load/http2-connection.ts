// One HTTP/2 connection that makes calls of one request: what is sent is copied out of a template
// with the stream's number put in; of what comes only the end of each call is looked at. The load's
// threads. Source: RFC 9113 5, 6.
import type { Socket } from 'node:net';
import { openSocket, type Address } from './connect.js';
import { readHeaderBlock } from './header-block.js';
import {
  Flag,
  Frame,
  FRAME_BYTES_FIRST,
  FRAME_HEAD_BYTES,
  frameHead,
  opening,
  Setting,
  WINDOW_FIRST,
  WINDOW_MAX,
  windowUpdate,
} from './http2.js';

const STREAM_MASK = 0x7fffffff;
/** Streams that a peer allows which has not said so. */
const STREAMS_FIRST = 100;
/** The window is opened again when so much has come. */
const WINDOW_AGAIN = 1 << 28;
/** No block of headers is longer. */
const BLOCK_BYTES_MAX = 262_144;
/** What a server is not asked for twice: then it takes another connection. */
const LAST_STREAM = 0x7ffffff0;
const REFUSED = 'the server ended the connection';

export interface CallTemplate {
  /** HEADERS and, where windows allow it, DATA frames of the whole message, of stream 0. */
  readonly block: Buffer;
  readonly message: Buffer;
}

export interface Http2Events {
  readonly connected: () => void;
  readonly answered: (begun: number, error: string | undefined) => void;
  readonly lost: (begun: readonly number[], why: string) => void;
}

interface Call {
  readonly begun: number;
  /** Of the message, what is sent. */
  sent: number;
  window: number;
}

export class Http2Connection {
  readonly #socket: Socket;
  readonly #events: Http2Events;
  readonly #calls = new Map<number, Call>();
  /** Streams whose message is not all sent. */
  readonly #unsent = new Set<number>();
  #template: CallTemplate = { block: Buffer.alloc(0), message: Buffer.alloc(0) };
  /** Headers and message in one piece, where they fit into one DATA frame. */
  #whole: Buffer | undefined;
  #nextStream = 1;
  #window = WINDOW_FIRST;
  #streamWindow = WINDOW_FIRST;
  #frameBytes = FRAME_BYTES_FIRST;
  #streamsMax = STREAMS_FIRST;
  #going = false;
  #received = 0;
  #corked = false;
  // What is being read.
  #rest: Buffer = Buffer.alloc(0);
  #skip = 0;
  #block: Buffer | undefined;
  #blockFlags = 0;
  /** The last trailers that said OK: the next ones are most often the same bytes. */
  #good: Buffer = Buffer.alloc(0);

  constructor(address: Address, events: Http2Events) {
    this.#events = events;
    this.#socket = openSocket(address, {
      connected: () => {
        this.#socket.write(opening());
        events.connected();
      },
      data: (bytes) => this.#read(bytes),
      closed: (why) => events.lost(this.#dropAll(), why),
    });
  }

  get inFlight(): number {
    return this.#calls.size;
  }

  get free(): boolean {
    return !this.#going && this.#calls.size < this.#streamsMax;
  }

  /** What calls send from now on. */
  use(template: CallTemplate): void {
    this.#template = template;
    this.#whole = undefined;
  }

  call(begun: number): void {
    const stream = this.#nextStream;
    this.#nextStream += 2;
    if (this.#nextStream >= LAST_STREAM) this.#going = true;
    const call: Call = { begun, sent: 0, window: this.#streamWindow };
    this.#calls.set(stream, call);
    const { block, message } = this.#template;
    const fits = message.length <= Math.min(this.#window, call.window, this.#frameBytes);
    if (fits && this.#unsent.size === 0) {
      const whole = (this.#whole ??= this.#wholeCall());
      const bytes = Buffer.allocUnsafe(whole.length);
      whole.copy(bytes);
      bytes.writeUInt32BE(stream, 5);
      bytes.writeUInt32BE(stream, FRAME_HEAD_BYTES + block.length + 5);
      call.sent = message.length;
      this.#window -= message.length;
      this.#write(bytes);
      return;
    }
    this.#write(frameHead(Frame.Headers, Flag.EndHeaders, stream, block.length));
    this.#write(block);
    this.#unsent.add(stream);
    this.#sendMore();
  }

  /** What is under way is not heard of. */
  drop(): void {
    this.#dropAll();
    this.#socket.destroy();
  }

  #dropAll(): number[] {
    this.#going = true;
    const begun = [...this.#calls.values()].map((call) => call.begun);
    this.#calls.clear();
    this.#unsent.clear();
    return begun;
  }

  #wholeCall(): Buffer {
    const { block, message } = this.#template;
    return Buffer.concat([
      frameHead(Frame.Headers, Flag.EndHeaders, 0, block.length),
      block,
      frameHead(Frame.Data, Flag.EndStream, 0, message.length),
      message,
    ]);
  }

  /** What a turn sends goes out in one piece. */
  #write(bytes: Buffer): void {
    if (!this.#corked) {
      this.#corked = true;
      this.#socket.cork();
      process.nextTick(() => {
        this.#corked = false;
        this.#socket.uncork();
      });
    }
    this.#socket.write(bytes);
  }

  /** Messages as far as windows allow, the oldest first. */
  #sendMore(): void {
    const { message } = this.#template;
    for (const stream of this.#unsent) {
      const call = this.#calls.get(stream);
      while (call !== undefined && call.sent < message.length) {
        const left = message.length - call.sent;
        const bytes = Math.min(left, this.#window, call.window, this.#frameBytes);
        if (bytes <= 0) break;
        const flags = bytes === left ? Flag.EndStream : 0;
        this.#write(frameHead(Frame.Data, flags, stream, bytes));
        this.#write(message.subarray(call.sent, call.sent + bytes));
        call.sent += bytes;
        call.window -= bytes;
        this.#window -= bytes;
      }
      if (call === undefined || call.sent >= message.length) this.#unsent.delete(stream);
      else if (this.#window <= 0) return;
    }
  }

  #read(chunk: Buffer): void {
    let bytes = chunk;
    if (this.#skip > 0) {
      const used = Math.min(this.#skip, bytes.length);
      this.#skip -= used;
      bytes = bytes.subarray(used);
    }
    if (this.#rest.length > 0) {
      bytes = Buffer.concat([this.#rest, bytes]);
      this.#rest = Buffer.alloc(0);
    }
    let at = 0;
    while (bytes.length - at >= FRAME_HEAD_BYTES) {
      const length = bytes.readUIntBE(at, 3);
      const type = bytes[at + 3] ?? 0;
      const isData = type === Frame.Data;
      const payload = at + FRAME_HEAD_BYTES;
      if (!isData && bytes.length - payload < length) break;
      const stream = bytes.readUInt32BE(at + 5) & STREAM_MASK;
      const flags = bytes[at + 4] ?? 0;
      if (isData) this.#data(stream, flags, length);
      else this.#frame(type, flags, stream, bytes.subarray(payload, payload + length));
      const end = payload + length;
      this.#skip = Math.max(0, end - bytes.length);
      at = Math.min(end, bytes.length);
    }
    if (at < bytes.length) this.#rest = Buffer.from(bytes.subarray(at));
    if (this.#rest.length > BLOCK_BYTES_MAX) this.#fail('a frame that is too long');
  }

  #data(stream: number, flags: number, length: number): void {
    this.#received += length;
    if (this.#received >= WINDOW_AGAIN) {
      this.#write(windowUpdate(0, this.#received));
      this.#received = 0;
    }
    if ((flags & Flag.EndStream) !== 0) this.#end(stream, 'an answer without trailers');
  }

  #frame(type: number, flags: number, stream: number, payload: Buffer): void {
    switch (type) {
      case Frame.Headers: {
        const padded = (flags & Flag.Padded) !== 0 ? 1 : 0;
        const begin = padded + ((flags & Flag.Priority) !== 0 ? 5 : 0);
        const end = payload.length - (padded === 1 ? (payload[0] ?? 0) : 0);
        this.#blockFlags = flags;
        return this.#headers(stream, flags, payload.subarray(begin, Math.max(begin, end)));
      }
      case Frame.Continuation:
        return this.#headers(stream, flags, payload);
      case Frame.Reset:
        return this.#end(stream, `the server reset the stream (${word(payload, 0)})`);
      case Frame.Settings:
        return this.#settings(flags, payload);
      case Frame.Ping:
        if ((flags & Flag.Ack) === 0) {
          this.#write(frameHead(Frame.Ping, Flag.Ack, 0, payload.length));
          this.#write(Buffer.from(payload));
        }
        return;
      case Frame.GoAway:
        return this.#goAway(payload);
      case Frame.WindowUpdate:
        return this.#wider(stream, word(payload, 0) & STREAM_MASK);
      default:
    }
  }

  #headers(stream: number, flags: number, part: Buffer): void {
    const block = this.#block === undefined ? part : Buffer.concat([this.#block, part]);
    if ((flags & Flag.EndHeaders) === 0) {
      this.#block = Buffer.from(block);
      if (block.length > BLOCK_BYTES_MAX) this.#fail('headers that are too long');
      return;
    }
    this.#block = undefined;
    if ((this.#blockFlags & Flag.EndStream) === 0) return;
    if (block.equals(this.#good)) return this.#end(stream, undefined);
    const error = errorOf(block);
    if (error === undefined) this.#good = Buffer.from(block);
    this.#end(stream, error);
  }

  #end(stream: number, error: string | undefined): void {
    const call = this.#calls.get(stream);
    if (call === undefined) return;
    this.#calls.delete(stream);
    if (this.#unsent.delete(stream)) {
      // An answer before the whole request: the stream is of no use any more.
      const cancel = Buffer.from([0, 0, 0, 8]);
      this.#write(Buffer.concat([frameHead(Frame.Reset, 0, stream, 4), cancel]));
    }
    this.#events.answered(call.begun, error);
  }

  #settings(flags: number, payload: Buffer): void {
    if ((flags & Flag.Ack) !== 0) return;
    for (let at = 0; at + 6 <= payload.length; at += 6) {
      const value = word(payload, at + 2);
      const name = payload.readUInt16BE(at);
      if (name === Setting.MaxStreams) this.#streamsMax = value;
      else if (name === Setting.MaxFrame) this.#frameBytes = value;
      else if (name === Setting.InitialWindow) {
        for (const call of this.#calls.values()) call.window += value - this.#streamWindow;
        this.#streamWindow = value;
      }
    }
    this.#write(frameHead(Frame.Settings, Flag.Ack, 0, 0));
    this.#sendMore();
  }

  #wider(stream: number, bytes: number): void {
    if (stream === 0) this.#window = Math.min(WINDOW_MAX, this.#window + bytes);
    const call = this.#calls.get(stream);
    if (call !== undefined) call.window = Math.min(WINDOW_MAX, call.window + bytes);
    if (this.#unsent.size > 0) this.#sendMore();
  }

  /** Calls above the last stream that counts are lost; the others are waited for. */
  #goAway(payload: Buffer): void {
    this.#going = true;
    const last = word(payload, 0) & STREAM_MASK;
    for (const stream of [...this.#calls.keys()]) {
      if (stream > last) this.#end(stream, REFUSED);
    }
    if (this.#calls.size === 0) this.#socket.destroy();
  }

  #fail(what: string): void {
    this.#socket.destroy(new Error(`the server sent ${what}`));
  }
}

/** undefined: grpc-status is 0. */
function errorOf(block: Buffer): string | undefined {
  const fields = readHeaderBlock(block);
  if (fields === undefined) return 'headers that cannot be read';
  const status = fields.get('grpc-status');
  if (status === '0') return undefined;
  if (status === undefined) return `no gRPC answer, status ${fields.get(':status') ?? 'unknown'}`;
  return `gRPC status ${status}: ${decoded(fields.get('grpc-message') ?? '')}`;
}

function decoded(message: string): string {
  try {
    return decodeURIComponent(message);
  } catch {
    return message;
  }
}

const word = (bytes: Buffer, at: number): number =>
  at + 4 <= bytes.length ? bytes.readUInt32BE(at) : 0;
