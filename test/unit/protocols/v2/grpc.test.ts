// inference.GRPCInferenceService over a real socket, with an engine that the test answers for.
// Source: proto/wire/inference.proto, Triton's ModelStreamInfer; statuses:
// docs/protocols/v2-rest.md.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  V2_GRPC,
  V2_GRPC_STREAM,
  type MessageProtocol,
} from '../../../../ts/model/request-kinds.js';
import { ErrorCode } from '../../../../ts/errors.js';
import type { EngineError } from '../../../../ts/native/missing.js';
import type { CompletionTarget } from '../../../../ts/native/link.js';
import type { GrpcInfer } from '../../../../ts/protocols/grpc/infer.js';
import { inferenceService } from '../../../../ts/protocols/v2/grpc.js';
import { GrpcListener } from '../../../../ts/transport/grpc-listener.js';
import type { RegistrySnapshot } from '../../../../ts/model/snapshot.js';
import { FakeControl } from '../../admin/fake-control.js';
import { FakeReadings } from '../fake-readings.js';
import { errorAnswer, missing } from '../missing.js';
import { RawClient, decode, encode, messageTypes } from '../raw-client.js';
import { model, registry, version } from '../snapshots.js';

const types = messageTypes();
const SERVICE = '/inference.GRPCInferenceService/';
const noResponse = {
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

async function started(snapshot: RegistrySnapshot) {
  const engine = new TestEngine();
  const state = { snapshot };
  const service = inferenceService({
    snapshot: () => state.snapshot,
    shown: () => state.snapshot,
    infer: engine,
    serverVersion: '1.2.3',
    control: new FakeControl(),
    readings: new FakeReadings(),
    encodeConfig: () => new Uint8Array(),
  });
  const listener = new GrpcListener({ host: '127.0.0.1', port: 0, services: [service] });
  const client = new RawClient(await listener.start());
  return { engine, state, listener, client };
}

const registryOfAll = registry([
  model('m', [version('12', 'END', failed), version('10'), version('9')]),
  model('loading', [version('1', 'LOADING')]),
  { ...model('none', []), problem: "platform 'ensemble' is not supported" },
]);

describe('V2 gRPC: metadata and health', () => {
  let server: Awaited<ReturnType<typeof started>>;
  before(async () => {
    server = await started(registryOfAll);
  });
  after(async () => {
    server.client.close();
    await server.listener.drain(5);
  });

  const ask = async (method: string, request: object): Promise<object> => {
    const bytes = encode(types, `inference.${method}Request`, request);
    const { code, details, message } = await server.client.unary(SERVICE + method, bytes);
    return message === undefined
      ? { code, details }
      : decode(types, `inference.${method}Response`, message);
  };

  it('is live, and ready when every model is', async () => {
    assert.deepEqual(await ask('ServerLive', {}), { live: true });
    assert.deepEqual(await ask('ServerReady', {}), { ready: false });
    server.state.snapshot = registry([model('m', [version('1')])]);
    assert.deepEqual(await ask('ServerReady', {}), { ready: true });
    server.state.snapshot = { ...server.state.snapshot, draining: true };
    assert.deepEqual(await ask('ServerReady', {}), { ready: false });
    server.state.snapshot = registryOfAll;
  });

  it('answers whether a model is ready', async () => {
    assert.deepEqual(await ask('ModelReady', { name: 'm' }), { ready: true });
    assert.deepEqual(await ask('ModelReady', { name: 'm', version: '9' }), { ready: true });
    assert.deepEqual(await ask('ModelReady', { name: 'm', version: '12' }), { ready: false });
    assert.deepEqual(await ask('ModelReady', { name: 'loading' }), { ready: false });
    assert.deepEqual(await ask('ModelReady', { name: 'nope' }), { ready: false });
    assert.deepEqual(await ask('ModelReady', { name: 'm', version: '11' }), { ready: false });
    assert.deepEqual(await ask('ModelReady', { name: 'm', version: 'x' }), {
      code: 5,
      details:
        "Request for unknown version of model 'm': expected a whole number from 0 " +
        "to 9223372036854775807, got 'x'",
    });
  });

  it('describes the server and a model', async () => {
    assert.deepEqual(await ask('ServerMetadata', {}), {
      name: 'serval',
      version: '1.2.3',
      extensions: [
        'binary_tensor_data',
        'classification',
        'logging',
        'model_configuration',
        'model_repository',
        'model_repository(unload_dependents)',
        'parameters',
        'schedule_policy',
        'statistics',
        'tabular_v1',
      ],
    });
    assert.deepEqual(await ask('ModelMetadata', { name: 'm', version: '10' }), {
      name: 'm',
      versions: ['9', '10'],
      platform: 'onnxruntime_onnx',
      inputs: [{ name: 'x', datatype: 'FP32', shape: ['-1', '4'] }],
      outputs: [{ name: 'y', datatype: 'INT64', shape: ['-1'] }],
      properties: [],
    });
    assert.deepEqual(await ask('ModelMetadata', { name: 'm', version: 'x' }), {
      code: 5,
      details:
        "Request for unknown version of model 'm': expected a whole number from 0 to " +
        "9223372036854775807, got 'x'",
    });
    assert.deepEqual(await ask('ModelMetadata', { name: 'loading' }), {
      code: 14,
      details: "model 'loading' has no ready version: version 1 is LOADING",
    });
  });

  it('refuses broken messages and says where', async () => {
    const cases: readonly [string, string, string][] = [
      ['ServerLive', '0a', 'ServerLiveRequest: byte 1: the message ends inside a number'],
      [
        'ServerReady',
        '07',
        'ServerReadyRequest: byte 0: field number 0 is not from 1 to 536870911',
      ],
      ['ServerMetadata', '14', 'ServerMetadataRequest: byte 0: field 2 ends no open group'],
      ['ModelReady', '0a026d', 'ModelReadyRequest: byte 1: field 1: 2 bytes expected, 1 are left'],
      [
        'ModelMetadata',
        '0a01ff',
        'ModelMetadataRequest: byte 2: field 1: the text is not valid UTF-8',
      ],
    ];
    for (const [method, hex, expected] of cases) {
      const bytes = Buffer.from(hex, 'hex');
      const { code, details } = await server.client.unary(SERVICE + method, bytes);
      assert.deepEqual([code, details], [3, expected], method);
    }
    const unknownFields = Buffer.from('9a0603616263a00601', 'hex');
    assert.equal((await server.client.unary(`${SERVICE}ServerLive`, unknownFields)).code, 0);
  });

  it('does not have the calls that it does not have', async () => {
    for (const method of ['TraceSetting', 'CudaSharedMemoryRegister', 'Nope', 'modelinfer']) {
      assert.equal((await server.client.unary(SERVICE + method, Buffer.alloc(0))).code, 12);
    }
  });
});

describe('V2 gRPC: ModelInfer', () => {
  let server: Awaited<ReturnType<typeof started>>;
  before(async () => {
    server = await started(registryOfAll);
  });
  after(async () => {
    server.client.close();
    await server.listener.drain(5);
  });

  const infer = (text: string, options = {}) =>
    server.client.unary(`${SERVICE}ModelInfer`, Buffer.from(text), options);

  it('hands the bytes over and answers now or later', async () => {
    assert.equal((await infer('now: at once')).message?.toString(), 'now: at once');
    const { engine } = server;
    const first = infer('first');
    await engine.until(() => engine.requests.length === 2);
    const second = infer('second');
    await engine.until(() => engine.requests.length === 3);
    engine.answer(engine.request(2));
    assert.equal((await second).message?.toString(), 'second');
    engine.answer(engine.request(1));
    assert.equal((await first).message?.toString(), 'first');
    assert.deepEqual(
      engine.requests.map((request) => request.protocol),
      [V2_GRPC, V2_GRPC, V2_GRPC],
    );
    assert.deepEqual(engine.cancelled, []);
  });

  it('turns each error code into its gRPC status', async () => {
    const { engine } = server;
    const cases: readonly [ErrorCode, number][] = [
      [ErrorCode.InvalidArgument, 3],
      [ErrorCode.MalformedBody, 3],
      [ErrorCode.ModelNotFound, 5],
      [ErrorCode.ModelNotReady, 14],
      [ErrorCode.QueueFull, 14],
      [ErrorCode.BodyTooLarge, 8],
      [ErrorCode.Unimplemented, 12],
      [ErrorCode.BackendFailed, 13],
      [ErrorCode.ShuttingDown, 14],
      [ErrorCode.DeadlineExceeded, 4],
    ];
    for (const [code, status] of cases) {
      const before = engine.requests.length;
      const outcome = infer('fails');
      await engine.until(() => engine.requests.length > before);
      engine.fail(engine.request(before), code, `why ${code}`);
      const { code: got, details } = await outcome;
      assert.deepEqual([got, details], [status, `why ${code}`]);
    }
  });

  it('says why a model or version does not serve, as REST does', async () => {
    const { engine } = server;
    const ask = async (error: EngineError): Promise<unknown[]> => {
      const before = engine.requests.length;
      const outcome = infer('whatever it is');
      await engine.until(() => engine.requests.length > before);
      engine.complete(engine.request(before), error);
      const { code: got, details } = await outcome;
      return [got, details];
    };
    assert.deepEqual(await ask(missing('model', 'none')), [
      14,
      "model 'none' has no ready version: platform 'ensemble' is not supported",
    ]);
    assert.deepEqual(await ask(missing('ready', 'm', { version: '12' })), [
      14,
      "model 'm' is not ready: version 12 is END: cut short",
    ]);
    assert.deepEqual(await ask(missing('ready', 'loading', { foundVersion: '1' })), [
      14,
      "model 'loading' has no ready version: version 1 is LOADING",
    ]);
    assert.deepEqual(await ask(missing('model', 'nope')), [
      5,
      "Request for unknown model: 'nope' is not found",
    ]);
    assert.deepEqual(await ask(missing('number', 'm', { version: '9'.repeat(70) + 'x' })), [
      3,
      `model version '${'9'.repeat(64)}' is not a number`,
    ]);
    // It came meanwhile.
    assert.deepEqual(await ask(missing('version', 'm', { version: '9' })), [
      5,
      "Request for unknown model: 'm' version 9 is not found",
    ]);
    const late = { version: '9', foundVersion: '9', reason: 'loading' };
    assert.deepEqual(await ask(missing('ready', 'm', late)), [
      14,
      "model 'm' version 9 is not ready: loading",
    ]);
  });

  it('hands the deadline over as what is left of it', async () => {
    const { engine } = server;
    const left = async (options: object): Promise<number> => {
      assert.equal((await infer('now: timed', options)).code, 0);
      return engine.requests.at(-1)?.timeoutUs ?? -1;
    };
    assert.equal(await left({}), 0);
    const minute = await left({ deadline: Date.now() + 60_000 });
    assert.ok(minute > 0 && minute <= 60_000_000, `${minute} us`);
    assert.ok(minute > 30_000_000, `${minute} us`);
  });

  it('cancels the ticket when the client goes away or its deadline passes', async () => {
    const { engine } = server;
    for (const code of [1, 4]) {
      const before = engine.requests.length;
      let cancel = (): void => undefined;
      const options = code === 4 ? { deadline: Date.now() + 50 } : {};
      const outcome = server.client.unary(
        `${SERVICE}ModelInfer`,
        Buffer.from('gone'),
        options,
        (call) => {
          cancel = () => call.cancel();
        },
      );
      await engine.until(() => engine.requests.length > before);
      if (code === 1) cancel();
      const request = engine.request(before);
      await engine.until(() => engine.cancelled.includes(request.ticket));
      assert.equal((await outcome).code, code);
      engine.fail(request, ErrorCode.Cancelled, 'cancelled');
    }
    assert.equal(engine.cancelled.length, 2);
  });
});

describe('V2 gRPC: ModelStreamInfer', () => {
  let server: Awaited<ReturnType<typeof started>>;
  before(async () => {
    server = await started(registryOfAll);
  });
  after(async () => {
    server.client.close();
    await server.listener.drain(5);
  });

  const open = () => {
    const { engine, client } = server;
    const from = engine.requests.length;
    const stream = client.stream(`${SERVICE}ModelStreamInfer`);
    const arrived = (count: number) => engine.until(() => engine.requests.length >= from + count);
    return { engine, from, stream, arrived };
  };

  it('answers in the order of the requests, whatever is ready first', async () => {
    const { engine, from, stream, arrived } = open();
    const texts = ['a', 'b', 'now:c', 'd'];
    for (const text of texts) stream.call.write(Buffer.from(text));
    await arrived(4);
    assert.equal(engine.request(from).protocol, V2_GRPC_STREAM);
    engine.answer(engine.request(from + 1));
    engine.answer(engine.request(from + 3));
    assert.equal(stream.count, 0);
    engine.answer(engine.request(from));
    for (const [index, text] of texts.entries()) {
      assert.equal((await stream.reply(index)).toString(), text);
    }
    stream.call.write(Buffer.from('now:e'));
    assert.equal((await stream.reply(4)).toString(), 'now:e');
    stream.call.end();
    assert.equal((await stream.ended).code, 0);
  });

  it("hands the stream's deadline over with each request", async () => {
    const { engine, client } = server;
    const stream = client.stream(`${SERVICE}ModelStreamInfer`, { deadline: Date.now() + 60_000 });
    stream.call.write(Buffer.from('now:timed'));
    await stream.reply(0);
    const { timeoutUs = 0 } = engine.requests.at(-1) ?? {};
    assert.ok(timeoutUs > 30_000_000 && timeoutUs <= 60_000_000, `${timeoutUs} us`);
    stream.call.end();
    await stream.ended;
  });

  it('ends after the last reply when the client has no more requests', async () => {
    const { engine, from, stream, arrived } = open();
    stream.call.write(Buffer.from('a'));
    stream.call.write(Buffer.from('b'));
    stream.call.end();
    await arrived(2);
    engine.answer(engine.request(from + 1));
    engine.answer(engine.request(from));
    assert.equal((await stream.ended).code, 0);
    assert.deepEqual(
      [(await stream.reply(0)).toString(), (await stream.reply(1)).toString()],
      ['a', 'b'],
    );
    assert.deepEqual(engine.cancelled, []);
  });

  it('holds at most 64 requests, then reads on as they are answered', async () => {
    const { engine, from, stream, arrived } = open();
    for (let index = 0; index < 200; index += 1) stream.call.write(Buffer.from(`r${index}`));
    stream.call.end();
    await arrived(64);
    // A later call on the same connection is served: what the stream sent has been looked at.
    await server.client.unary(`${SERVICE}ServerLive`, Buffer.alloc(0));
    assert.equal(engine.requests.length - from, 64);
    for (let index = 0; index < 200; index += 1) {
      await arrived(index + 1);
      engine.answer(engine.request(from + index));
    }
    assert.equal((await stream.ended).code, 0);
    assert.equal((await stream.reply(199)).toString(), 'r199');
  });

  it('cancels what is open when the client goes away', async () => {
    const { engine, from, stream, arrived } = open();
    for (const text of ['a', 'b', 'c']) stream.call.write(Buffer.from(text));
    await arrived(3);
    engine.answer(engine.request(from + 1));
    stream.call.cancel();
    await engine.until(() => engine.cancelled.length >= 2);
    assert.deepEqual(engine.cancelled, [from + 1, from + 3]);
    for (const index of [0, 2]) {
      engine.fail(engine.request(from + index), ErrorCode.Cancelled, 'cancelled');
    }
    assert.equal((await stream.ended).code, 1);
  });

  it("ends with the status of an error that is no single request's", async () => {
    const { engine, from, stream, arrived } = open();
    stream.call.write(Buffer.from('a'));
    stream.call.write(Buffer.from('b'));
    await arrived(2);
    const cancelled = engine.cancelled.length;
    engine.fail(engine.request(from), ErrorCode.ShuttingDown, 'engine stops');
    const { code, details } = await stream.ended;
    assert.deepEqual([code, details], [14, 'engine stops']);
    assert.deepEqual(engine.cancelled.slice(cancelled), [from + 2]);
    engine.answer(engine.request(from + 1));
  });

  it("answers for a model that is missing in the engine's words, and goes on", async () => {
    const { engine, from, stream, arrived } = open();
    for (const text of ['a', 'b', 'c']) stream.call.write(Buffer.from(text));
    await arrived(3);
    const unready = { foundVersion: '12', reason: 'failed to load: cut short', requestId: 'r7' };
    engine.complete(engine.request(from + 1), missing('ready', 'm', unready));
    engine.complete(engine.request(from), missing('model', 'nope'));
    engine.answer(engine.request(from + 2));
    const replies = [await stream.reply(0), await stream.reply(1)].map((reply) =>
      decode(types, 'inference.ModelStreamInferResponse', reply),
    );
    assert.deepEqual(replies, [
      {
        error_message: "Request for unknown model: 'nope' is not found",
        infer_response: noResponse,
      },
      {
        error_message: "model 'm' version 12 is not ready: failed to load: cut short",
        infer_response: { ...noResponse, id: 'r7' },
      },
    ]);
    assert.equal((await stream.reply(2)).toString(), 'c');
    stream.call.end();
    assert.equal((await stream.ended).code, 0);
  });

  it('finishes what was begun when the server drains', async () => {
    const { engine, listener, client } = await started(registryOfAll);
    const busy = client.stream(`${SERVICE}ModelStreamInfer`);
    const idle = client.stream(`${SERVICE}ModelStreamInfer`);
    idle.call.write(Buffer.from('now:x'));
    await idle.reply(0);
    busy.call.write(Buffer.from('a'));
    await engine.until(() => engine.requests.length === 2);
    const drained = listener.drain(60);
    assert.deepEqual((await idle.ended).details, 'the server is shutting down');
    engine.answer(engine.request(1));
    assert.equal((await busy.reply(0)).toString(), 'a');
    assert.equal((await busy.ended).code, 14);
    assert.deepEqual(await drained, { requests: 0, models: {} });
    client.close();
  });
});
