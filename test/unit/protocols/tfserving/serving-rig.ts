// TensorFlow Serving's gRPC services on a real socket, with an engine whose responses the test
// sets.
import assert from 'node:assert/strict';
import { after, before, beforeEach } from 'node:test';
import { ErrorCode } from '../../../../ts/base/errors.js';
import type { MessageProtocol } from '../../../../ts/model/request-kinds.js';
import type { CompletionTarget } from '../../../../ts/engine/link.js';
import type { GrpcInfer, InferError } from '../../../../ts/protocols/grpc/infer.js';
import { servingServices } from '../../../../ts/protocols/tfserving/grpc.js';
import type { RegistrySnapshot } from '../../../../ts/model/snapshot.js';
import { FakeControl } from '../../server/admin/fake-control.js';
import { GrpcServer } from '../grpc-server.js';
import { FakeReadings } from '../fake-readings.js';
import { errorAnswer } from '../missing.js';
import { RawClient, decode, encode, messageTypes, type Outcome } from '../raw-client.js';
import { SERVING_REGISTRY } from './serving-snapshot.js';

export const types = messageTypes();
export const encoded = (name: string, value: object): Buffer =>
  encode(types, `tensorflow.serving.${name}`, value);

export interface Request {
  readonly message: Buffer;
  readonly protocol: MessageProtocol;
  readonly timeoutUs: number;
  readonly target: CompletionTarget;
}

/**
 * Answers at once with what the test has set, or later if nothing is set. Replies share one buffer,
 * which is overwritten after each response, as the engine's is.
 */
export class TestEngine implements GrpcInfer {
  requests: Request[] = [];
  cancelled: number[] = [];
  reply: (request: Request, index: number) => Buffer | InferError | undefined = () => undefined;
  readonly #scratch = Buffer.alloc(65536);
  #waiting: (() => void)[] = [];

  inferMessage(
    message: Buffer,
    protocol: MessageProtocol,
    timeoutUs: number,
    target: CompletionTarget,
  ): void {
    const request = { message, protocol, timeoutUs, target };
    const index = this.requests.push(request) - 1;
    for (const wake of this.#waiting.splice(0)) wake();
    const reply = this.reply(request, index);
    if (reply === undefined) target.ticket = index + 1;
    else this.answer(request, reply);
  }

  cancel({ ticket }: CompletionTarget): void {
    if (ticket !== 0) this.cancelled.push(ticket);
    for (const wake of this.#waiting.splice(0)) wake();
  }

  answer({ target }: Request, reply: Buffer | InferError): void {
    target.ticket = 0;
    if (!Buffer.isBuffer(reply)) {
      target.complete(...errorAnswer(reply));
      return;
    }
    const length = reply.copy(this.#scratch);
    target.complete(ErrorCode.Ok, this.#scratch.subarray(0, length), 0);
    this.#scratch.fill(0xff);
  }

  request(index: number): Request {
    const found = this.requests[index];
    assert.ok(found, `request ${index}`);
    return found;
  }

  async until(condition: () => boolean): Promise<void> {
    while (!condition())
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
  }
}

/** The parts of one test file's services. */
export interface ServingRig {
  readonly engine: TestEngine;
  readonly control: FakeControl;
  readonly readings: FakeReadings;
  call(method: string, message: Buffer, options?: object): Promise<Outcome>;
  /** Resolves to the decoded response of a call that succeeds. */
  answered(method: string, message: Buffer, response: string): Promise<object>;
}

const SERVICES: Readonly<Record<string, string>> = {
  GetModelStatus: 'ModelService',
  HandleReloadConfigRequest: 'ModelService',
  SessionRun: 'SessionService',
};

export const outcome = ({ code, details }: Outcome): readonly [number, string] => [code, details];

/** The model of serving-snapshot.ts. */
export const SPEC = { name: 'tf' };

/**
 * Serves while the tests of the file run; the recorded calls of the engine and the control are
 * cleared before each.
 */
export function servingRig(): ServingRig {
  const engine = new TestEngine();
  const control = new FakeControl();
  const readings = new FakeReadings();
  let listener: GrpcServer;
  let client: RawClient;
  before(async () => {
    const snapshot = (): RegistrySnapshot => SERVING_REGISTRY;
    const services = servingServices({
      snapshot,
      shown: snapshot,
      infer: engine,
      control,
      readings,
    });
    listener = new GrpcServer(services);
    client = new RawClient(await listener.start());
  });
  after(async () => {
    client.close();
    await listener.drain(5);
  });
  beforeEach(() => {
    engine.requests = [];
    engine.cancelled = [];
    engine.reply = () => undefined;
    control.calls.length = 0;
  });
  const call: ServingRig['call'] = (method, message, options = {}) => {
    const service = SERVICES[method] ?? 'PredictionService';
    return client.unary(`/tensorflow.serving.${service}/${method}`, message, options);
  };
  const answered: ServingRig['answered'] = async (method, message, response) => {
    const { code, details, message: bytes } = await call(method, message);
    assert.deepEqual([code, details], [0, '']);
    assert.ok(bytes !== undefined);
    return decode(types, `tensorflow.serving.${response}`, bytes);
  };
  return { engine, control, readings, call, answered };
}
