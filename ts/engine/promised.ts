// Calls of the engine as promises. Control plane; the thread of the link.
import { ErrorCode, type ServalError } from '../base/errors.js';
import type { NativeBinding } from './binding.js';
import { failure } from './missing.js';
import type { CompletionTarget, EngineLink } from './link.js';

/** Settles a promise with the result of `read` (which copies the answer), or an error. */
export class PromiseTarget<T> implements CompletionTarget {
  ticket = 0;
  readonly promise: Promise<T>;
  #resolve: (value: T) => void = () => undefined;
  #reject: (error: ServalError) => void = () => undefined;

  constructor(private readonly read: (bytes: Buffer) => T) {
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  complete(code: number, body: Buffer, jsonBytes: number): void {
    if (code === ErrorCode.Ok) this.#resolve(this.read(Buffer.from(body)));
    else this.#reject(failure(code, body, jsonBytes));
  }
}

/** Returns a promise for a call's result. Errors: the call's own. */
export function promised<T>(
  link: EngineLink,
  call: (native: NativeBinding) => number,
  read: (bytes: Buffer) => T,
): Promise<T> {
  const target = new PromiseTarget(read);
  link.ask(call, target);
  return target.promise;
}
