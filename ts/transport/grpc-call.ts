// What a gRPC call looks like to a protocol: raw message bytes in and out, a status, a deadline,
// and the one object per stream. Hot path; one listener's thread. Must not know any protocol or
// registry.
import { reasonOf } from '../errors.js';
import type { Metadata, ServerDuplexStream } from '@grpc/grpc-js';
import type { CallKind } from '../access/groups.js';
import type { MissingPart } from '../model/generated/engine.js';

/** Replies of one stream that may wait for the client before reading from it pauses. */
export const STREAM_BACKLOG_MESSAGES_MAX = 64;
export const STREAM_BACKLOG_BYTES_MAX = 8 * 1024 * 1024;

/** A status text travels in one HTTP/2 trailer, as grpc-js makes it with encodeURI; clients take
 * 8 KiB of trailers. */
const DETAILS_BYTES_MAX = 4096;
const DETAILS_ENCODED_BYTES_MAX = 6144;

const CODE_UNAVAILABLE = 14;
const CODE_INTERNAL = 13;
const CUT_MARK = '...';

/**
 * `text` as a status may carry it: at most 4096 bytes of UTF-8 and 6144 bytes in its
 * percent-encoded form, else cut between characters and ending in "...". Lone surrogates, which
 * have no UTF-8, become U+FFFD.
 */
export function safeDetails(text: string): string {
  // Nothing longer can fit, and a text of gigabytes is not walked to its end.
  const head = Buffer.from(text.slice(0, DETAILS_BYTES_MAX + 1)).toString();
  if (
    Buffer.byteLength(head) <= DETAILS_BYTES_MAX &&
    encodeURI(head).length <= DETAILS_ENCODED_BYTES_MAX
  )
    return head;
  let bytes = CUT_MARK.length;
  let encodedBytes = CUT_MARK.length;
  let units = 0;
  for (const character of head) {
    bytes += Buffer.byteLength(character);
    encodedBytes += encodeURI(character).length;
    if (bytes > DETAILS_BYTES_MAX || encodedBytes > DETAILS_ENCODED_BYTES_MAX) break;
    units += character.length;
  }
  return head.slice(0, units) + CUT_MARK;
}

/** How a call failed. `code` is a canonical gRPC code other than OK; `details` is cut to what a
 * trailer carries. */
export class GrpcStatus {
  readonly code: number;
  readonly details: string;

  constructor(code: number, details: string) {
    this.code = code;
    this.details = safeDetails(details);
  }
}

/** The status of a handler that threw, which is our bug. */
export function thrownStatus(error: unknown): GrpcStatus {
  const text = reasonOf(error);
  return new GrpcStatus(CODE_INTERNAL, `internal error: ${text}`);
}

/** The status of a call that ends because the server stops. */
export function drainStatus(): GrpcStatus {
  return new GrpcStatus(CODE_UNAVAILABLE, 'the server is shutting down');
}

/**
 * One unary call. `request` stays valid as long as it is referenced. 'cancelled' also fires once
 * after a call that was answered. `getDeadline()`: milliseconds since 1970 or Infinity; past it the
 * client gets DEADLINE_EXCEEDED and 'cancelled' fires.
 */
export interface GrpcUnaryCall {
  readonly request: Buffer;
  getDeadline(): Date | number;
  on(event: 'cancelled', listener: () => void): unknown;
  /** What the client sent; absent: nobody asks here. */
  readonly metadata?: { get(name: string): readonly (string | Buffer)[] } | undefined;
}

/** Answers a unary call, once. Borrows `message` until return. */
export type GrpcReply = (status: GrpcStatus | null, message?: Buffer | null) => void;

/** Sends a header of a call's answer, before it. */
export type GrpcSendHead = (call: GrpcUnaryCall, name: string, value: string) => void;

/** `sendHead`: absent where the answer's head is none of the handler's. */
export type GrpcUnaryHandler = (
  call: GrpcUnaryCall,
  reply: GrpcReply,
  sendHead?: GrpcSendHead,
) => void;

const FRAME_HEAD_BYTES = 5;

/** A copy of a reply that is sent later, as it travels: behind five bytes of head, so that grpc-js
 * need not copy it again. */
export class KeptMessage {
  readonly framed: Buffer;

  constructor(message: Buffer) {
    this.framed = Buffer.allocUnsafe(FRAME_HEAD_BYTES + message.length);
    this.framed[0] = 0; // not compressed
    this.framed.writeUInt32BE(message.length, 1);
    message.copy(this.framed, FRAME_HEAD_BYTES);
  }

  get length(): number {
    return this.framed.length - FRAME_HEAD_BYTES;
  }

  get message(): Buffer {
    return this.framed.subarray(FRAME_HEAD_BYTES);
  }
}

/** Where one stream's replies are counted. */
export interface StreamMemory {
  /** Counts a reply that is going to wait; false: there is no room, and the stream was reset. */
  keep(bytes: number): boolean;
}

/** One stream as its handler uses it. After `end` or a cancel nothing more is sent. */
export interface GrpcStreamCall {
  /** Milliseconds since 1970, Infinity when the client set none. */
  readonly deadline: number;
  /** What the client sent; absent: nobody asks here. */
  readonly metadata?: GrpcUnaryCall['metadata'];
  /** Sends a header ahead of the first reply; once, before that is written. Absent: nobody asks
   * here. */
  sendHead?(name: string, value: string): void;
  /** Replies that the client has not taken yet. */
  readonly unflushed: number;
  /** A copy of a reply whose turn to be written has not come. undefined: there is no memory for
   * it, and the stream is over (`onCancel` was called). */
  keep(message: Buffer): KeptMessage | undefined;
  /** Borrows a Buffer until return. */
  write(message: Buffer | KeptMessage): void;
  /** Sends the status (null = OK) after all that was written. */
  end(status: GrpcStatus | null): void;
  /** Stops and starts `onMessage`. Up to 16 messages more wait in the transport. */
  setPaused(paused: boolean): void;
}

/** The handler's side of one stream. None is called after `end` or `onCancel`. */
export interface GrpcStreamHandler {
  /** Its requests that the engine has; absent: none ever. */
  readonly running?: number;
  onMessage(message: Buffer): void;
  /** The client sends no more messages. */
  onHalfClose(): void;
  /** The client went away or the deadline passed. */
  onCancel(): void;
  /** One written reply has left. */
  onFlushed(): void;
  /** The server stops: finish what was begun, then `end`. */
  onDrain(): void;
}

export type GrpcStreamOpen = (call: GrpcStreamCall) => GrpcStreamHandler;

/** How the engine words the statuses of a protocol's errors. */
export interface EngineWording {
  /** Before the text of QueueFull. */
  readonly queueFull: string;
  /** Of UTF-8; a longer text is cut, and marked. */
  readonly bytesMax: number;
  readonly cutMark: string;
  /** What is said where names are missing and the registry knows no more; other names, and those of
   * which it does, are the method's to explain. */
  readonly missing: readonly MissingSentence[];
}

/** A sentence with {model}, {version} and {label} in it. */
export interface MissingSentence {
  readonly part: MissingPart;
  /** Of requests that name a version. */
  readonly versioned: boolean;
  readonly text: string;
}

/** The error's own text, cut as every status is. */
export const PLAIN_WORDING: EngineWording = {
  queueFull: '',
  bytesMax: DETAILS_BYTES_MAX,
  cutMark: CUT_MARK,
  missing: [],
};

/** A method that does nothing but hand its messages to the engine, so that a native listener need
 * not ask its handler. */
export interface EngineMethod {
  /** The engine's kind of request. */
  readonly protocol: number;
  readonly wording: EngineWording;
  /** What is answered where a name is missing: a status, or (of a stream) a message. `body`: the
   * engine's error, of which `missingBytes` say what is missing. */
  readonly explain: (code: number, body: Buffer, missingBytes: number) => GrpcStatus | Buffer;
}

/** The methods of one service, by their plain names; `name` has the package. `engine`: those of
 * them that a native listener answers by itself. */
export interface GrpcService {
  readonly name: string;
  readonly unary: Readonly<Record<string, GrpcUnaryHandler>>;
  readonly streams: Readonly<Record<string, GrpcStreamOpen>>;
  readonly engine?: Readonly<Record<string, EngineMethod>>;
  /** What access to each method is given by; absent: it is no call of any group. */
  readonly calls?: Readonly<Record<string, CallKind>>;
}

/** One stream between grpc-js and its handler: back-pressure, copies, and a throw kept inside. */
export class GrpcStream implements GrpcStreamCall {
  readonly deadline: number;
  readonly metadata: NonNullable<GrpcUnaryCall['metadata']>;
  private readonly stream: ServerDuplexStream<Buffer, Buffer | KeptMessage>;
  private readonly handler: GrpcStreamHandler;
  private readonly memory: StreamMemory | undefined;
  /** Bytes of each reply that has not left, oldest first. */
  private readonly unflushedReplies: number[] = [];
  private unflushedBytes = 0;
  private ended = false;
  private pausedByHandler = false;

  constructor(
    stream: ServerDuplexStream<Buffer, Buffer | KeptMessage>,
    open: GrpcStreamOpen,
    memory?: StreamMemory,
    private readonly headOf?: (name: string, value: string) => Metadata,
  ) {
    this.stream = stream;
    this.memory = memory;
    this.deadline = Number(stream.getDeadline());
    this.metadata = stream.metadata;
    this.handler = open(this);
    stream.on('data', (message: Buffer) => {
      if (this.ended) return;
      try {
        this.handler.onMessage(message);
      } catch (error) {
        this.end(thrownStatus(error));
      }
    });
    stream.on('end', () => this.tell('onHalfClose'));
    stream.on('cancelled', () => {
      this.tell('onCancel');
      this.ended = true;
    });
  }

  /** Its status was sent, or its client is gone. */
  get hasEnded(): boolean {
    return this.ended;
  }

  /** Its requests that the engine has. */
  get running(): number {
    return this.handler.running ?? 0;
  }

  get unflushed(): number {
    return this.unflushedReplies.length;
  }

  sendHead(name: string, value: string): void {
    if (!this.ended && this.headOf !== undefined)
      this.stream.sendMetadata(this.headOf(name, value));
  }

  keep(message: Buffer): KeptMessage | undefined {
    if (this.ended) return undefined;
    if (this.memory?.keep(message.length) !== false) return new KeptMessage(message);
    this.tell('onCancel');
    this.ended = true;
    return undefined;
  }

  write(message: Buffer | KeptMessage): void {
    if (this.ended) return;
    // grpc-js copies a message as it sends it, at once when nothing else is being sent; a message
    // that must wait is copied here, since the caller takes it back on return.
    const atOnce = message instanceof KeptMessage || this.stream.writableLength === 0;
    const kept = atOnce ? message : this.keep(message);
    if (kept === undefined) return;
    this.unflushedReplies.push(message.length);
    this.unflushedBytes += message.length;
    this.stream.write(kept, this.onFlushed);
    this.adjustReading();
  }

  end(status: GrpcStatus | null): void {
    if (this.ended) return;
    this.ended = true;
    if (status === null) this.stream.end();
    else this.stream.emit('error', status);
    this.stream.resume();
  }

  setPaused(paused: boolean): void {
    this.pausedByHandler = paused;
    this.adjustReading();
  }

  /** Ends the call, whose caller is not let in any more. */
  revoke(status: GrpcStatus): void {
    this.tell('onCancel');
    this.end(status);
  }

  /** Tells the handler that the server stops. */
  drain(): void {
    this.tell('onDrain');
  }

  private readonly onFlushed = (): void => {
    this.unflushedBytes -= this.unflushedReplies.shift() ?? 0;
    this.adjustReading();
    this.tell('onFlushed');
  };

  private adjustReading(): void {
    if (this.ended) return;
    const pause =
      this.pausedByHandler ||
      this.unflushed >= STREAM_BACKLOG_MESSAGES_MAX ||
      this.unflushedBytes >= STREAM_BACKLOG_BYTES_MAX;
    if (pause === this.stream.isPaused()) return;
    if (pause) this.stream.pause();
    else this.stream.resume();
  }

  private tell(what: 'onHalfClose' | 'onCancel' | 'onFlushed' | 'onDrain'): void {
    if (this.ended) return;
    try {
      this.handler[what]();
    } catch (error) {
      this.end(thrownStatus(error));
    }
  }
}
