// inference.GRPCInferenceService over a real socket, with an engine that a test answers for. Test
// time only.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { type MessageProtocol } from '../../../../ts/model/request-kinds.js';
import { ErrorCode } from '../../../../ts/errors.js';
import type { EngineError } from '../../../../ts/native/missing.js';
import type { CompletionTarget } from '../../../../ts/native/link.js';
import type { GrpcInfer } from '../../../../ts/protocols/grpc/infer.js';
import { inferenceService } from '../../../../ts/protocols/v2/grpc.js';
import { GrpcListener } from '../../../../ts/transport/grpc-listener.js';
import type { RegistrySnapshot } from '../../../../ts/model/snapshot.js';
import { FakeControl } from '../../admin/fake-control.js';
import { FakeReadings } from '../fake-readings.js';
import { errorAnswer } from '../missing.js';
import { RawClient, messageTypes } from '../raw-client.js';
import { model, registry, version } from '../snapshots.js';

export const types = messageTypes();
export const SERVICE = '/inference.GRPCInferenceService/';
export const noResponse = {
  model_name: '',
  model_version: '',
  id: '',
  parameters: [],
  outputs: [],
  raw_output_contents: [],
};
const failed = { errorCode: ErrorCode.ModelInvalid, errorMessage: 'cut short' };

interface Request {
  readonly message: Buffer;
  readonly protocol: MessageProtocol;
  readonly timeoutUs: number;
  readonly ticket: number;
  readonly target: CompletionTarget;
}

// "now:..." is answered during the call; all else waits for the test. Replies share one buffer,
// which is overwritten after each answer, as the engine's is.
class TestEngine implements GrpcInfer {
  readonly requests: Request[] = [];
  readonly cancelled: number[] = [];
  private readonly scratch = Buffer.alloc(4096);
  private waiting: (() => void)[] = [];

  inferMessage(
    message: Buffer,
    protocol: MessageProtocol,
    timeoutUs: number,
    target: CompletionTarget,
  ): void {
    const ticket = this.requests.length + 1;
    const request = { message, protocol, timeoutUs, ticket, target };
    this.requests.push(request);
    for (const wake of this.waiting.splice(0)) wake();
    if (message.toString().startsWith('now:')) this.answer(request);
    else target.ticket = ticket;
  }

  cancel({ ticket }: CompletionTarget): void {
    if (ticket !== 0) this.cancelled.push(ticket);
    for (const wake of this.waiting.splice(0)) wake();
  }

  /** Answers with the request's own bytes. */
  answer({ message, target }: Request): void {
    const length = message.copy(this.scratch);
    target.ticket = 0;
    target.complete(ErrorCode.Ok, this.scratch.subarray(0, length), 0);
    this.scratch.fill(0);
  }

  fail(request: Request, code: ErrorCode, message: string): void {
    this.complete(request, { code, message });
  }

  complete({ target }: Request, error: EngineError): void {
    target.ticket = 0;
    target.complete(...errorAnswer(error));
  }

  async until(condition: () => boolean): Promise<void> {
    while (!condition())
      await new Promise<void>((resolve) => {
        this.waiting.push(resolve);
      });
  }

  request(index: number): Request {
    const found = this.requests[index];
    assert.ok(found, `request ${index}`);
    return found;
  }
}

export async function started(snapshot: RegistrySnapshot) {
  const engine = new TestEngine();
  const state = { snapshot };
  const service = inferenceService({
    snapshot: () => state.snapshot,
    shown: () => state.snapshot,
    infer: engine,
    serverVersion: '1.2.3',
    clientShm: false,
    control: new FakeControl(),
    readings: new FakeReadings(),
    encodeConfig: () => new Uint8Array(),
  });
  const listener = new GrpcListener({ host: '127.0.0.1', port: 0, services: [service] });
  const client = new RawClient(await listener.start());
  return { engine, state, listener, client };
}

/** One of all for the suite around, which starts and ends it. */
export function startedForSuite(): () => Awaited<ReturnType<typeof started>> {
  let server: Awaited<ReturnType<typeof started>>;
  before(async () => {
    server = await started(registryOfAll);
  });
  after(async () => {
    server.client.close();
    await server.listener.drain(5);
  });
  return () => server;
}

export const registryOfAll = registry([
  model('m', [version('12', 'END', failed), version('10'), version('9')]),
  model('loading', [version('1', 'LOADING')]),
  { ...model('none', []), problem: "platform 'ensemble' is not supported" },
]);
