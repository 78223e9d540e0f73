// The addon's gRPC listener as the thread sees that owns it: its calls, and what it tells as packed
// words (proto/engine.fbs ListenerEvent, EventWord). Control plane but for forwarded calls; one
// thread.
import { ListenerCommand, ListenerEvent } from '../../base/generated/engine.js';
import { countsByName } from '../../base/text.js';
import type { EngineWording } from './call.js';
import type { Cut } from '../cut.js';
import {
  eachEvent,
  engineFailure,
  handshakeFailures,
  type EngineFailure,
} from './native-events.js';
import type { NativeAccess } from './access.js';
import type { GrpcTransportSettings, HandshakeFailures } from './settings.js';

export interface NativeMethod {
  readonly path: string;
  readonly streams: boolean;
  /** What the engine answers by itself; -1: forwarded. */
  readonly protocol: number;
  /** Index of its wording. */
  readonly wording: number;
}

/** Options of grpcStart(). Milliseconds: Infinity = never. */
export interface NativeGrpcOptions extends GrpcTransportSettings {
  readonly host: string;
  readonly port: number;
  /** See NativeGrpcListenerOptions. */
  readonly sharesPort: boolean;
  readonly connectionsMax: number;
  readonly unsentBytesMax: number;
  /** What a compressed message may unpack to; receiveBytesMax counts too. */
  readonly inflatedBytesMax: number;
  readonly handshakeMsMax: number;
  readonly methods: readonly NativeMethod[];
  readonly wordings: readonly EngineWording[];
  /** gRPC's status of each ErrorCode. */
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

/** A thread's link to the engine, as far as a gRPC listener needs it. */
export interface NativeGrpcLink {
  readonly native: NativeGrpcCalls;
  /** Makes a call and returns a copy of its answer. Throws ServalError. */
  read(call: (native: NativeGrpcCalls) => number): Buffer;
}

/** What the listener is told; a call is its thread and its id. */
export interface NativeGrpcEvents {
  /** `deadline`: milliseconds since 1970 or Infinity. */
  opened(thread: number, call: number, method: number, deadline: number): void;
  message(thread: number, call: number, message: Buffer): void;
  halfClosed(thread: number, call: number): void;
  closed(thread: number, call: number): void;
  left(thread: number, call: number, messages: number): void;
  /** A method of the engine's failed for a name that is missing. */
  explain(thread: number, call: number, method: number, failure: EngineFailure): void;
  full(connections: number): void;
  /** TLS handshakes failed, the last one's client and why. */
  handshakeFailed(failures: HandshakeFailures): void;
  /** TLS files were read anew; a problem: were not, and the old ones stay. */
  certificates(problem: string | undefined): void;
  /** `models`: of calls that the engine had. */
  drained(cut: Cut): void;
}

/** Tells `events` what `packed` has, in order. `report` gets what an event throws, which is a bug,
 * and must not affect others. Throws where `packed` is cut. */
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
      return events.opened(thread, call, value, payload.readDoubleLE());
    case ListenerEvent.Message:
      return events.message(thread, call, payload);
    case ListenerEvent.HalfClosed:
      return events.halfClosed(thread, call);
    case ListenerEvent.Closed:
      return events.closed(thread, call);
    case ListenerEvent.Left:
      return events.left(thread, call, value);
    case ListenerEvent.Explain:
      return events.explain(thread, call, value, engineFailure(payload));
    case ListenerEvent.Full:
      return events.full(value);
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

/** What is done with one call. Harmless where the call has ended. */
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

  /** Ends the call behind what was sent. */
  finish(status: number, text: string): void {
    this.native.grpcSend(this.thread, this.id, ListenerCommand.Finish, status, textBytes(text));
  }

  setPaused(paused: boolean): void {
    this.native.grpcSend(this.thread, this.id, ListenerCommand.Pause, paused ? 1 : 0, NOTHING);
  }

  /** The status that a call of the engine's, which failed, ends with. */
  explainStatus(status: number, text: string): void {
    const bytes = textBytes(text);
    this.native.grpcSend(this.thread, this.id, ListenerCommand.ExplainedStatus, status, bytes);
  }

  /** What a failed request of a stream of the engine's is answered. */
  explainReply(message: Buffer): void {
    this.native.grpcSend(this.thread, this.id, ListenerCommand.ExplainedReply, 0, message);
  }
}

const textBytes = (text: string): Buffer => (text === '' ? NOTHING : Buffer.from(text, 'utf8'));
