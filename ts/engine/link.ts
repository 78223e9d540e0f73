// One JavaScript thread's link to the engine: the per-request calls, the shared words, the
// views of response memory and the dispatch of completions. Hot path; the thread that made it. Each
// request names a target, which receives the answer once, during the call or later.
import { ErrorCode } from '../base/errors.js';
import { CallResult, LinkWord, MetricsKind, RingWord } from '../base/generated/engine.js';
import type { MessageProtocol } from '../model/request-kinds.js';
import { countsByName } from '../base/text.js';
import type { AttachOptions } from '../base/generated/attach-options.js';
import type { NativeBinding, ServerValue } from './binding.js';
import { failure } from './missing.js';

/** The metric names that metrics() writes. */
export const TRITON_METRICS = MetricsKind.Triton;
export const TENSORFLOW_METRICS = MetricsKind.TensorFlow;

/** Returned by the addon instead of an ErrorCode: a completion will follow. */
const PENDING = CallResult.Pending;

// Module constants, because an enum member would be looked up at each use.
const WORD_BYTES = LinkWord.Bytes;
const WORD_JSON_BYTES = LinkWord.JsonBytes;
const WORD_TICKET = LinkWord.Ticket;
const WORD_GENERATION = LinkWord.Generation;
const WORD_TRACED = LinkWord.Traced;
const TRACE_ID_AT = LinkWord.TraceId * 4;
const SPAN_ID_AT = LinkWord.SpanId * 4;
const WORD_RING = LinkWord.Ring;
const RING_CODE = RingWord.Code;
const RING_SLOT = RingWord.Slot;
const RING_BYTES = RingWord.Bytes;
const RING_JSON_BYTES = RingWord.JsonBytes;
const RING_GENERATION = RingWord.Generation;
const RING_LOAD_WAIT_MS = RingWord.LoadWaitMs;
const RING_WORDS = RingWord.Words;

const CACHED_VIEWS = 1024;

const CANCELLED = Buffer.from('the client cancelled the call');

/**
 * Receives an answer once, during the call or later, also when it is cancelled. `body` is valid
 * until complete() returns; for an error it is the input of readError().
 */
export interface CompletionTarget {
  /**
   * Ticket of its open body or its waiting request; 0 = none, nothing to cancel. Set by the link,
   * before complete().
   */
  ticket: number;
  complete(code: number, body: Buffer, jsonBytes: number): void;
  /** Called before complete() for a traced request, with the traceparent of its answer. */
  traced?(parent: string): void;
  /** Called before complete() for a request that waited for its model's load. */
  waited?(loadMs: number): void;
}

/** The calls of a link that submit and end requests. */
export type RequestLink = Pick<
  EngineLink,
  | 'infer'
  | 'inferMessage'
  | 'openBody'
  | 'appendBody'
  | 'inferBody'
  | 'inferPacked'
  | 'cancel'
  | 'countBytes'
  | 'serverValue'
  | 'readsParents'
  | 'traceParent'
>;

interface Slot {
  generation: number;
  memory: ArrayBuffer;
  views: (Buffer | undefined)[];
}

export class EngineLink {
  readonly #native: NativeBinding;
  readonly #block: Uint32Array;
  readonly #words: Buffer;
  readonly #tracing: Uint32Array;
  readonly #slots: (Slot | undefined)[] = [];
  readonly #targets = new Map<number, CompletionTarget>();
  /** Ticket of the answer that #dispatch() is delivering, and its slot; 0 = none. */
  #givenTicket = 0;
  #givenSlot = 0;
  #attached = true;

  /** Handles exceptions of targets, which are bugs. Default: they become uncaught exceptions. */
  report: (error: unknown) => void = (error) => {
    setImmediate(() => {
      throw error;
    });
  };

  /** `tracing`: the shared word that readsParents reads. */
  constructor(native: NativeBinding, options: AttachOptions, tracing?: SharedArrayBuffer) {
    this.#native = native;
    const block = native.attach(options, (count) => this.#dispatch(count));
    this.#block = new Uint32Array(block);
    this.#words = Buffer.from(block);
    this.#tracing = new Uint32Array(tracing ?? new SharedArrayBuffer(4));
  }

  get native(): NativeBinding {
    return this.#native;
  }

  /** Whether callers' trace context counts: callers that have one then call traceParent(). */
  get readsParents(): boolean {
    return this.#tracing[0] === 1;
  }

  /** Sets traceparent and tracestate of the request that is submitted next. */
  traceParent(parent: string, state: string): void {
    this.#native.traceParent(Buffer.from(parent, 'latin1'), Buffer.from(state, 'latin1'));
  }

  /** Submits a whole REST body. */
  infer(
    protocol: number,
    handle: number,
    body: ArrayBuffer,
    jsonBytes: number,
    target: CompletionTarget,
  ): void {
    this.#settle(this.#native.infer(protocol, handle, body, jsonBytes), target);
  }

  /**
   * Submits a gRPC message; a long one's bytes stay pinned while it waits, a short one is copied.
   * `timeoutUs`: the remainder of the call's deadline; 0 = none.
   */
  inferMessage(
    message: Buffer,
    protocol: MessageProtocol,
    timeoutUs: number,
    target: CompletionTarget,
  ): void {
    this.#settle(this.#native.inferMessage(message, protocol, timeoutUs), target);
  }

  /** Opens a body that arrives in chunks. False: the target got the error. */
  openBody(expectedBytes: number, alignedAt: number, target: CompletionTarget): boolean {
    const code = this.#native.openBody(expectedBytes, alignedAt);
    if (code === ErrorCode.Ok) target.ticket = this.#ticket();
    else this.#settle(code, target);
    return code === ErrorCode.Ok;
  }

  /**
   * Appends to the target's open body. False: the body is dropped, and the target got the error.
   */
  appendBody(chunk: ArrayBuffer, target: CompletionTarget): boolean {
    const code = this.#native.appendBody(target.ticket, chunk);
    if (code === ErrorCode.Ok) return true;
    const text = Buffer.from(this.#answer());
    this.#native.cancel(target.ticket);
    target.ticket = 0;
    target.complete(code, text, 0);
    return false;
  }

  /** Submits the target's body, which has arrived completely. */
  inferBody(protocol: number, handle: number, jsonBytes: number, target: CompletionTarget): void {
    this.#settle(this.#native.inferBody(target.ticket, protocol, handle, jsonBytes), target);
  }

  /** Same as infer() for a compressed body; `coding`: 0 gzip, 1 deflate. */
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

  /** Makes any other call of the addon that returns a code. */
  ask(call: (native: NativeBinding) => number, target: CompletionTarget): void {
    this.#settle(call(this.#native), target);
  }

  /** Makes a call that completes on return and has no answer. Throws ServalError. */
  run(call: (native: NativeBinding) => number): void {
    const code = call(this.#native);
    if (code !== ErrorCode.Ok) throw failure(code, this.#answer(), this.#jsonBytes());
  }

  /** Makes a call whose result is the ticket's word. Throws ServalError. */
  readTicket(call: (native: NativeBinding) => number): number {
    this.run(call);
    return this.#ticket();
  }

  /** Makes a call that answers on return, and copies the answer. Throws ServalError. */
  read(call: (native: NativeBinding) => number): Buffer {
    this.run(call);
    return Buffer.from(this.#answer());
  }

  /**
   * Adds bytes that this thread's JavaScript holds for clients (negative: releases) to the engine's
   * budget. False: they are `refusable`, do not fit and are not counted; or they are counted, but
   * no more small ones should follow.
   */
  countBytes(change: number, refusable: boolean): boolean {
    return this.#native.countBytes(change, refusable);
  }

  /**
   * Keeps the memory of the answer that complete() is receiving until the returned function is
   * called. undefined: `body` is not in that memory, or cannot be kept.
   */
  keepAnswer(body: Uint8Array): (() => void) | undefined {
    const ticket = this.#givenTicket;
    const isGiven = ticket !== 0 && this.#slots[this.#givenSlot]?.memory === body.buffer;
    if (!isGiven || !this.#native.keepAnswer(ticket)) return undefined;
    return () => void this.#native.cancel(ticket);
  }

  /**
   * Handles a client that disconnected: drops an open body; removes a waiting request, and stops a
   * running one. Its target gets Cancelled, now or when the run has ended.
   */
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

  /** Counts of requests that wait for an answer or run, by their model's name. */
  unanswered(): Readonly<Record<string, number>> {
    if (this.#native.unanswered() !== ErrorCode.Ok) return {};
    return countsByName(this.#answer());
  }

  /**
   * Sets a server value on the metrics page, or adds to it. Does nothing after detach(): sockets
   * close, and are counted, later than that.
   */
  serverValue(name: ServerValue, value: number, adds: boolean): void {
    if (this.#attached) this.#native.serverValue(name, value, adds);
  }

  /** Adds access-log lines that JavaScript made. Does nothing after detach(). */
  addAccessLog(lines: Buffer): void {
    if (this.#attached) this.#native.addAccessLog(lines);
  }

  /** Leaves the engine: cancels waiting requests and waits for running ones. */
  detach(): void {
    this.#attached = false;
    this.#targets.clear();
    this.#slots.length = 0;
    this.#native.detach();
  }

  #settle(code: number, target: CompletionTarget): void {
    if (this.#block[WORD_TRACED] === 1) target.traced?.(this.#parentText());
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
    return this.#block[WORD_TICKET] ?? 0;
  }

  #jsonBytes(): number {
    return this.#block[WORD_JSON_BYTES] ?? 0;
  }

  // Returns the answer (or error) of the call that just returned another code than PENDING.
  #answer(): Buffer {
    const block = this.#block;
    return this.#view(0, block[WORD_GENERATION] ?? 0, block[WORD_BYTES] ?? 0);
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
    const block = this.#block;
    for (let i = 0; i < count; i += 1) {
      const at = WORD_RING + i * RING_WORDS;
      const ticket = block[at] ?? 0;
      const target = this.#targets.get(ticket);
      if (target === undefined) continue; // its client disconnected while it ran
      this.#targets.delete(ticket);
      const code = block[at + RING_CODE] ?? ErrorCode.Internal;
      const slot = block[at + RING_SLOT] ?? 0;
      const generation = block[at + RING_GENERATION] ?? 0;
      const body = this.#view(slot, generation, block[at + RING_BYTES] ?? 0);
      target.ticket = 0;
      this.#givenTicket = ticket;
      this.#givenSlot = slot;
      const loadMs = block[at + RING_LOAD_WAIT_MS] ?? 0;
      try {
        if (loadMs !== 0) target.waited?.(loadMs);
        target.complete(code, body, block[at + RING_JSON_BYTES] ?? 0);
      } catch (error) {
        this.report(error); // a bug in one target must not affect the other answers of this wake-up
      }
    }
    this.#givenTicket = 0;
  }
}
