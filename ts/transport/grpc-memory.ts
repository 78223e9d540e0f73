// What grpc-js holds of messages, counted: requests from the moment that their length is known
// until their handler has them, unpacked ones as they grow, answers until the client took them.
// Over the budget a call ends with RESOURCE_EXHAUSTED before its message is read. Hot plane: the
// gRPC listener's thread. grpc-js has no hooks for any of this: methods of its server calls, of the
// pinned version, are wrapped; test/e2e/resilience/memory-budget.test.ts sees that they work.
import { createGunzip, createInflate } from 'node:zlib';
import { BaseServerInterceptingCall } from '@grpc/grpc-js/build/src/server-interceptors.js';
import type { HeldBytes } from './listener.js';

/** Shorter messages are not counted: grpc-js keeps as much for any call. */
const COUNTED_BYTES_MIN = 4096;
/** Received messages from here on are asked for. */
const ASKED_BYTES_MIN = 65_536;
/** Compressed messages that are unpacked at a time; others wait packed. */
const UNPACKED_AT_ONCE = 2;
/** Unpacked messages are asked for piece by piece. */
const UNPACKED_PIECE_BYTES = 262_144;
const READING_MESSAGE = 2;
const RESOURCE_EXHAUSTED = 8;
const INTERNAL = 13;

export interface GrpcMemoryOptions {
  readonly held: HeldBytes;
  /** Answers that one connection may leave untaken; over it its new calls are refused. */
  readonly unsentBytesMax: number;
}

/** What is used of grpc-js's BaseServerInterceptingCall. */
interface Call {
  readonly stream: {
    readonly session?: object;
    once(event: 'close', listener: () => void): unknown;
  };
  readonly decoder: { readonly readState: number; readonly readMessageSize: number };
  readonly maxReceiveMessageSize: number;
  handleDataFrame(data: Buffer): void;
  decompressMessage(message: Buffer, encoding: string): Buffer | Promise<Buffer>;
  decompressAndMaybePush(entry: { readonly compressedMessage: Buffer }): Promise<void>;
  sendMessage(message: Buffer, callback: () => void): void;
  account?: Account;
  sendStatus(status: { code: number; details: string; metadata: null }): void;
}

interface Connection {
  unsent: number;
}

/** Of one call that holds anything countable. */
interface Account {
  readonly connection: Connection;
  received: number;
  unsent: number;
  refused: boolean;
}

class GrpcMemory {
  readonly #held: HeldBytes;
  readonly #unsentBytesMax: number;
  readonly #connections = new WeakMap<object, Connection>();
  /** Connections over the limit; 0 in nearly all servers nearly always. */
  #full = 0;
  #unpacking = 0;
  readonly #waiting: (() => void)[] = [];

  constructor({ held, unsentBytesMax }: GrpcMemoryOptions) {
    this.#held = held;
    this.#unsentBytesMax = unsentBytesMax;
  }

  /** False where the frame is not to be read: the call is refused. */
  mayRead(call: Call): boolean {
    if (call.account?.refused === true) return false;
    if (this.#full === 0) return true;
    const unsent = this.#connections.get(call.stream.session ?? call)?.unsent ?? 0;
    if (unsent <= this.#unsentBytesMax) return true;
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

  /** Counts an answer; returns what to call when the client took it. */
  sent(call: Call, bytes: number, taken: () => void): () => void {
    const account = this.#account(call);
    this.#unsent(account, bytes);
    return () => {
      this.#unsent(account, -Math.min(bytes, account.unsent));
      taken();
    };
  }

  async unpack(call: Call, message: Buffer, encoding: string): Promise<Buffer> {
    if (this.#unpacking >= UNPACKED_AT_ONCE) {
      await new Promise<void>((resolve) => { this.#waiting.push(resolve); });
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
    const parts: Buffer[] = [];
    let bytes = 0;
    const options = { chunkSize: UNPACKED_PIECE_BYTES };
    const unpacker = encoding === 'gzip' ? createGunzip(options) : createInflate(options);
    unpacker.end(message);
    try {
      for await (const part of unpacker as AsyncIterable<Buffer>) {
        bytes += part.length;
        parts.push(part);
        if (call.maxReceiveMessageSize !== -1 && bytes > call.maxReceiveMessageSize) {
          throw status(RESOURCE_EXHAUSTED, 'Received message that decompresses to a size larger '
            + `than ${call.maxReceiveMessageSize}`);
        }
        if (!this.#take(account, 2 * part.length)) {
          throw status(RESOURCE_EXHAUSTED,
            `no memory for a message of more than ${bytes} bytes once unpacked`);
        }
      }
    } catch (error) {
      unpacker.destroy();
      throw error instanceof Error ? status(INTERNAL, 'Failed to decompress message') : error;
    }
    return Buffer.concat(parts, bytes);
  }

  #take(account: Account, bytes: number): boolean {
    if (!this.#held.take(bytes)) return false;
    account.received += bytes;
    return true;
  }

  #refuse(call: Call, why: string): void {
    this.delivered(call);
    this.#account(call).refused = true;
    call.sendStatus(status(RESOURCE_EXHAUSTED, why));
  }

  #account(call: Call): Account {
    if (call.account !== undefined) return call.account;
    const key = call.stream.session ?? call;
    const connection = this.#connections.get(key) ?? { unsent: 0 };
    this.#connections.set(key, connection);
    const account = { connection, received: 0, unsent: 0, refused: false };
    call.account = account;
    call.stream.once('close', () => {
      this.delivered(call);
      this.#unsent(account, -account.unsent);
    });
    return account;
  }

  #unsent(account: Account, change: number): void {
    if (change === 0) return;
    account.unsent += change;
    this.#held.change(change);
    const { connection } = account;
    const wasFull = connection.unsent > this.#unsentBytesMax;
    connection.unsent += change;
    const isFull = connection.unsent > this.#unsentBytesMax;
    if (wasFull !== isFull) this.#full += isFull ? 1 : -1;
  }
}

function status(code: number, details: string) {
  return { code, details, metadata: null } as const;
}

const calls = BaseServerInterceptingCall.prototype as unknown as Call;
const { decompressAndMaybePush, decompressMessage, handleDataFrame, sendMessage } = calls;

/** Counts what grpc-js's server calls of this thread hold from now on. Once per thread: calls made
 * before are not known. */
export function countGrpcMemory(options: GrpcMemoryOptions): void {
  const memory = new GrpcMemory(options);
  calls.handleDataFrame = function counted(this: Call, data: Buffer): void {
    if (!memory.mayRead(this)) return;
    handleDataFrame.call(this, data);
    memory.read(this);
  };
  calls.decompressMessage = function counted(
    this: Call, message: Buffer, encoding: string,
  ): Buffer | Promise<Buffer> {
    return encoding === 'gzip' || encoding === 'deflate'
      ? memory.unpack(this, message.subarray(5), encoding)
      : decompressMessage.call(this, message, encoding);
  };
  calls.decompressAndMaybePush = function counted(
    this: Call, entry: { readonly compressedMessage: Buffer },
  ): Promise<void> {
    const packed = entry.compressedMessage[0] === 1;
    const done = decompressAndMaybePush.call(this, entry);
    return packed || this.account !== undefined ? done.then(() => memory.delivered(this)) : done;
  };
  calls.sendMessage = function counted(this: Call, message: Buffer, callback: () => void): void {
    sendMessage.call(this, message, message.length < COUNTED_BYTES_MIN ? callback
      : memory.sent(this, message.length, callback));
  };
}
