// What grpc-js holds of messages, counted: requests from the moment that their length is known
// until their handler has them, unpacked ones as they grow, answers until the client took them.
// Over the budget a call ends with RESOURCE_EXHAUSTED before its message is read. A connection that
// takes nothing is closed when memory is short. Hot path; the gRPC listener's thread. grpc-js has
// no hooks for any of this: methods of its server calls, of the pinned version, are wrapped;
// test/e2e/resilience/memory-budget.test.ts sees that they work.
import { createGunzip, createInflate } from 'node:zlib';
import { BaseServerInterceptingCall } from '@grpc/grpc-js/build/src/server-interceptors.js';
import { INFLATED_BYTES_MAX } from '../limits.js';
import { KeptMessage, type StreamMemory } from './grpc-call.js';
import { checkFrames, type FramedCall } from './grpc/message-frames.js';
import type { HeldBytes } from './listener.js';

/** Shorter messages are not counted: grpc-js keeps as much for any call. */
const COUNTED_BYTES_MIN = 4096;
/** Received messages from here on are asked for. */
const ASKED_BYTES_MIN = 65_536;
/** Compressed messages that are unpacked at a time; others wait packed. */
const UNPACKED_AT_ONCE = 2;
/** Unpacked messages are asked for piece by piece. Large pieces go back to the system as soon as
 * they are collected; smaller ones wait for the end of the next burst. */
const UNPACKED_PIECE_BYTES = 262_144;
const LARGE_PIECE_BYTES = 1_048_576;
const LARGE_PACKED_BYTES = 65_536;
/** Where answers of all connections are over the limit of one: of one then. */
const SHORT_PART = 16;
/** How long a connection may take nothing of its answers while memory is short. */
const SILENT_MS_MAX = 10_000;
const LOOK_MS = 1000;
const READING_MESSAGE = 2;
const RESOURCE_EXHAUSTED = 8;
const INTERNAL = 13;
/** Of HTTP/2; gRPC clients read RESOURCE_EXHAUSTED. Source: gRPC over HTTP2, "Errors". */
const ENHANCE_YOUR_CALM = 11;

export interface GrpcMemoryOptions {
  readonly held: HeldBytes;
  /** Answers that one connection may leave untaken; over it its new calls are refused. */
  readonly unsentBytesMax: number;
}

interface Session {
  readonly socket: { readonly bytesWritten: number; readonly writableLength: number } | undefined;
  once(event: 'close', listener: () => void): unknown;
  destroy(): void;
}

/** What is used of grpc-js's BaseServerInterceptingCall. */
interface Call extends FramedCall {
  readonly stream: {
    readonly session?: Session;
    readonly closed: boolean;
    once(event: 'close', listener: () => void): unknown;
    close(code: number): void;
  };
  readonly metadataSent: boolean;
  readonly decoder: FramedCall['decoder'] & { readonly readMessageSize: number };
  readonly maxReceiveMessageSize: number;
  decompressMessage(message: Buffer, encoding: string): Buffer | Promise<Buffer>;
  serializeMessage(message: Buffer | KeptMessage): Buffer;
  sendMessage(message: Buffer | KeptMessage, callback: () => void): void;
  account?: Account;
}

interface Connection {
  unsent: number;
  /** When it took something last, as the looks saw it, and how much there was then. */
  tookAtMs: number;
  taken: number;
}

/** Of one call that holds anything countable. */
interface Account {
  readonly connection: Connection;
  received: number;
  unsent: number;
  refused: boolean;
  /** Its stream is gone: nothing more is counted, since nobody would give it back. */
  closed: boolean;
}

/** Of one thread. */
export class GrpcMemory {
  readonly #held: HeldBytes;
  readonly #unsentBytesMax: number;
  readonly #connections = new Map<Session, Connection>();
  /** Of all connections. */
  #unsentBytes = 0;
  #looks: NodeJS.Timeout | undefined;
  #unpacking = 0;
  readonly #waiting: (() => void)[] = [];

  constructor({ held, unsentBytesMax }: GrpcMemoryOptions) {
    this.#held = held;
    this.#unsentBytesMax = unsentBytesMax;
  }

  /** False where the frame is not to be read: the call is refused. */
  mayRead(call: Call): boolean {
    if (call.account?.refused === true) return false;
    if (this.#unsentBytes <= this.#unsentBytesMax) return true;
    const { session } = call.stream;
    const unsent = session === undefined ? 0 : (this.#connections.get(session)?.unsent ?? 0);
    if (unsent <= this.#unsentBytesMax / SHORT_PART) return true;
    this.#refuse(call, `${unsent} bytes of answers wait on this connection to be read`);
    return false;
  }

  /** Behind a frame: asks for the message that it began. */
  read(call: Call): void {
    const { readState, readMessageSize } = call.decoder;
    if (readState !== READING_MESSAGE || readMessageSize < ASKED_BYTES_MIN) return;
    const account = this.#account(call);
    if (account.received > 0 || account.refused) return;
    // Its parts, and the whole that is made of them.
    if (this.#take(account, 2 * readMessageSize)) return;
    this.#refuse(call, `no memory for a message of ${readMessageSize} bytes`);
  }

  /** The handler has the message, or never gets it. */
  delivered(call: Call): void {
    const { account } = call;
    if (account === undefined || account.received === 0) return;
    this.#held.change(-account.received);
    account.received = 0;
  }

  /** Counts an answer; returns what to call when the client took it. undefined: there is no room
   * for it, and the call is over. */
  sent(call: Call, message: Buffer | KeptMessage, taken: () => void): (() => void) | undefined {
    const account = this.#account(call);
    const bytes = message.length;
    if (!(message instanceof KeptMessage) && !this.#keep(account, bytes)) {
      this.#refuse(call, 'too many answers wait to be read');
      return undefined;
    }
    return () => {
      this.#taken(account, bytes);
      taken();
    };
  }

  /** Of a stream of grpc-js's. */
  ofStream(stream: object): StreamMemory {
    const { call } = stream as { readonly call: Call };
    return {
      keep: (bytes) => {
        if (this.#keep(this.#account(call), bytes)) return true;
        this.#refuse(call, 'too many answers wait to be read');
        return false;
      },
    };
  }

  async unpack(call: Call, message: Buffer, encoding: string): Promise<Buffer> {
    if (this.#unpacking >= UNPACKED_AT_ONCE) {
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    }
    this.#unpacking += 1;
    try {
      return await this.#unpacked(call, message, encoding);
    } finally {
      this.#unpacking -= 1;
      this.#waiting.shift()?.();
    }
  }

  async #unpacked(call: Call, message: Buffer, encoding: string): Promise<Buffer> {
    const account = this.#account(call);
    const { maxReceiveMessageSize } = call;
    const bytesMax =
      maxReceiveMessageSize === -1
        ? INFLATED_BYTES_MAX
        : Math.min(maxReceiveMessageSize, INFLATED_BYTES_MAX);
    const parts: Buffer[] = [];
    let bytes = 0;
    const options = {
      chunkSize: message.length < LARGE_PACKED_BYTES ? UNPACKED_PIECE_BYTES : LARGE_PIECE_BYTES,
    };
    const unpacker = encoding === 'gzip' ? createGunzip(options) : createInflate(options);
    unpacker.end(message);
    try {
      for await (const part of unpacker as AsyncIterable<Buffer>) {
        bytes += part.length;
        parts.push(part);
        if (bytes > bytesMax) {
          const what = 'Received message that decompresses to a size larger';
          throw status(RESOURCE_EXHAUSTED, `${what} than ${bytesMax}`);
        }
        if (!this.#take(account, 2 * part.length)) {
          throw status(
            RESOURCE_EXHAUSTED,
            `no memory for a message of more than ${bytes} bytes once unpacked`,
          );
        }
      }
    } catch (error) {
      unpacker.destroy();
      throw error instanceof Error ? status(INTERNAL, 'Failed to decompress message') : error;
    }
    return Buffer.concat(parts, bytes);
  }

  #take(account: Account, bytes: number): boolean {
    if (account.closed || !this.#held.take(bytes)) return false;
    account.received += bytes;
    return true;
  }

  #refuse(call: Call, why: string): void {
    this.delivered(call);
    this.#account(call).refused = true;
    // A status would wait behind the answers that nobody reads.
    if (call.metadataSent) call.stream.close(ENHANCE_YOUR_CALM);
    else call.sendStatus(status(RESOURCE_EXHAUSTED, why));
  }

  #account(call: Call): Account {
    if (call.account !== undefined) return call.account;
    const connection = this.#connection(call.stream.session);
    const { closed } = call.stream;
    const account = { connection, received: 0, unsent: 0, refused: false, closed };
    call.account = account;
    call.stream.once('close', () => {
      account.closed = true;
      this.delivered(call);
      this.#taken(account, account.unsent);
    });
    return account;
  }

  #connection(session: Session | undefined): Connection {
    const known = session && this.#connections.get(session);
    if (known !== undefined) return known;
    const connection = { unsent: 0, tookAtMs: 0, taken: 0 };
    if (session === undefined) return connection; // its call is over already
    this.#connections.set(session, connection);
    session.once('close', () => this.#connections.delete(session));
    return connection;
  }

  #keep(account: Account, bytes: number): boolean {
    if (account.closed || !this.#held.keep(bytes)) return false;
    account.unsent += bytes;
    account.connection.unsent += bytes;
    this.#unsentBytes += bytes;
    if (this.#unsentBytes > this.#unsentBytesMax && this.#looks === undefined) {
      this.#looks = setInterval(() => this.#closeSilent(), LOOK_MS).unref();
    }
    return true;
  }

  #taken(account: Account, bytes: number): void {
    const taken = Math.min(bytes, account.unsent);
    if (taken === 0) return;
    account.unsent -= taken;
    account.connection.unsent -= taken;
    this.#unsentBytes -= taken;
    this.#held.change(-taken);
  }

  // While memory is short: who took nothing for long is not waited for.
  #closeSilent(): void {
    if (this.#unsentBytes <= this.#unsentBytesMax) {
      clearInterval(this.#looks);
      this.#looks = undefined;
      for (const connection of this.#connections.values()) connection.tookAtMs = 0;
      return;
    }
    const now = performance.now();
    for (const [session, connection] of this.#connections) {
      const { socket } = session;
      const taken = socket === undefined ? 0 : socket.bytesWritten - socket.writableLength;
      if (connection.tookAtMs === 0 || taken !== connection.taken || connection.unsent === 0) {
        connection.tookAtMs = now;
        connection.taken = taken;
      } else if (now - connection.tookAtMs >= SILENT_MS_MAX) {
        session.destroy();
      }
    }
  }
}

function status(code: number, details: string) {
  return { code, details, metadata: null } as const;
}

const calls = BaseServerInterceptingCall.prototype as unknown as Call;
const {
  decompressAndMaybePush,
  decompressMessage,
  handleDataFrame,
  handleEndEvent,
  sendMessage,
  serializeMessage,
} = calls;

/** Counts what grpc-js's server calls of this thread hold from now on. Once per thread: calls made
 * before are not known. */
export function countGrpcMemory(options: GrpcMemoryOptions): GrpcMemory {
  const memory = new GrpcMemory(options);
  calls.handleDataFrame = function counted(this: Call, data: Buffer): void {
    if (!memory.mayRead(this)) return;
    handleDataFrame.call(this, data);
    memory.read(this);
  };
  calls.decompressMessage = function counted(
    this: Call,
    message: Buffer,
    encoding: string,
  ): Buffer | Promise<Buffer> {
    return encoding === 'gzip' || encoding === 'deflate'
      ? memory.unpack(this, message.subarray(5), encoding)
      : decompressMessage.call(this, message, encoding);
  };
  calls.decompressAndMaybePush = function counted(
    this: Call,
    entry: { readonly compressedMessage: Buffer },
  ): Promise<void> {
    const packed = entry.compressedMessage[0] === 1;
    const done = decompressAndMaybePush.call(this, entry);
    return packed || this.account !== undefined ? done.then(() => memory.delivered(this)) : done;
  };
  calls.serializeMessage = function framed(this: Call, message: Buffer | KeptMessage): Buffer {
    return message instanceof KeptMessage ? message.framed : serializeMessage.call(this, message);
  };
  calls.sendMessage = function counted(
    this: Call,
    message: Buffer | KeptMessage,
    callback: () => void,
  ): void {
    const small = !(message instanceof KeptMessage) && message.length < COUNTED_BYTES_MIN;
    const taken = small ? callback : memory.sent(this, message, callback);
    if (taken !== undefined) sendMessage.call(this, message, taken);
  };
  checkFrames(calls, handleEndEvent);
  return memory;
}
