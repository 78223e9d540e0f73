// A gRPC call as a protocol sees it: raw message bytes in and out, a status, a deadline, and one
// object per stream. Hot path; one listener's thread. Must not know any protocol or registry.
import { STATUS_BYTES_MAX, STATUS_ENCODED_BYTES_MAX } from '../../base/limits.js';
import { GrpcCode, reasonOf } from '../../base/errors.js';
import type { CallKind } from '../../access/groups.js';
import type { MissingPart } from '../../base/generated/engine.js';

const CUT_MARK = '...';

/**
 * `text` as a status may carry it: at most 4096 bytes of UTF-8 and 6144 bytes in its
 * percent-encoded form, else cut between characters and ending in "...". Lone surrogates, which
 * have no UTF-8, become U+FFFD.
 */
function safeDetails(text: string): string {
  // Nothing longer can fit, and a text of gigabytes is not scanned to its end.
  const head = Buffer.from(text.slice(0, STATUS_BYTES_MAX + 1)).toString();
  if (
    Buffer.byteLength(head) <= STATUS_BYTES_MAX &&
    encodeURI(head).length <= STATUS_ENCODED_BYTES_MAX
  )
    return head;
  let bytes = CUT_MARK.length;
  let encodedBytes = CUT_MARK.length;
  let units = 0;
  for (const character of head) {
    bytes += Buffer.byteLength(character);
    encodedBytes += encodeURI(character).length;
    if (bytes > STATUS_BYTES_MAX || encodedBytes > STATUS_ENCODED_BYTES_MAX) break;
    units += character.length;
  }
  return head.slice(0, units) + CUT_MARK;
}

/**
 * How a call failed. `code` is a canonical gRPC code other than OK; `details` is cut to what fits a
 * trailer.
 */
export class GrpcStatus {
  readonly code: number;
  readonly details: string;

  constructor(code: number, details: string) {
    this.code = code;
    this.details = safeDetails(details);
  }
}

/** The status of a handler that threw, which is a bug in Serval. */
export function thrownStatus(error: unknown): GrpcStatus {
  const text = reasonOf(error);
  return new GrpcStatus(GrpcCode.INTERNAL, `internal error: ${text}`);
}

/** The status of a call that ends because the server stops. */
export function drainStatus(): GrpcStatus {
  return new GrpcStatus(GrpcCode.UNAVAILABLE, 'the server is shutting down');
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

/** One stream as its handler uses it. After `end` or a cancellation nothing more is sent. */
export interface GrpcStreamCall {
  /** Milliseconds since 1970, Infinity if the client set none. */
  readonly deadline: number;
  /** Number of replies that the client has not received yet. */
  readonly unflushed: number;
  /** Borrows a Buffer until return. */
  write(message: Buffer): void;
  /** Sends the status (null = OK) after everything that was written. */
  end(status: GrpcStatus | null): void;
}

/** The handler's side of one stream. None is called after `end` or `onCancel`. */
export interface GrpcStreamHandler {
  onMessage(message: Buffer): void;
  /** The client sends no more messages. */
  onHalfClose(): void;
  /** The client left or the deadline passed. */
  onCancel(): void;
  /** One written reply has been sent. */
  onFlushed(): void;
  /** The server stops: finish pending work, then call `end`. */
  onDrain(): void;
}

export type GrpcStreamOpen = (call: GrpcStreamCall) => GrpcStreamHandler;

/** Texts that the engine uses in the statuses of a protocol's errors. */
export interface EngineWording {
  /** Prefix of the text of QueueFull. */
  readonly queueFull: string;
  /** Maximum UTF-8 bytes; a longer text is cut and marked. */
  readonly bytesMax: number;
  readonly cutMark: string;
  /**
   * Sentences for missing names that the registry knows nothing more about; other names are
   * explained by the method.
   */
  readonly missing: readonly MissingSentence[];
}

/** A sentence with placeholders {model}, {version} and {label}. */
export interface MissingSentence {
  readonly part: MissingPart;
  /** For requests that name a version. */
  readonly versioned: boolean;
  readonly text: string;
}

/** The error's own text, cut like every status. */
export const PLAIN_WORDING: EngineWording = {
  queueFull: '',
  bytesMax: STATUS_BYTES_MAX,
  cutMark: CUT_MARK,
  missing: [],
};

/** A method whose messages the listener passes to the engine: it has no handler. */
export interface EngineMethod {
  readonly streams: boolean;
  /** The engine's kind of request. */
  readonly protocol: number;
  readonly wording: EngineWording;
  /**
   * The response if a name is missing: a status, or (for a stream) a message. `body`: the engine's
   * error, whose first `missingBytes` say what is missing.
   */
  readonly explain: (code: number, body: Buffer, missingBytes: number) => GrpcStatus | Buffer;
}

/**
 * The methods of one service, by their plain names; `name` includes the package. `engine`: those
 * that the engine serves.
 */
export interface GrpcService {
  readonly name: string;
  readonly unary: Readonly<Record<string, GrpcUnaryHandler>>;
  readonly streams: Readonly<Record<string, GrpcStreamOpen>>;
  readonly engine?: Readonly<Record<string, EngineMethod>>;
  /** Access kind of each method; absent: it belongs to no group. */
  readonly calls?: Readonly<Record<string, CallKind>>;
}
