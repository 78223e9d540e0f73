// One ModelStreamInfer call: requests go to the engine as they come, replies leave in the order of
// the requests. Hot path; the listener's thread. Knows nothing of the messages' contents: the
// engine writes the wrapped replies, those of failed requests too, but for models that are not
// there. Source: Triton's ModelStreamInfer.
import { ErrorCode } from '../../errors.js';
import { readError, type Missing } from '../../native/missing.js';
import { V2_GRPC_STREAM } from '../../model/request-kinds.js';
import type { CompletionTarget } from '../../native/link.js';
import {
  PLAIN_WORDING,
  drainStatus,
  type EngineMethod,
  type EngineWording,
  type GrpcStreamCall,
  type GrpcStreamHandler,
  type KeptMessage,
} from '../../transport/grpc-call.js';
import { ProtobufWriter } from '../../protobuf/writer.js';
import {
  handParent,
  inferStatus,
  timeoutUs,
  type GrpcInfer,
  type InferError,
} from '../grpc/infer.js';
import { MISSING_SENTENCES, missingText } from './lookup.js';

/** Requests of one stream that the engine may hold, and their bytes; then reading pauses. */
const IN_FLIGHT_MAX = 64;
const IN_FLIGHT_BYTES_MAX = 64 * 1024 * 1024;

/** A request's place in the order of replies. */
class Slot implements CompletionTarget {
  ticket = 0;
  answered = false;
  /** Kept while an earlier one is missing. */
  reply: KeptMessage | null = null;
  error: InferError | null = null;

  constructor(
    private readonly stream: InferStream,
    readonly bytes: number,
    private readonly first: boolean,
  ) {}

  // A stream has one head: it names the span of its first request.
  traced(parent: string): void {
    if (this.first) this.stream.sendHead('traceparent', parent);
  }

  complete(code: number, body: Buffer, jsonBytes: number): void {
    if (code === ErrorCode.Ok) {
      this.stream.answer(this, null, body);
      return;
    }
    const error = readError(code, body, jsonBytes);
    if (error.missing === undefined) this.stream.answer(this, error, null);
    else this.stream.answer(this, null, errorReply(error.missing));
  }
}

/** A ModelStreamInferResponse {error_message = 1, infer_response = 2 {id = 3, parameters = 4}}. The
 * parameter says that it is the last reply to its request, as the engine's replies do. */
function errorReply(missing: Missing): Buffer {
  const { requestId } = missing;
  const bytes = new ProtobufWriter()
    .string(1, missingText(missing))
    .message(2, (response) => {
      if (requestId !== '') response.string(3, requestId);
      response.message(4, (entry) => {
        entry.string(1, 'triton_final_response').message(2, (value) => value.varint(1, 1));
      });
    })
    .concat();
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** Of both methods. */
export const V2_WORDING: EngineWording = { ...PLAIN_WORDING, missing: MISSING_SENTENCES };

/** Streams of a listener that hands their requests to the engine by itself. */
export const STREAM_METHOD: EngineMethod = {
  protocol: V2_GRPC_STREAM,
  wording: V2_WORDING,
  explain: (code, body, missingBytes) => {
    const error = readError(code, body, missingBytes);
    return error.missing === undefined ? inferStatus(error) : errorReply(error.missing);
  },
};

/** Handles one stream; made by the service for each. */
export class InferStream implements GrpcStreamHandler {
  private readonly call: GrpcStreamCall;
  private readonly infer: GrpcInfer;
  /** Oldest first. */
  private readonly slots: Slot[] = [];
  private slotsBytes = 0;
  private finish: 'no' | 'half-closed' | 'draining' = 'no';
  private closed = false;
  private begun = false;

  constructor(call: GrpcStreamCall, infer: GrpcInfer) {
    this.call = call;
    this.infer = infer;
  }

  get running(): number {
    return this.slots.filter((slot) => !slot.answered).length;
  }

  onMessage(message: Buffer): void {
    // What arrived after the drain began is not run: the closing status says so.
    if (this.finish === 'draining') return;
    const slot = new Slot(this, message.length, !this.begun);
    this.begun = true;
    this.slots.push(slot);
    this.slotsBytes += slot.bytes;
    const { deadline } = this.call;
    const leftUs = deadline === Infinity ? 0 : timeoutUs(deadline, Date.now());
    if (this.infer.readsParents === true) handParent(this.infer, this.call);
    this.infer.inferMessage(message, V2_GRPC_STREAM, leftUs, slot);
    this.adjustReading();
  }

  sendHead(name: string, value: string): void {
    this.call.sendHead?.(name, value);
  }

  onHalfClose(): void {
    if (this.finish === 'no') this.finish = 'half-closed';
    this.finishWhenEmpty();
  }

  onCancel(): void {
    this.closed = true;
    this.cancelAll();
  }

  // The transport itself stops reading when too many replies wait for the client.
  onFlushed(): void {}

  onDrain(): void {
    if (this.finish === 'no') this.finish = 'draining';
    this.finishWhenEmpty();
  }

  /** Takes the outcome of a request. For slots only. */
  answer(slot: Slot, error: InferError | null, reply: Buffer | null): void {
    slot.answered = true;
    if (this.closed) return;
    if (slot === this.slots[0]) {
      this.release();
      this.send(error, reply);
      this.sendWaiting();
    } else {
      slot.error = error;
      slot.reply = reply === null ? null : (this.call.keep(reply) ?? null);
    }
  }

  private sendWaiting(): void {
    for (let head = this.slots[0]; head?.answered === true && !this.closed; head = this.slots[0]) {
      this.release();
      this.send(head.error, head.reply);
    }
    this.finishWhenEmpty();
    this.adjustReading();
  }

  // An error here is none of the request's own (those come as replies): it ends the stream.
  private send(error: InferError | null, reply: Buffer | KeptMessage | null): void {
    if (reply !== null) this.call.write(reply);
    if (error === null) return;
    this.closed = true;
    this.cancelAll();
    this.call.end(inferStatus(error));
  }

  private release(): void {
    const slot = this.slots.shift();
    this.slotsBytes -= slot?.bytes ?? 0;
  }

  private cancelAll(): void {
    for (const slot of this.slots) this.infer.cancel(slot);
    this.slots.length = 0;
  }

  private finishWhenEmpty(): void {
    if (this.closed || this.finish === 'no' || this.slots.length > 0) return;
    this.closed = true;
    this.call.end(this.finish === 'draining' ? drainStatus() : null);
  }

  private adjustReading(): void {
    if (this.closed) return;
    const full = this.slots.length >= IN_FLIGHT_MAX || this.slotsBytes >= IN_FLIGHT_BYTES_MAX;
    this.call.setPaused(full);
  }
}
