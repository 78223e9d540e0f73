// The tests' own addon: packs gRPC events in engine.fbs's format, and records the commands that it
// gets.
import type { NativeAccess } from '../../../../ts/listeners/grpc/access.js';
import { ErrorCode, ServalError } from '../../../../ts/base/errors.js';
import { ListenerEvent } from '../../../../ts/base/generated/engine.js';
import type {
  NativeGrpcCalls,
  NativeGrpcLink,
  NativeGrpcOptions,
} from '../../../../ts/listeners/grpc/native-binding.js';

/** One event, packed. */
export function packed(
  kind: ListenerEvent,
  thread: number,
  call: number,
  value: number,
  payload: Buffer = Buffer.alloc(0),
): Buffer {
  const head = Buffer.alloc(24);
  const words = [kind, thread, call % 2 ** 32, Math.floor(call / 2 ** 32), value, payload.length];
  words.forEach((word, i) => head.writeUInt32LE(word, 4 * i));
  return Buffer.concat([head, payload, Buffer.alloc(-payload.length & 3)]);
}

export function deadlineBytes(ms: number): Buffer {
  const bytes = Buffer.alloc(12);
  bytes.writeDoubleLE(ms);
  return bytes;
}

export interface Sent {
  readonly thread: number;
  readonly call: number;
  readonly command: number;
  readonly value: number;
  readonly bytes: Buffer;
}

export class FakeNative implements NativeGrpcCalls, NativeGrpcLink {
  readonly native: NativeGrpcCalls = this;
  readonly sent: Sent[] = [];
  readonly done: string[] = [];
  readonly accesses: NativeAccess[] = [];
  options: NativeGrpcOptions | undefined;
  port = 7;
  /** The next results of grpcTake(), one after another. */
  readonly packs: Buffer[] = [];
  /** The reason why it cannot start. */
  refusal: ServalError | undefined;
  #answer: Buffer = Buffer.alloc(0);
  #onEvents: () => void = () => undefined;

  read(call: (native: NativeGrpcCalls) => number): Buffer {
    if (call(this) === ErrorCode.Ok) return this.#answer;
    throw this.refusal ?? new Error('no refusal');
  }

  grpcStart(options: NativeGrpcOptions, onEvents: () => void): number {
    if (this.refusal !== undefined) return this.refusal.code;
    this.options = options;
    this.#onEvents = onEvents;
    this.#answer = Buffer.alloc(4);
    this.#answer.writeUInt32LE(this.port);
    return ErrorCode.Ok;
  }

  grpcTake(): number {
    this.#answer = this.packs.shift() ?? Buffer.alloc(0);
    return ErrorCode.Ok;
  }

  grpcSend(thread: number, call: number, command: number, value: number, bytes: Buffer): void {
    this.sent.push({ thread, call, command, value, bytes: Buffer.from(bytes) });
  }

  grpcAccess(access: NativeAccess): number {
    this.accesses.push(access);
    return ErrorCode.Ok;
  }

  grpcDrain(ms: number): void {
    this.done.push(`drain ${ms}`);
  }

  grpcReloadCertificates(): void {
    this.done.push('reload');
  }

  grpcStop(): void {
    this.done.push('stop');
  }

  /** Reports events now, in one wake-up. */
  tell(...events: readonly Buffer[]): void {
    this.packs.push(Buffer.concat(events));
    this.#onEvents();
  }

  /** The index of a method. */
  method(path: string): number {
    return this.options?.methods.findIndex((method) => method.path === path) ?? -1;
  }

  /** The commands since the last call. */
  taken(): Sent[] {
    return this.sent.splice(0);
  }
}
