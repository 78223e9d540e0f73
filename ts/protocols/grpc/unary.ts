// Unary gRPC calls of any protocol: answered from the request's bytes, immediately or later, or by
// the engine. Hot path; the listener's thread.
import { ErrorCode, ServalError } from '../../base/errors.js';
import type { MessageProtocol } from '../../model/request-kinds.js';
import { readError } from '../../engine/missing.js';
import type { CompletionTarget } from '../../engine/link.js';
import type { RegistrySnapshot } from '../../model/snapshot.js';
import { afterLoad, type Demand } from '../needs-load.js';
import {
  thrownStatus,
  type EngineMethod,
  type EngineWording,
  type GrpcReply,
  type GrpcStatus,
  type GrpcUnaryCall,
  type GrpcUnaryHandler,
} from '../../listeners/grpc/call.js';
import { inferStatus, timeoutUs, type GrpcInfer, type InferError } from './infer.js';

/** Maps an error to a status with the protocol's text. */
export type StatusOf = (error: InferError) => GrpcStatus;

/** The status of a handler's exception: `statusOf` of a ServalError, else Internal. */
export function statusOfThrown(error: unknown, statusOf: StatusOf = inferStatus): GrpcStatus {
  return error instanceof ServalError ? statusOf(error) : thrownStatus(error);
}

/** Responds from a request's bytes, or with the status of the ServalError that `answer` throws. */
export function answering(
  answer: (message: Buffer) => Buffer,
  statusOf: StatusOf = inferStatus,
): GrpcUnaryHandler {
  return (call, reply) => {
    let response: Buffer;
    try {
      response = answer(call.request);
    } catch (error) {
      reply(statusOfThrown(error, statusOf));
      return;
    }
    reply(null, response);
  };
}

/** The same for an answer that may need a model's load. */
export function answeringSeen(
  demand: Demand,
  snapshot: () => RegistrySnapshot,
  answer: (snapshot: RegistrySnapshot, message: Buffer) => Buffer,
  statusOf: StatusOf = inferStatus,
): GrpcUnaryHandler {
  return answeringLater(
    (message) => afterLoad(demand, snapshot(), (now) => answer(now, message)),
    statusOf,
  );
}

/** The asynchronous form. Work continues if the client leaves. */
export function answeringLater(
  answer: (message: Buffer) => Promise<Buffer>,
  statusOf: StatusOf = inferStatus,
): GrpcUnaryHandler {
  return (call, reply) => {
    answer(call.request).then(
      (response) => reply(null, response),
      (error: unknown) => reply(statusOfThrown(error, statusOf)),
    );
  };
}

/** Time until a call's deadline, in the engine's form; 0 = none. */
export function callTimeoutUs(call: GrpcUnaryCall): number {
  const deadline = Number(call.getDeadline());
  return deadline === Infinity ? 0 : timeoutUs(deadline, Date.now());
}

/** A call that one engine request answers. */
export class InferCall implements CompletionTarget {
  ticket = 0;

  /** `responseOf`: converts the engine's response to the one that is sent. */
  constructor(
    private readonly call: GrpcUnaryCall,
    private readonly reply: GrpcReply,
    private readonly statusOf: StatusOf,
    private readonly responseOf: (answer: Buffer) => Buffer,
  ) {}

  /** Submits the request, and cancels it if the client leaves. */
  infer(infer: GrpcInfer, message: Buffer, protocol: MessageProtocol, leftUs: number): void {
    infer.inferMessage(message, protocol, leftUs, this);
    if (this.ticket !== 0) this.call.on('cancelled', () => infer.cancel(this));
  }

  complete(code: number, body: Buffer, jsonBytes: number): void {
    if (code === ErrorCode.Ok) this.reply(null, this.responseOf(body));
    else this.reply(this.statusOf(readError(code, body, jsonBytes)));
  }
}

/** A unary method that the engine serves. */
export function engineMethod(
  protocol: MessageProtocol,
  wording: EngineWording,
  statusOf: StatusOf = inferStatus,
): EngineMethod {
  return {
    streams: false,
    protocol,
    wording,
    explain: (code, body, missingBytes) => statusOf(readError(code, body, missingBytes)),
  };
}
