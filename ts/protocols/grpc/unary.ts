// Unary gRPC calls of whatever protocol: answered from the request's bytes, at once or later, or by
// the engine. Hot plane: the listener's thread.
import { ServalError } from '../../errors.js';
import type { MessageProtocol } from '../../model/request-kinds.js';
import {
  thrownStatus,
  type GrpcReply,
  type GrpcStatus,
  type GrpcUnaryCall,
  type GrpcUnaryHandler,
} from '../../transport/grpc-call.js';
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

/** Hands the raw request to the engine. Hot path, gRPC. One closure per call for the answer; one
 * more only when the engine answers later. */
export function inferring(
  infer: GrpcInfer,
  protocol: MessageProtocol,
  statusOf: StatusOf = inferStatus,
): GrpcUnaryHandler {
  return (call: GrpcUnaryCall, reply: GrpcReply): void => {
    let answered = false;
    const ticket = infer.infer(call.request, protocol, callTimeoutUs(call), (error, response) => {
      answered = true;
      if (error === null) reply(null, response);
      else reply(statusOf(error));
    });
    if (ticket === 0) return;
    // 'cancelled' also follows an answer, when the ticket may already be another request's.
    call.on('cancelled', () => {
      if (!answered) infer.cancel(ticket);
    });
  };
}
