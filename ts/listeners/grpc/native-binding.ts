// The addon's gRPC listener as seen by the thread that owns it: its calls, and its events as packed
// words (proto/engine.fbs ListenerEvent, EventWord). Control plane except for forwarded calls; one
// thread.
import { ListenerCommand, ListenerEvent } from '../../base/generated/engine.js';
import { countsByName } from '../../base/text.js';
import type { EngineWording } from './call.js';
import type { Cut } from '../cut.js';
import {
  eachEvent,
  explainedFailure,
  handshakeFailures,
  threadAdded,
  type ExplainedFailure,
} from './native-events.js';
import type { ThreadAdded } from '../threads.js';
import type { NativeAccess } from './access.js';
import type { GrpcTransportSettings, HandshakeFailures } from './settings.js';

export interface NativeMethod {
  readonly path: string;
  readonly streams: boolean;
  /** The protocol number if the engine serves it; -1: forwarded. */
  readonly protocol: number;
  /** Index of its texts. */
  readonly wording: number;
}

/** Options of grpcStart(). Milliseconds: Infinity = never. */
export interface NativeGrpcOptions extends GrpcTransportSettings {
  readonly host: string;
  readonly port: number;
  /** See NativeGrpcListenerOptions. */
  readonly sharesPort: boolean;
  /** The server value that counts its threads. */
  readonly threadsValue: string;
  readonly connectionsMax: number;
  readonly unsentBytesMax: number;
  /** Maximum size of an uncompressed message; receiveBytesMax also applies. */
  readonly inflatedBytesMax: number;
  readonly handshakeMsMax: number;
  readonly methods: readonly NativeMethod[];
  readonly wordings: readonly EngineWording[];
  /** gRPC status of each ErrorCode. */
  readonly statuses: readonly number[];
  /** Absent: everybody may make every call. */
  readonly access?: NativeAccess;
}

/** The addon's calls (native/addon/grpc.cc). */
export interface NativeGrpcCalls {
  grpcStart(options: NativeGrpcOptions, onEvents: () => void): number;
  grpcTake(): number;
  grpcSend(thread: number, call: number, command: number, value: number, bytes: Buffer): void;
  grpcDrain(ms: number): void;
  grpcReloadCertificates(): void;
  grpcAccess(access: NativeAccess): number;
  grpcStop(): void;
}

/** A thread's link to the engine, as a gRPC listener uses it. */
export interface NativeGrpcLink {
  readonly native: NativeGrpcCalls;
  /** Makes a call and returns a copy of its result. Throws ServalError. */
  read(call: (native: NativeGrpcCalls) => number): Buffer;
}

/** Events of the listener; a call is identified by its thread and its id. */
export interface NativeGrpcEvents {
  /** `deadline`: milliseconds since 1970 or Infinity. `caller`: ApiKey.caller, 0 = none. */
  opened(thread: number, call: number, method: number, deadline: number, caller: number): void;
  message(thread: number, call: number, message: Buffer): void;
  halfClosed(thread: number, call: number): void;
  closed(thread: number, call: number): void;
  left(thread: number, call: number, messages: number): void;
  /** A method that the engine serves failed because of a missing name. */
  explain(thread: number, call: number, method: number, failure: ExplainedFailure): void;
  full(connections: number): void;
  threadAdded(added: ThreadAdded): void;
  /** TLS handshakes failed; gives the last one's client and reason. */
  handshakeFailed(failures: HandshakeFailures): void;
  /** TLS files were reloaded; with a problem, they were not and the old ones stay in use. */
  certificates(problem: string | undefined): void;
  /** `models`: of calls that the engine had. */
  drained(cut: Cut): void;
}

/**
 * Calls `events` with the contents of `packed`, in order. `report` receives what an event handler
 * throws, which is a bug and must not affect others. Throws if `packed` is truncated.
 */
export function readEvents(
  packed: Buffer,
  events: NativeGrpcEvents,
  report: (error: unknown) => void,
): void {
  eachEvent('gRPC', packed, (...event) => tell(events, ...event), report);
}

function tell(
  events: NativeGrpcEvents,
  kind: ListenerEvent,
  thread: number,
  call: number,
  value: number,
  payload: Buffer,
): void {
  switch (kind) {
    case ListenerEvent.Open:
      return events.opened(
        ...([thread, call, value] as const),
        payload.readDoubleLE(),
        payload.readUInt32LE(DOUBLE_BYTES),
      );
    case ListenerEvent.Message:
      return events.message(thread, call, payload);
    case ListenerEvent.HalfClosed:
      return events.halfClosed(thread, call);
    case ListenerEvent.Closed:
      return events.closed(thread, call);
    case ListenerEvent.Left:
      return events.left(thread, call, value);
    case ListenerEvent.Explain:
      return events.explain(thread, call, value, explainedFailure(payload));
    case ListenerEvent.Full:
      return events.full(value);
    case ListenerEvent.ThreadAdded:
      return events.threadAdded(threadAdded(value, payload));
    case ListenerEvent.HandshakeFailed:
      return events.handshakeFailed(handshakeFailures(value, payload));
    case ListenerEvent.Certificates:
      return events.certificates(value === 0 ? undefined : payload.toString('utf8'));
    case ListenerEvent.Drained:
      return events.drained({ requests: value, models: countsByName(payload) });
    default:
      return unknownEvent(kind);
  }
}

function unknownEvent(kind: ListenerEvent): never {
  throw new TypeError(`gRPC event of kind ${String(kind)}`);
}

const NOTHING = Buffer.alloc(0);
const DOUBLE_BYTES = 8;

/** Operations on one call. No effect if the call has ended. */
export class NativeCall {
  constructor(
    private readonly native: NativeGrpcCalls,
    private readonly thread: number,
    private readonly id: number,
  ) {}

  /** Borrows until return. */
  send(message: Buffer): void {
    this.native.grpcSend(this.thread, this.id, ListenerCommand.Message, 0, message);
  }

  /** Ends the call after everything that was sent. */
  finish(status: number, text: string): void {
    this.native.grpcSend(this.thread, this.id, ListenerCommand.Finish, status, textBytes(text));
  }

  setPaused(paused: boolean): void {
    this.native.grpcSend(this.thread, this.id, ListenerCommand.Pause, paused ? 1 : 0, NOTHING);
  }

  /** The final status of a failed call that the engine served. */
  explainStatus(status: number, text: string): void {
    const bytes = textBytes(text);
    this.native.grpcSend(this.thread, this.id, ListenerCommand.ExplainedStatus, status, bytes);
  }

  /** The reply to a failed request of a stream that the engine serves. */
  explainReply(message: Buffer): void {
    this.native.grpcSend(this.thread, this.id, ListenerCommand.ExplainedReply, 0, message);
  }
}

const textBytes = (text: string): Buffer => (text === '' ? NOTHING : Buffer.from(text, 'utf8'));
