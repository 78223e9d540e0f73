// What a gRPC call looks like to a protocol: raw message bytes in and out, a status, a deadline,
// and the one object per stream. Hot path; one listener's thread. Must not know any protocol or
// registry.
import { reasonOf } from '../../base/errors.js';
import type { CallKind } from '../../access/groups.js';
import type { MissingPart } from '../../base/generated/engine.js';

/** Replies of one stream that may wait for the client before reading from it pauses. */
export const STREAM_BACKLOG_MESSAGES_MAX = 64;
export const STREAM_BACKLOG_BYTES_MAX = 8 * 1024 * 1024;

/** A status text travels percent-encoded in one HTTP/2 trailer; clients take 8 KiB of trailers. */
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
function safeDetails(text: string): string {
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
}

/** Answers a unary call, once. Borrows `message` until return. */
export type GrpcReply = (status: GrpcStatus | null, message?: Buffer | null) => void;

export type GrpcUnaryHandler = (call: GrpcUnaryCall, reply: GrpcReply) => void;

/** One stream as its handler uses it. After `end` or a cancel nothing more is sent. */
export interface GrpcStreamCall {
  /** Milliseconds since 1970, Infinity when the client set none. */
  readonly deadline: number;
  /** Replies that the client has not taken yet. */
  readonly unflushed: number;
  /** Borrows a Buffer until return. */
  write(message: Buffer): void;
  /** Sends the status (null = OK) after all that was written. */
  end(status: GrpcStatus | null): void;
}

/** The handler's side of one stream. None is called after `end` or `onCancel`. */
export interface GrpcStreamHandler {
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

/** A method whose messages the listener hands to the engine: it has no handler. */
export interface EngineMethod {
  readonly streams: boolean;
  /** The engine's kind of request. */
  readonly protocol: number;
  readonly wording: EngineWording;
  /** What is answered where a name is missing: a status, or (of a stream) a message. `body`: the
   * engine's error, of which `missingBytes` say what is missing. */
  readonly explain: (code: number, body: Buffer, missingBytes: number) => GrpcStatus | Buffer;
}

/** The methods of one service, by their plain names; `name` has the package. `engine`: those that
 * the engine answers. */
export interface GrpcService {
  readonly name: string;
  readonly unary: Readonly<Record<string, GrpcUnaryHandler>>;
  readonly streams: Readonly<Record<string, GrpcStreamOpen>>;
  readonly engine?: Readonly<Record<string, EngineMethod>>;
  /** What access to each method is given by; absent: it is no call of any group. */
  readonly calls?: Readonly<Record<string, CallKind>>;
}
