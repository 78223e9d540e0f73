// PredictionService.MultiInference: classify and regress of several signatures on one input. Each
// task becomes a request of its own, all on one version; results are put together as bytes. The
// gRPC listener's thread. Source: tensorflow/serving multi_inference.cc, inference.proto.
import { ErrorCode, ServalError } from '../../errors.js';
import { TF_CLASSIFY, TF_REGRESS } from '../../model/request-kinds.js';
import { ProtobufWriter } from '../../protobuf/writer.js';
import {
  checkTasks,
  CLASSIFY_METHOD,
  DEFAULT_SIGNATURE,
  readMultiInference,
  taskRequest,
  type InferenceTask,
  type MultiInference,
} from '../../protobuf/serving-messages.js';
import type { RegistrySnapshot, VersionSnapshot } from '../../model/snapshot.js';
import type { CompletionTarget } from '../../native/link.js';
import type { GrpcReply, GrpcUnaryCall, GrpcUnaryHandler } from '../../transport/grpc-call.js';
import { readError } from '../../native/missing.js';
import type { GrpcInfer } from '../grpc/infer.js';
import { callTimeoutUs, statusOfThrown, type StatusOf } from '../grpc/unary.js';
import { findServable, withBlockedReason } from './documents.js';
import {
  explainingStatus,
  messageBuffer,
  requestReader,
  requireSpec,
  type ServingOptions,
} from './grpc-spec.js';

interface Planned extends MultiInference {
  readonly version: VersionSnapshot;
}

/** Errors: as the rpc answers them. */
function plan(message: Buffer, snapshot: RegistrySnapshot): Planned {
  const request = readMultiInference(requestReader(message, 'MultiInferenceRequest'));
  const spec = requireSpec(
    request.tasks[0]?.spec ?? {
      name: '',
      version: undefined,
      label: undefined,
      signature: '',
    },
  );
  const version = findServable(snapshot, spec);
  checkTasks(request.tasks);
  for (const {
    spec: { signature },
  } of request.tasks)
    requireSignature(version, signature);
  return { ...request, version };
}

function requireSignature(version: VersionSnapshot, asked: string): void {
  const name = asked || DEFAULT_SIGNATURE;
  if (version.signatures.some((one) => one.name === name)) return;
  throw new ServalError(
    ErrorCode.InvalidArgument,
    withBlockedReason(version, `Requested signature not found in model graph: ${name}`, name),
  );
}

const isClassify = (task: InferenceTask): boolean => task.method === CLASSIFY_METHOD;

/** A ClassificationResponse or RegressionResponse as the entry of `results`: with its tag. */
function resultEntry(task: InferenceTask, response: Buffer): Buffer {
  const reader = requestReader(response, 'response');
  let result: Uint8Array = new Uint8Array();
  let spec: Uint8Array = new Uint8Array();
  while (reader.next()) {
    if (reader.field === 1) result = reader.view();
    else if (reader.field === 2) spec = reader.view();
    else reader.skip();
  }
  const writer = new ProtobufWriter();
  writer.message(1, (entry) => entry.bytes(1, spec).bytes(isClassify(task) ? 2 : 3, result));
  return messageBuffer(writer);
}

/** Copies of the input that one call's tasks may hold, in bytes; one task runs in any case. */
const IN_FLIGHT_BYTES_MAX = 64 * 1024 * 1024;

/** A task that was begun. */
class BegunTask implements CompletionTarget {
  ticket = 0;

  constructor(
    private readonly run: MultiRun,
    private readonly at: number,
    private readonly task: InferenceTask,
  ) {}

  complete(code: number, body: Buffer, jsonBytes: number): void {
    this.run.take(this.at, this.task, code, body, jsonBytes);
  }
}

/** One call: its tasks run side by side, as far as their copies of the input are small; the first
 * that fails ends it. */
class MultiRun {
  readonly #infer: GrpcInfer;
  readonly #reply: GrpcReply;
  readonly #planned: Planned;
  readonly #call: GrpcUnaryCall;
  readonly #statusOf: StatusOf;
  readonly #runningMax: number;
  readonly #entries: Buffer[] = [];
  readonly #begun: BegunTask[] = [];
  #answered = 0;
  #isBeginning = false;
  #over = false;

  constructor(
    infer: GrpcInfer,
    reply: GrpcReply,
    planned: Planned,
    call: GrpcUnaryCall,
    statusOf: StatusOf,
  ) {
    this.#statusOf = statusOf;
    this.#infer = infer;
    this.#reply = reply;
    this.#planned = planned;
    this.#call = call;
    const bytes = Math.max(1, call.request.length);
    this.#runningMax = Math.max(1, Math.floor(IN_FLIGHT_BYTES_MAX / bytes));
  }

  /** Begins as many tasks as may run. A loop, not recursion, where tasks are answered at once. */
  begin(): void {
    if (this.#isBeginning) return;
    this.#isBeginning = true;
    const { tasks, version, inputs } = this.#planned;
    while (!this.#over && this.#begun.length - this.#answered < this.#runningMax) {
      const at = this.#begun.length;
      const task = tasks[at];
      if (task === undefined) break;
      const message = Buffer.from(taskRequest(task, version.version, inputs));
      const protocol = isClassify(task) ? TF_CLASSIFY : TF_REGRESS;
      const target = new BegunTask(this, at, task);
      this.#begun.push(target);
      this.#infer.inferMessage(message, protocol, callTimeoutUs(this.#call), target);
    }
    this.#isBeginning = false;
  }

  /** The client went away, or a task failed. */
  cancel(): void {
    if (this.#over) return;
    this.#over = true;
    for (const target of this.#begun) this.#infer.cancel(target);
  }

  /** The outcome of a task. */
  take(at: number, task: InferenceTask, code: number, response: Buffer, jsonBytes: number): void {
    if (this.#over) return;
    if (code !== ErrorCode.Ok) {
      this.cancel();
      this.#reply(this.#statusOf(readError(code, response, jsonBytes)));
      return;
    }
    this.#entries[at] = resultEntry(task, response);
    this.#answered += 1;
    if (this.#answered < this.#planned.tasks.length) {
      this.begin();
      return;
    }
    this.#over = true;
    this.#reply(null, Buffer.concat(this.#entries));
  }
}

export function multiInference({ snapshot, infer }: ServingOptions): GrpcUnaryHandler {
  const explained = explainingStatus(snapshot);
  return (call, reply) => {
    try {
      const run = new MultiRun(infer, reply, plan(call.request, snapshot()), call, explained);
      run.begin();
      call.on('cancelled', () => run.cancel());
    } catch (error) {
      reply(statusOfThrown(error, explained));
    }
  };
}
