// A thread's link for the requests of one caller whose key has a number: the engine counts them
// under its number. Hot path of such requests; the thread of the link.
import type { ServerValue } from './binding.js';
import type { CompletionTarget, EngineLink, RequestLink } from './link.js';
import type { MessageProtocol } from '../model/request-kinds.js';

export class CallerLink implements RequestLink {
  /** `caller`: its number in the engine's CallerTable. */
  constructor(
    private readonly link: EngineLink,
    private readonly caller: number,
  ) {}

  get readsParents(): boolean {
    return this.link.readsParents;
  }

  traceParent(parent: string, state: string): void {
    this.link.traceParent(parent, state);
  }

  infer(
    protocol: number,
    handle: number,
    body: ArrayBuffer,
    jsonBytes: number,
    target: CompletionTarget,
  ): void {
    this.#asCaller(() => this.link.infer(protocol, handle, body, jsonBytes, target));
  }

  inferMessage(
    message: Buffer,
    protocol: MessageProtocol,
    timeoutUs: number,
    target: CompletionTarget,
  ): void {
    this.#asCaller(() => this.link.inferMessage(message, protocol, timeoutUs, target));
  }

  openBody(expectedBytes: number, alignedAt: number, target: CompletionTarget): boolean {
    return this.link.openBody(expectedBytes, alignedAt, target);
  }

  appendBody(chunk: ArrayBuffer, target: CompletionTarget): boolean {
    return this.link.appendBody(chunk, target);
  }

  inferBody(protocol: number, handle: number, jsonBytes: number, target: CompletionTarget): void {
    this.#asCaller(() => this.link.inferBody(protocol, handle, jsonBytes, target));
  }

  inferPacked(
    protocol: number,
    handle: number,
    jsonBytes: number,
    coding: number,
    target: CompletionTarget,
  ): void {
    this.#asCaller(() => this.link.inferPacked(protocol, handle, jsonBytes, coding, target));
  }

  cancel(target: CompletionTarget): void {
    this.link.cancel(target);
  }

  countBytes(change: number, refusable: boolean): boolean {
    return this.link.countBytes(change, refusable);
  }

  serverValue(name: ServerValue, value: number, adds: boolean): void {
    this.link.serverValue(name, value, adds);
  }

  #asCaller(submit: () => void): void {
    const { native } = this.link;
    native.setCaller(this.caller);
    try {
      submit();
    } finally {
      native.setCaller(0);
    }
  }
}
