// Calls that the native gRPC listener forwarded to this thread, as their handlers use them. The
// thread that owns the listener. A call ends once: by its handler, or when its client is gone.
import { GrpcCode } from '../../base/errors.js';
import { STREAM_BACKLOG_BYTES_MAX, STREAM_BACKLOG_MESSAGES_MAX } from '../../base/limits.js';
import {
  thrownStatus,
  type GrpcReply,
  type GrpcStatus,
  type GrpcStreamCall,
  type GrpcStreamHandler,
  type GrpcStreamOpen,
  type GrpcUnaryCall,
  type GrpcUnaryHandler,
} from './call.js';
import type { NativeCall } from './native-binding.js';

/**
 * Notifications from the listener to a call. `ended`: nothing more arrives, and nothing can be
 * sent.
 */
export interface ForwardedCall {
  readonly ended: boolean;
  message(bytes: Buffer): void;
  halfClosed(): void;
  closed(): void;
  left(messages: number): void;
  /** The server stops. */
  drain(): void;
}

function finishWith(call: NativeCall, status: GrpcStatus | null): void {
  if (status === null) call.finish(GrpcCode.OK, '');
  else call.finish(status.code, status.details);
}

/** One unary call: one message in, one response out. */
export class NativeUnary implements ForwardedCall, GrpcUnaryCall {
  request: Buffer = Buffer.alloc(0);
  ended = false;
  #cancelled: (() => void)[] = [];

  constructor(
    private readonly call: NativeCall,
    private readonly handler: GrpcUnaryHandler,
    private readonly deadline: number,
    private readonly gone: () => void,
  ) {}

  getDeadline(): number {
    return this.deadline;
  }

  on(_event: 'cancelled', listener: () => void): void {
    this.#cancelled.push(listener);
  }

  message(bytes: Buffer): void {
    this.request = bytes;
    try {
      this.handler(this, this.#reply);
    } catch (error) {
      this.#reply(thrownStatus(error));
    }
  }

  halfClosed(): void {}

  left(): void {}

  drain(): void {}

  closed(): void {
    this.ended = true;
    const listeners = this.#cancelled;
    this.#cancelled = [];
    for (const listener of listeners) listener();
  }

  readonly #reply: GrpcReply = (status, message): void => {
    if (this.ended) return;
    this.ended = true;
    if (status === null && message) this.call.send(message);
    finishWith(this.call, status);
    this.gone();
  };
}

/** One stream. Its messages wait in the listener while it is paused. */
export class NativeStream implements ForwardedCall, GrpcStreamCall {
  ended = false;
  readonly #handler: GrpcStreamHandler;
  /** Bytes of each unsent reply, oldest first. */
  readonly #unflushedReplies: number[] = [];
  #unflushedBytes = 0;
  #paused = false;

  /** Throws what `open` throws. */
  constructor(
    private readonly call: NativeCall,
    open: GrpcStreamOpen,
    readonly deadline: number,
    private readonly gone: () => void,
  ) {
    this.#handler = open(this);
  }

  get unflushed(): number {
    return this.#unflushedReplies.length;
  }

  write(message: Buffer): void {
    if (this.ended) return;
    this.#unflushedReplies.push(message.length);
    this.#unflushedBytes += message.length;
    this.call.send(message);
    this.#adjustReading();
  }

  end(status: GrpcStatus | null): void {
    if (this.ended) return;
    this.ended = true;
    finishWith(this.call, status);
    this.gone();
  }

  message(bytes: Buffer): void {
    this.#tell((handler) => handler.onMessage(bytes));
  }

  halfClosed(): void {
    this.#tell((handler) => handler.onHalfClose());
  }

  closed(): void {
    this.#tell((handler) => handler.onCancel());
    this.ended = true;
  }

  left(messages: number): void {
    for (let i = 0; i < messages && !this.ended; i += 1) {
      this.#unflushedBytes -= this.#unflushedReplies.shift() ?? 0;
      this.#adjustReading();
      this.#tell((handler) => handler.onFlushed());
    }
  }

  drain(): void {
    this.#tell((handler) => handler.onDrain());
  }

  #adjustReading(): void {
    if (this.ended) return;
    const pause =
      this.unflushed >= STREAM_BACKLOG_MESSAGES_MAX ||
      this.#unflushedBytes >= STREAM_BACKLOG_BYTES_MAX;
    if (pause === this.#paused) return;
    this.#paused = pause;
    this.call.setPaused(pause);
  }

  #tell(what: (handler: GrpcStreamHandler) => void): void {
    if (this.ended) return;
    try {
      what(this.#handler);
    } catch (error) {
      this.end(thrownStatus(error));
    }
  }
}
