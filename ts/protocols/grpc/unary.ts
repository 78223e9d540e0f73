// Unary gRPC calls of whatever protocol: answered from the request's bytes, at once or later, or by
// the engine. Hot path; the listener's thread.
import { ErrorCode, ServalError } from '../../base/errors.js';
import type { MessageProtocol } from '../../model/request-kinds.js';
import { readError } from '../../engine/missing.js';
import type { CompletionTarget } from '../../engine/link.js';
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

/** How a protocol words an error. */
export type StatusOf = (error: InferError) => GrpcStatus;

/** The status of what a handler threw: `statusOf` of a ServalError, else Internal. */
export function statusOfThrown(error: unknown, statusOf: StatusOf = inferStatus): GrpcStatus {
  return error instanceof ServalError ? statusOf(error) : thrownStatus(error);
}

/** Answers from a request's bytes, or with the status of the ServalError that `answer` throws. */
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

/** The same, later. What was begun goes on when the client goes away. */
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

/** What is left of a call's deadline, as the engine takes it; 0 = it has none. */
export function callTimeoutUs(call: GrpcUnaryCall): number {
  const deadline = Number(call.getDeadline());
  return deadline === Infinity ? 0 : timeoutUs(deadline, Date.now());
}

/** A call that is answered by one request to the engine. */
export class InferCall implements CompletionTarget {
  ticket = 0;

  /** `responseOf`: what is sent for an answer. */
  constructor(
    private readonly call: GrpcUnaryCall,
    private readonly reply: GrpcReply,
    private readonly statusOf: StatusOf,
    private readonly responseOf: (answer: Buffer) => Buffer,
  ) {}

  /** Hands the request over, and takes it back when the client goes away. */
  infer(infer: GrpcInfer, message: Buffer, protocol: MessageProtocol, leftUs: number): void {
    infer.inferMessage(message, protocol, leftUs, this);
    if (this.ticket !== 0) this.call.on('cancelled', () => infer.cancel(this));
  }

  complete(code: number, body: Buffer, jsonBytes: number): void {
    if (code === ErrorCode.Ok) this.reply(null, this.responseOf(body));
    else this.reply(this.statusOf(readError(code, body, jsonBytes)));
  }
}

/** A unary method that the engine answers. */
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
