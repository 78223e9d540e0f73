// The native side of a link, played by the test.
import { ErrorCode } from '../../../ts/base/errors.js';
import type { NativeBinding } from '../../../ts/engine/binding.js';
import { EngineLink } from '../../../ts/engine/link.js';

/** The addon's return value when a completion will follow; native/addon/link.h. */
export const PENDING = 255;
const WORDS = { bytes: 0, ticket: 2, generation: 3, ring: 16 };

/** A native side whose next calls return `code` with `text` in slot 0. */
export class FakeNative {
  readonly control = new Uint32Array(64);
  readonly calls: unknown[][] = [];
  readonly cancelled: number[] = [];
  /** Tickets of requests that can no longer be cancelled. */
  readonly running = new Set<number>();
  readonly link: EngineLink;
  code: number = ErrorCode.Ok;
  /** Return codes of single calls, by name. */
  readonly codes = new Map<string, number>();
  text: Uint8Array = Buffer.alloc(0);
  #completions: (count: number) => void = () => undefined;
  #generation = 0;

  constructor() {
    const call =
      (name: string) =>
      (...args: unknown[]): number =>
        this.#called(name, args);
    const native = {
      attach: (_options: unknown, onCompletions: (count: number) => void): ArrayBuffer => {
        this.#completions = onCompletions;
        return this.control.buffer as ArrayBuffer;
      },
      mapSlot: (): ArrayBuffer => Uint8Array.from(this.text).buffer,
      stats: call('stats'),
      metrics: call('metrics'),
      takeAccessLog: call('takeAccessLog'),
      infer: call('infer'),
      openBody: call('openBody'),
      appendBody: call('appendBody'),
      inferBody: call('inferBody'),
      inferMessage: call('inferMessage'),
      serverValue: call('serverValue'),
      addAccessLog: call('addAccessLog'),
      detach: call('detach'),
      cancel: (ticket: number): boolean => {
        this.cancelled.push(ticket);
        return !this.running.has(ticket);
      },
      keepAnswer: (): boolean => true,
    };
    this.link = new EngineLink(native as unknown as NativeBinding, { onnxruntimeLibrary: '' });
  }

  /** Completes the request with this ticket. */
  complete(ticket: number, code: number, text: string): void {
    this.text = Buffer.from(text);
    this.#generation += 1;
    this.control.set([ticket, code, 0, this.text.length, 0, this.#generation], WORDS.ring);
    this.#completions(1);
  }

  #called(name: string, args: unknown[]): number {
    this.calls.push([name, ...args]);
    this.#generation += 1;
    this.control[WORDS.bytes] = this.text.length;
    this.control[WORDS.generation] = this.#generation;
    this.control[WORDS.ticket] = this.calls.length;
    return this.codes.get(name) ?? this.code;
  }
}
