// One JavaScript thread's link to the engine: the per-request calls, the shared control words, the
// views of response memory and the dispatch of completions. Hot path; the thread that made it.
// Whoever asks names a target, which gets the answer during the call or later, once.
import { ErrorCode } from '../base/errors.js';
import { CallResult, ControlWord, MetricsKind, RingWord } from '../base/generated/engine.js';
import type { MessageProtocol } from '../model/request-kinds.js';
import { countsByName } from '../base/text.js';
import type { AttachOptions } from '../base/generated/attach-options.js';
import type { NativeBinding, ServerValue } from './binding.js';
import { failure } from './missing.js';

/** Whose names metrics() writes. */
export const TRITON_METRICS = MetricsKind.Triton;
export const TENSORFLOW_METRICS = MetricsKind.TensorFlow;

/** Returned by the addon instead of an ErrorCode: a completion will follow. */
const PENDING = CallResult.Pending;

// Constants of this module: a member of an enum would be looked up at each use.
const WORD_BYTES = ControlWord.Bytes;
const WORD_JSON_BYTES = ControlWord.JsonBytes;
const WORD_TICKET = ControlWord.Ticket;
const WORD_GENERATION = ControlWord.Generation;
const WORD_TRACED = ControlWord.Traced;
const TRACE_ID_AT = ControlWord.TraceId * 4;
const SPAN_ID_AT = ControlWord.SpanId * 4;
const WORD_RING = ControlWord.Ring;
const RING_CODE = RingWord.Code;
const RING_SLOT = RingWord.Slot;
const RING_BYTES = RingWord.Bytes;
const RING_JSON_BYTES = RingWord.JsonBytes;
const RING_GENERATION = RingWord.Generation;
const RING_WORDS = RingWord.Words;

const CACHED_VIEWS = 1024;

const CANCELLED = Buffer.from('the client cancelled the call');

/** Who gets an answer: during the call that asks for it or later, once, a cancelled one too.
 * `body` is valid until complete() returns; for an error it is what readError() reads. */
export interface CompletionTarget {
  /** Of its open body or its waiting request; 0 = none, and nothing to cancel. The link's to set,
   * before complete(). */
  ticket: number;
  complete(code: number, body: Buffer, jsonBytes: number): void;
  /** Before complete(), for a request that is traced: the traceparent of its answer. */
  traced?(parent: string): void;
}

interface Slot {
  generation: number;
  memory: ArrayBuffer;
  views: (Buffer | undefined)[];
}

export class EngineLink {
  readonly #native: NativeBinding;
  readonly #control: Uint32Array;
  readonly #words: Buffer;
  readonly #tracing: Uint32Array;
  readonly #slots: (Slot | undefined)[] = [];
  readonly #targets = new Map<number, CompletionTarget>();
  /** Of the answer that a target is being given in #dispatch(), and its slot; 0 = none. */
  #givenTicket = 0;
  #givenSlot = 0;
  #attached = true;

  /** Takes exceptions of targets, which are bugs. Default: they become uncaught exceptions. */
  report: (error: unknown) => void = (error) => {
    setImmediate(() => {
      throw error;
    });
  };

  /** `tracing`: the word of readsParents. */
  constructor(native: NativeBinding, options: AttachOptions, tracing?: SharedArrayBuffer) {
    this.#native = native;
    const control = native.attach(options, (count) => this.#dispatch(count));
    this.#control = new Uint32Array(control);
    this.#words = Buffer.from(control);
    this.#tracing = new Uint32Array(tracing ?? new SharedArrayBuffer(4));
  }

  get native(): NativeBinding {
    return this.#native;
  }

  /** Whether callers' trace context counts: who has it says traceParent(). */
  get readsParents(): boolean {
    return this.#tracing[0] === 1;
  }

  /** The headers traceparent and tracestate of the request that is handed over next. */
  traceParent(parent: string, state: string): void {
    this.#native.traceParent(Buffer.from(parent, 'latin1'), Buffer.from(state, 'latin1'));
  }

  /** A whole REST body. */
  infer(
    protocol: number,
    handle: number,
    body: ArrayBuffer,
    jsonBytes: number,
    target: CompletionTarget,
  ): void {
    this.#settle(this.#native.infer(protocol, handle, body, jsonBytes), target);
  }

  /** A gRPC message; a long one's bytes stay pinned while it waits, a short one is copied.
   * `timeoutUs`: what is left of the call's deadline; 0 = none. */
  inferMessage(
    message: Buffer,
    protocol: MessageProtocol,
    timeoutUs: number,
    target: CompletionTarget,
  ): void {
    this.#settle(this.#native.inferMessage(message, protocol, timeoutUs), target);
  }

  /** Opens a body that comes in chunks. False: the target got the error. */
  openBody(expectedBytes: number, alignedAt: number, target: CompletionTarget): boolean {
    const code = this.#native.openBody(expectedBytes, alignedAt);
    if (code === ErrorCode.Ok) target.ticket = this.#ticket();
    else this.#settle(code, target);
    return code === ErrorCode.Ok;
  }

  /** More of the target's open body. False: the body is dropped, and the target got the error. */
  appendBody(chunk: ArrayBuffer, target: CompletionTarget): boolean {
    const code = this.#native.appendBody(target.ticket, chunk);
    if (code === ErrorCode.Ok) return true;
    const text = Buffer.from(this.#answer());
    this.#native.cancel(target.ticket);
    target.ticket = 0;
    target.complete(code, text, 0);
    return false;
  }

  /** The target's body, which has all come. */
  inferBody(protocol: number, handle: number, jsonBytes: number, target: CompletionTarget): void {
    this.#settle(this.#native.inferBody(target.ticket, protocol, handle, jsonBytes), target);
  }

  /** The same for a body that is packed; `coding`: 0 gzip, 1 deflate. */
  inferPacked(
    protocol: number,
    handle: number,
    jsonBytes: number,
    coding: number,
    target: CompletionTarget,
  ): void {
    const { ticket } = target;
    this.#settle(this.#native.inferPacked(ticket, protocol, handle, jsonBytes, coding), target);
  }

  /** Any other call of the addon that gives a code. */
  ask(call: (native: NativeBinding) => number, target: CompletionTarget): void {
    this.#settle(call(this.#native), target);
  }

  /** The same for a call that is done on return and has no answer. Throws ServalError. */
  run(call: (native: NativeBinding) => number): void {
    const code = call(this.#native);
    if (code !== ErrorCode.Ok) throw failure(code, this.#answer(), this.#jsonBytes());
  }

  /** The same for a call that is answered on return; memory of its own. Throws ServalError. */
  read(call: (native: NativeBinding) => number): Buffer {
    this.run(call);
    return Buffer.from(this.#answer());
  }

  /** Counts bytes that this thread's JavaScript holds for clients (negative: holds no more) in the
   * engine's budget. False: they are `refusable`, do not fit and are not counted; or they are
   * counted, and no more small ones are to be. */
  countBytes(change: number, refusable: boolean): boolean {
    return this.#native.countBytes(change, refusable);
  }

  /** Keeps the memory of the answer that complete() is being given until what this returns is
   * called. undefined: `body` is not in that memory, or it is not to be kept. */
  keepAnswer(body: Uint8Array): (() => void) | undefined {
    const ticket = this.#givenTicket;
    const isGiven = ticket !== 0 && this.#slots[this.#givenSlot]?.memory === body.buffer;
    if (!isGiven || !this.#native.keepAnswer(ticket)) return undefined;
    return () => void this.#native.cancel(ticket);
  }

  /** The client went away: drops an open body; a request is taken out where it waits, and ended
   * where it runs. Its target gets Cancelled, now or when it has ended. */
  cancel(target: CompletionTarget): void {
    const { ticket } = target;
    if (ticket === 0 || !this.#native.cancel(ticket)) return;
    target.ticket = 0;
    if (this.#targets.delete(ticket)) target.complete(ErrorCode.Cancelled, CANCELLED, 0);
  }

  /** Requests that wait for an answer on this thread. */
  get pending(): number {
    return this.#targets.size;
  }

  /** How many requests wait for an answer or run, by their model's name. */
  unanswered(): Readonly<Record<string, number>> {
    if (this.#native.unanswered() !== ErrorCode.Ok) return {};
    return countsByName(this.#answer());
  }

  /** Sets a value of the server's on the page of metrics, or adds to it. Nothing after detach():
   * sockets close, and are counted, later than that. */
  serverValue(name: ServerValue, value: number, adds: boolean): void {
    if (this.#attached) this.#native.serverValue(name, value, adds);
  }

  /** Lines of the access log that JavaScript made. Nothing after detach(). */
  addAccessLog(lines: Buffer): void {
    if (this.#attached) this.#native.addAccessLog(lines);
  }

  /** Leaves the engine: waiting requests are cancelled, running ones are waited for. */
  detach(): void {
    this.#attached = false;
    this.#targets.clear();
    this.#slots.length = 0;
    this.#native.detach();
  }

  #settle(code: number, target: CompletionTarget): void {
    if (this.#control[WORD_TRACED] === 1) target.traced?.(this.#parentText());
    if (code === PENDING) {
      const ticket = this.#ticket();
      target.ticket = ticket;
      this.#targets.set(ticket, target);
      return;
    }
    target.ticket = 0;
    target.complete(code, this.#answer(), this.#jsonBytes());
  }

  #parentText(): string {
    const words = this.#words;
    const trace = words.toString('hex', TRACE_ID_AT, TRACE_ID_AT + 16);
    return `00-${trace}-${words.toString('hex', SPAN_ID_AT, SPAN_ID_AT + 8)}-01`;
  }

  #ticket(): number {
    return this.#control[WORD_TICKET] ?? 0;
  }

  #jsonBytes(): number {
    return this.#control[WORD_JSON_BYTES] ?? 0;
  }

  // The answer (or error) of the call that just returned another code than PENDING.
  #answer(): Buffer {
    const control = this.#control;
    return this.#view(0, control[WORD_GENERATION] ?? 0, control[WORD_BYTES] ?? 0);
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

  // Hot path: reply (queued). Called once per wake-up, with the answers' words in the ring.
  #dispatch(count: number): void {
    const control = this.#control;
    for (let i = 0; i < count; i += 1) {
      const at = WORD_RING + i * RING_WORDS;
      const ticket = control[at] ?? 0;
      const target = this.#targets.get(ticket);
      if (target === undefined) continue; // its client went away while it ran
      this.#targets.delete(ticket);
      const code = control[at + RING_CODE] ?? ErrorCode.Internal;
      const slot = control[at + RING_SLOT] ?? 0;
      const generation = control[at + RING_GENERATION] ?? 0;
      const body = this.#view(slot, generation, control[at + RING_BYTES] ?? 0);
      target.ticket = 0;
      this.#givenTicket = ticket;
      this.#givenSlot = slot;
      try {
        target.complete(code, body, control[at + RING_JSON_BYTES] ?? 0);
      } catch (error) {
        this.report(error); // one answer's bug must not take the others of this wake-up along
      }
    }
    this.#givenTicket = 0;
  }
}
