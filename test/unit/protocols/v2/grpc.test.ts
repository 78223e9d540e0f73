// inference.GRPCInferenceService over a real socket, with an engine whose responses the test sets.
// Source: proto/wire/inference.proto; statuses: docs/reference/protocols/v2-rest.md.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ErrorCode } from '../../../../ts/base/errors.js';
import type { EngineError } from '../../../../ts/engine/missing.js';
import { inferenceService } from '../../../../ts/protocols/v2/grpc.js';
import { GrpcStatus } from '../../../../ts/listeners/grpc/call.js';
import { FakeControl } from '../../server/admin/fake-control.js';
import { FakeReadings } from '../fake-readings.js';
import { errorAnswer, missing } from '../missing.js';
import { decode, encode } from '../raw-client.js';
import { model, registry, version } from '../snapshots.js';
import { noResponse, registryOfAll, SERVICE, startedForSuite, types } from './grpc-rig.js';

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
        'sequence',
        'sequence(string_id)',
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
      [
        'ModelReady',
        '0a026d',
        'ModelReadyRequest: byte 1: field 1: expected 2 bytes, but only 1 remain',
      ],
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

describe('V2 gRPC: errors of the engine', () => {
  const service = inferenceService({
    snapshot: () => registryOfAll,
    shown: () => registryOfAll,
    serverVersion: '1',
    clientShm: false,
    control: new FakeControl(),
    readings: new FakeReadings(),
    encodeConfig: () => new Uint8Array(),
  });

  const explained = (method: string, error: EngineError): GrpcStatus | Buffer | undefined =>
    service.engine?.[method]?.explain(...errorAnswer(error));
  const inferred = (error: EngineError): unknown[] => {
    const status = explained('ModelInfer', error);
    assert.ok(status instanceof GrpcStatus);
    return [status.code, status.details];
  };

  it('turns each error code into its gRPC status', () => {
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
      assert.deepEqual(inferred({ code, message: `why ${code}` }), [status, `why ${code}`]);
    }
  });

  it('says why a model or version does not serve, as REST does', () => {
    assert.deepEqual(inferred(missing('model', 'none')), [
      14,
      "model 'none' has no ready version: platform 'ensemble' is not supported",
    ]);
    assert.deepEqual(inferred(missing('ready', 'm', { version: '12' })), [
      14,
      "model 'm' is not ready: version 12 is END: cut short",
    ]);
    assert.deepEqual(inferred(missing('ready', 'loading', { foundVersion: '1' })), [
      14,
      "model 'loading' has no ready version: version 1 is LOADING",
    ]);
    assert.deepEqual(inferred(missing('model', 'nope')), [
      5,
      "Request for unknown model: 'nope' is not found",
    ]);
    assert.deepEqual(inferred(missing('number', 'm', { version: '9'.repeat(70) + 'x' })), [
      3,
      `model version '${'9'.repeat(64)}' is not a number`,
    ]);
    // It was loaded meanwhile.
    assert.deepEqual(inferred(missing('version', 'm', { version: '9' })), [
      5,
      "Request for unknown model: 'm' version 9 is not found",
    ]);
    const late = { version: '9', foundVersion: '9', reason: 'loading' };
    assert.deepEqual(inferred(missing('ready', 'm', late)), [
      14,
      "model 'm' version 9 is not ready: loading",
    ]);
  });

  it('answers a stream for a model that is missing', () => {
    const unready = { foundVersion: '12', reason: 'failed to load: cut short', requestId: 'r7' };
    const reply = (error: EngineError): object =>
      decode(
        types,
        'inference.ModelStreamInferResponse',
        explained('ModelStreamInfer', error) as Buffer,
      );
    // The mark of the last reply to a request, as in the engine's own replies.
    const parameters = [{ key: 'triton_final_response', value: { bool_param: true } }];
    assert.deepEqual(reply(missing('model', 'nope')), {
      error_message: "Request for unknown model: 'nope' is not found",
      infer_response: { ...noResponse, parameters },
    });
    assert.deepEqual(reply(missing('ready', 'm', unready)), {
      error_message: "model 'm' version 12 is not ready: failed to load: cut short",
      infer_response: { ...noResponse, id: 'r7', parameters },
    });
    const ended = explained('ModelStreamInfer', {
      code: ErrorCode.ShuttingDown,
      message: 'engine stops',
    });
    assert.deepEqual(ended, new GrpcStatus(14, 'engine stops'));
  });
});
