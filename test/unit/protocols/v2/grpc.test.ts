// inference.GRPCInferenceService over a real socket, with an engine that the test answers for.
// Streams: grpc-stream.test.ts. Source: proto/wire/inference.proto; statuses:
// docs/protocols/v2-rest.md.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { V2_GRPC } from '../../../../ts/model/request-kinds.js';
import { ErrorCode } from '../../../../ts/errors.js';
import type { EngineError } from '../../../../ts/native/missing.js';
import { missing } from '../missing.js';
import { decode, encode } from '../raw-client.js';
import { model, registry, version } from '../snapshots.js';
import { registryOfAll, SERVICE, startedForSuite, types } from './grpc-rig.js';

describe('V2 gRPC: metadata and health', () => {
  const server = startedForSuite();

  const ask = async (method: string, request: object): Promise<object> => {
    const bytes = encode(types, `inference.${method}Request`, request);
    const { code, details, message } = await server().client.unary(SERVICE + method, bytes);
    return message === undefined
      ? { code, details }
      : decode(types, `inference.${method}Response`, message);
  };

  it('is live, and ready when every model is', async () => {
    assert.deepEqual(await ask('ServerLive', {}), { live: true });
    assert.deepEqual(await ask('ServerReady', {}), { ready: false });
    server().state.snapshot = registry([model('m', [version('1')])]);
    assert.deepEqual(await ask('ServerReady', {}), { ready: true });
    server().state.snapshot = { ...server().state.snapshot, draining: true };
    assert.deepEqual(await ask('ServerReady', {}), { ready: false });
    server().state.snapshot = registryOfAll;
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
        'trace',
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
      const { code, details } = await server().client.unary(SERVICE + method, bytes);
      assert.deepEqual([code, details], [3, expected], method);
    }
    const unknownFields = Buffer.from('9a0603616263a00601', 'hex');
    assert.equal((await server().client.unary(`${SERVICE}ServerLive`, unknownFields)).code, 0);
  });

  it('does not have the calls that it does not have', async () => {
    for (const method of ['Nope', 'modelinfer']) {
      assert.equal((await server().client.unary(SERVICE + method, Buffer.alloc(0))).code, 12);
    }
  });
});

describe('V2 gRPC: ModelInfer', () => {
  const server = startedForSuite();

  const infer = (text: string, options = {}) =>
    server().client.unary(`${SERVICE}ModelInfer`, Buffer.from(text), options);

  it('hands the bytes over and answers now or later', async () => {
    assert.equal((await infer('now: at once')).message?.toString(), 'now: at once');
    const { engine } = server();
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
    const { engine } = server();
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
    const { engine } = server();
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
    const { engine } = server();
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
    const { engine } = server();
    for (const code of [1, 4]) {
      const before = engine.requests.length;
      let cancel = (): void => undefined;
      const options = code === 4 ? { deadline: Date.now() + 50 } : {};
      const outcome = server().client.unary(
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
