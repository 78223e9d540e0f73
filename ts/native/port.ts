// One JavaScript thread's port to the engine: the per-request calls, the shared control words, the
// views of response memory and the dispatch of completions. Hot path; the thread that made it.
import { ErrorCode } from '../errors.js';
import { CallResult, ControlWord, MetricsKind, RingWord } from '../model/generated/engine.js';
import type { MessageProtocol } from '../model/request-kinds.js';
import type { AttachOptions, NativeBinding } from './binding.js';

/** Whose names metrics() writes. */
export const TRITON_METRICS = MetricsKind.Triton;
export const TENSORFLOW_METRICS = MetricsKind.TensorFlow;

/** Returned instead of an ErrorCode: a completion will follow. */
export const PENDING = CallResult.Pending;

// Constants of this module: a member of an enum would be looked up at each use.
const WORD_BYTES = ControlWord.Bytes;
const WORD_JSON_BYTES = ControlWord.JsonBytes;
const WORD_TICKET = ControlWord.Ticket;
const WORD_GENERATION = ControlWord.Generation;
const WORD_RING = ControlWord.Ring;
const RING_CODE = RingWord.Code;
const RING_SLOT = RingWord.Slot;
const RING_BYTES = RingWord.Bytes;
const RING_JSON_BYTES = RingWord.JsonBytes;
const RING_GENERATION = RingWord.Generation;
const RING_WORDS = RingWord.Words;

const CACHED_VIEWS = 1024;

/** Who gets a pending answer. `body` is valid until complete() returns; for an error it is the
 * text. */
export interface CompletionTarget {
  complete(code: number, body: Buffer, jsonBytes: number): void;
}

interface Slot {
  generation: number;
  memory: ArrayBuffer;
  views: (Buffer | undefined)[];
}

export class EnginePort {
  readonly #native: NativeBinding;
  readonly #control: Uint32Array;
  readonly #slots: (Slot | undefined)[] = [];
  readonly #targets = new Map<number, CompletionTarget>();

  /** Takes exceptions of targets, which are bugs. Default: they become uncaught exceptions. */
  report: (error: unknown) => void = (error) => {
    setImmediate(() => {
      throw error;
    });
  };

  constructor(native: NativeBinding, options: AttachOptions) {
    this.#native = native;
    const control = native.attach(options, (count) => this.#dispatch(count));
    this.#control = new Uint32Array(control);
  }

  get native(): NativeBinding {
    return this.#native;
  }

  /** A whole REST body. On PENDING, follow with expect(). */
  infer(protocol: number, handle: number, body: ArrayBuffer, jsonBytes: number): number {
    return this.#native.infer(protocol, handle, body, jsonBytes);
  }

  /** A gRPC message; a long one's bytes stay pinned while it waits, a short one is copied.
   * `timeoutUs`: what is left of the call's deadline; 0 = none. */
  inferMessage(message: Buffer, protocol: MessageProtocol, timeoutUs: number): number {
    return this.#native.inferMessage(message, protocol, timeoutUs);
  }

  /** Opens a body that comes in chunks; the ticket is then ticket(). */
  openBody(expectedBytes: number, alignedAt: number): number {
    return this.#native.openBody(expectedBytes, alignedAt);
  }

  appendBody(ticket: number, chunk: ArrayBuffer): number {
    return this.#native.appendBody(ticket, chunk);
  }

  inferBody(ticket: number, protocol: number, handle: number, jsonBytes: number): number {
    return this.#native.inferBody(ticket, protocol, handle, jsonBytes);
  }

  /** The same for a body that is packed; `coding`: 0 gzip, 1 deflate. */
  inferPacked(
    ticket: number,
    protocol: number,
    handle: number,
    jsonBytes: number,
    coding: number,
  ): number {
    return this.#native.inferPacked(ticket, protocol, handle, jsonBytes, coding);
  }

  /** Counts bytes that this thread's JavaScript holds for clients (negative: holds no more) in the
   * engine's budget. False: they are `refusable`, do not fit and are not counted; or they are
   * counted, and no more small ones are to be. */
  countBytes(change: number, refusable: boolean): boolean {
    return this.#native.countBytes(change, refusable);
  }

  /** Keeps the memory of the answer that complete() was given under `ticket` until dropAnswer().
   * False: no such answer is being handed over. */
  keepAnswer(ticket: number): boolean {
    return this.#native.keepAnswer(ticket);
  }

  dropAnswer(ticket: number): void {
    this.#native.cancel(ticket);
  }

  /** The ticket of the call that just returned PENDING, or of openBody(). */
  ticket(): number {
    return this.#control[WORD_TICKET] ?? 0;
  }

  /** Names who gets the answer of the request that just returned PENDING; returns its ticket. */
  expect(target: CompletionTarget): number {
    const ticket = this.ticket();
    this.#targets.set(ticket, target);
    return ticket;
  }

  /** Who waits for this ticket's answer; undefined when it has come. */
  targetOf(ticket: number): CompletionTarget | undefined {
    return this.#targets.get(ticket);
  }

  /** The client went away: drops an open body, or takes a waiting request out. True: its target
   * will not be called. */
  cancel(ticket: number): boolean {
    const dropped = this.#native.cancel(ticket);
    if (dropped) this.#targets.delete(ticket);
    return dropped;
  }

  /** The answer (or error text) of a call that did not return PENDING. Valid until the next
   * call. */
  answer(): Buffer {
    const control = this.#control;
    return this.#view(0, control[WORD_GENERATION] ?? 0, control[WORD_BYTES] ?? 0);
  }

  /** Length of the JSON before binary data in answer(); 0 = no binary data. */
  answerJsonBytes(): number {
    return this.#control[WORD_JSON_BYTES] ?? 0;
  }

  /** Requests that wait for an answer on this thread. */
  get pending(): number {
    return this.#targets.size;
  }

  /** How many requests wait for an answer or run, by their model's name. */
  unanswered(): Readonly<Record<string, number>> {
    if (this.#native.unanswered() !== ErrorCode.Ok) return {};
    const lines = this.answer().toString('utf8').split('\0').slice(0, -1);
    return Object.fromEntries(
      lines.map((line) => {
        const space = line.indexOf(' ');
        return [line.slice(space + 1), Number(line.slice(0, space))];
      }),
    );
  }

  /** Leaves the engine: waiting requests are cancelled, running ones are waited for. */
  detach(): void {
    this.#targets.clear();
    this.#slots.length = 0;
    this.#native.detach();
  }

  #view(index: number, generation: number, bytes: number): Buffer {
    let slot = this.#slots[index];
    if (slot === undefined || slot.generation !== generation) {
      slot = { generation, memory: this.#native.mapSlot(index), views: [] };
      this.#slots[index] = slot;
    }
    if (bytes >= CACHED_VIEWS) return Buffer.from(slot.memory, 0, bytes);
    let view = slot.views[bytes];
    if (view === undefined) {
      view = Buffer.from(slot.memory, 0, bytes);
      slot.views[bytes] = view;
    }
    return view;
  }

  // Hot path 11/12 (queued). Called once per wake-up, with the answers' words in the ring.
  #dispatch(count: number): void {
    const control = this.#control;
    for (let i = 0; i < count; i += 1) {
      const at = WORD_RING + i * RING_WORDS;
      const ticket = control[at] ?? 0;
      const target = this.#targets.get(ticket);
      if (target === undefined) continue; // its client went away while it ran
      this.#targets.delete(ticket);
      const code = control[at + RING_CODE] ?? ErrorCode.Internal;
      const body = this.#view(
        control[at + RING_SLOT] ?? 0,
        control[at + RING_GENERATION] ?? 0,
        control[at + RING_BYTES] ?? 0,
      );
      try {
        target.complete(code, body, control[at + RING_JSON_BYTES] ?? 0);
      } catch (error) {
        this.report(error); // one answer's bug must not take the others of this wake-up along
      }
    }
  }
}
