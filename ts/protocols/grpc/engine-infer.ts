// ModelInfer and ModelStreamInfer on the engine: bytes in, bytes out. Hot path, gRPC; the thread of
// the gRPC listener.
import { ErrorCode } from '../../errors.js';
import { readError } from '../../native/missing.js';
import { PENDING, type CompletionTarget, type EnginePort } from '../../native/port.js';
import type { MessageProtocol } from '../../model/request-kinds.js';
import type { GrpcInfer, InferDone } from './infer.js';

function finish(done: InferDone, code: number, body: Buffer, jsonBytes: number): void {
  if (code === ErrorCode.Ok) done(null, body);
  else done(readError(code, body, jsonBytes), null);
}

class WaitingCall implements CompletionTarget {
  constructor(readonly done: InferDone) {}

  complete(code: number, body: Buffer, jsonBytes: number): void {
    finish(this.done, code, body, jsonBytes);
  }
}

export class EngineInfer implements GrpcInfer {
  readonly #port: EnginePort;

  constructor(port: EnginePort) {
    this.#port = port;
  }

  infer(message: Buffer, protocol: MessageProtocol, timeoutUs: number, done: InferDone): number {
    const code = this.#port.inferMessage(message, protocol, timeoutUs);
    if (code === PENDING) return this.#port.expect(new WaitingCall(done));
    finish(done, code, this.#port.answer(), this.#port.answerJsonBytes());
    return 0;
  }

  cancel(ticket: number): void {
    const call = this.#port.targetOf(ticket);
    if (!(call instanceof WaitingCall) || !this.#port.cancel(ticket)) return;
    call.done({ code: ErrorCode.Cancelled, message: 'the client cancelled the call' }, null);
  }
}
