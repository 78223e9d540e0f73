// Decodes the packed words by which both native listeners report events to the JavaScript thread
// that owns them (proto/engine.fbs ListenerEvent, EventWord). Control plane except for forwarded
// calls; that thread.
import { EventWord, type ListenerEvent } from '../../base/generated/engine.js';
import type { ThreadAdded } from '../threads.js';
import type { HandshakeFailures } from './settings.js';

/** An error of the engine; its first `missingBytes` say what is missing. */
export interface EngineFailure {
  readonly code: number;
  readonly body: Buffer;
  readonly missingBytes: number;
}

/** The same of a call with the number of its caller: ApiKey.caller, 0 = none. */
export interface ExplainedFailure extends EngineFailure {
  readonly caller: number;
}

/** Called with each event; a call is identified by its thread and its id. */
export type TellEvent = (
  kind: ListenerEvent,
  thread: number,
  call: number,
  value: number,
  payload: Buffer,
) => void;

const WORD_BYTES = 4;
const HEAD_BYTES = EventWord.Words * WORD_BYTES;
const HIGH = 2 ** 32;
const FAILURE_HEAD_BYTES = 2 * WORD_BYTES;
/** Batches of packed events read in a row; then other work of the thread runs. */
const TAKES_MAX = 16;

/**
 * Calls `tell` with all events of `packed` in order. `report` receives what `tell` throws, which is
 * a bug and must not affect others. `what`: the protocol, for errors. Throws if `packed` is
 * truncated.
 */
export function eachEvent(
  what: 'gRPC' | 'HTTP',
  packed: Buffer,
  tell: TellEvent,
  report: (error: unknown) => void,
): void {
  let at = 0;
  while (at < packed.length) {
    const start = at;
    const word = (index: EventWord): number => packed.readUInt32LE(start + index * WORD_BYTES);
    const isWhole = packed.length - start >= HEAD_BYTES;
    const bytes = isWhole ? word(EventWord.Bytes) : 0;
    const payload = packed.subarray(start + HEAD_BYTES, start + HEAD_BYTES + bytes);
    if (!isWhole || payload.length !== bytes)
      throw new TypeError(`${what} event at byte ${start} is truncated`);
    const call = word(EventWord.CallHigh) * HIGH + word(EventWord.CallLow);
    try {
      tell(word(EventWord.Kind), word(EventWord.Thread), call, word(EventWord.Value), payload);
    } catch (error) {
      report(error);
    }
    at = start + HEAD_BYTES + Math.ceil(bytes / WORD_BYTES) * WORD_BYTES;
  }
}

/** The payload of Failed. */
export function engineFailure(payload: Buffer): EngineFailure {
  return {
    code: payload.readUInt32LE(),
    missingBytes: payload.readUInt32LE(WORD_BYTES),
    body: payload.subarray(FAILURE_HEAD_BYTES),
  };
}

/** The payload of Explain, which also has the number of the caller. */
export function explainedFailure(payload: Buffer): ExplainedFailure {
  return {
    code: payload.readUInt32LE(),
    missingBytes: payload.readUInt32LE(WORD_BYTES),
    caller: payload.readUInt32LE(FAILURE_HEAD_BYTES),
    body: payload.subarray(FAILURE_HEAD_BYTES + WORD_BYTES),
  };
}

/** The value and payload of HandshakeFailed. */
export function handshakeFailures(failures: number, payload: Buffer): HandshakeFailures {
  const text = payload.toString('utf8');
  const end = text.indexOf('\0');
  return { failures, peer: text.slice(0, end), reason: text.slice(end + 1) };
}

/** The value and payload of ThreadAdded. */
export function threadAdded(threads: number, payload: Buffer): ThreadAdded {
  return {
    threads,
    busyPercent: Math.round(payload.readUInt32LE() / 10),
    freeCores: payload.readUInt32LE(WORD_BYTES) / 1000,
  };
}

/** Reads events until there are none, and yields to other work if there are many. */
export class EventTaker {
  #later: NodeJS.Immediate | undefined;
  #stopped = false;

  /**
   * `next`: returns the next packed events; empty: there are none. `read` receives them; `report`
   * receives what it throws.
   */
  constructor(
    private readonly next: () => Buffer,
    private readonly read: (packed: Buffer) => void,
    private readonly report: (error: unknown) => void,
  ) {}

  /** Called when there are events. */
  readonly take = (): void => {
    for (let i = 0; i < TAKES_MAX && !this.#stopped; i += 1) {
      const packed = this.next();
      if (packed.length === 0) return;
      try {
        this.read(packed);
      } catch (error) {
        this.report(error);
      }
    }
    if (this.#stopped) return;
    this.#later ??= setImmediate(() => {
      this.#later = undefined;
      this.take();
    });
  };

  stop(): void {
    this.#stopped = true;
    clearImmediate(this.#later);
  }
}
