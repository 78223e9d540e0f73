// The control calls of inference.GRPCInferenceService over a real socket, on a registry and an
// engine whose responses the test sets. Source: proto/wire/inference.proto; v2-protocol.md 2, 11.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { ErrorCode, ServalError } from '../../../../ts/base/errors.js';
import { timeoutUs } from '../../../../ts/protocols/grpc/infer.js';
import { inferenceService } from '../../../../ts/protocols/v2/grpc.js';
import { FakeControl } from '../../server/admin/fake-control.js';
import { GrpcServer } from '../grpc-server.js';
import { FakeReadings } from '../fake-readings.js';
import { RawClient, decode, encode, messageTypes } from '../raw-client.js';
import { model, registry, version } from '../snapshots.js';

const types = messageTypes();
const SERVICE = '/inference.GRPCInferenceService/';
const failed = { errorCode: ErrorCode.ModelInvalid, errorMessage: 'cut short' };
const snapshot = registry([
  model('m', [version('12', 'END', failed), version('10'), version('9')]),
  model('a', [version('1')]),
]);

describe('V2 gRPC: control calls', () => {
  const control = new FakeControl();
  const readings = new FakeReadings();
  let listener: GrpcServer;
  let client: RawClient;
  before(async () => {
    const service = inferenceService({
      snapshot: () => snapshot,
      shown: () => snapshot,
      control,
      readings,
      serverVersion: '1',
      clientShm: false,
      encodeConfig: (config) => encode(types, 'inference.ModelConfig', config),
    });
    listener = new GrpcServer([service]);
    client = new RawClient(await listener.start());
  });
  after(async () => {
    client.close();
    await listener.drain(5);
  });
  beforeEach(() => {
    control.calls.length = 0;
    readings.asked.length = 0;
    readings.error = undefined;
  });

  const ask = async (method: string, request: object): Promise<object> => {
    const bytes = encode(types, `inference.${method}Request`, request);
    const { code, details, message } = await client.unary(SERVICE + method, bytes);
    return message === undefined
      ? { code, details }
      : decode(types, `inference.${method}Response`, message);
  };
  const entry = (key: string, value: object): object => ({ key, value });

  it('lists the repository', async () => {
    assert.deepEqual(await ask('RepositoryIndex', {}), {
      models: [
        { name: 'm', version: '1', state: 'UNAVAILABLE', reason: 'unloaded' },
        { name: 'm', version: '2', state: 'READY', reason: '' },
        { name: 'never', version: '', state: 'UNAVAILABLE', reason: '' },
      ],
    });
    assert.deepEqual(await ask('RepositoryIndex', { repository_name: 'r', ready: true }), {
      models: [{ name: 'm', version: '2', state: 'READY', reason: '' }],
    });
    assert.deepEqual(control.calls, [
      ['index', '', false],
      ['index', 'r', true],
    ]);
    control.error = new ServalError(ErrorCode.InvalidArgument, 'unknown repository');
    assert.deepEqual(await ask('RepositoryIndex', { repository_name: 'x' }), {
      code: 3,
      details: 'unknown repository',
    });
  });

  it('loads, with a configuration and files', async () => {
    assert.deepEqual(await ask('RepositoryModelLoad', { model_name: 'new' }), {});
    assert.deepEqual(
      await ask('RepositoryModelLoad', {
        model_name: 'new',
        parameters: [
          entry('config', { string_param: '{}' }),
          entry('file:1/model.onnx', { bytes_param: Buffer.of(0, 255) }),
          entry('file:1/empty', { bytes_param: Buffer.of() }),
        ],
      }),
      {},
    );
    assert.deepEqual(control.calls, [
      ['load', 'new', undefined, []],
      [
        'load',
        'new',
        '{}',
        [
          ['1/model.onnx', '00ff'],
          ['1/empty', ''],
        ],
      ],
    ]);
    assert.deepEqual(
      await ask('RepositoryModelLoad', { repository_name: 'r', model_name: 'new' }),
      { code: 5, details: "model 'new' is not in repository 'r'" },
    );
  });

  it('unloads', async () => {
    assert.deepEqual(await ask('RepositoryModelUnload', { model_name: 'm' }), {});
    const parameters = [entry('unload_dependents', { bool_param: true })];
    assert.deepEqual(await ask('RepositoryModelUnload', { model_name: 'm', parameters }), {});
    const no = [entry('unload_dependents', { bool_param: false })];
    assert.deepEqual(
      await ask('RepositoryModelUnload', { repository_name: 'r', model_name: 'm', parameters: no }),
      {},
    );
    assert.deepEqual(control.calls, [
      ['unload', 'm', false],
      ['unload', 'm', true],
      ['index', 'r', false],
      ['unload', 'm', false],
    ]);
  });

  it('refuses loads and unloads that say something else', async () => {
    const cases: readonly [string, object, string][] = [
      ['Load', {}, 'model_name: expected a name, got ""'],
      [
        'Load',
        { model_name: 'm', parameters: [entry('config', { bytes_param: Buffer.of(1) })] },
        'parameters.config: expected a string with JSON, got bytes',
      ],
      [
        'Load',
        { model_name: 'm', parameters: [entry('file:1/x', { string_param: 'AA==' })] },
        'parameters.file:1/x: expected bytes, got a string',
      ],
      [
        'Load',
        { model_name: 'm', parameters: [entry('file:1/x', {})] },
        'parameters.file:1/x: expected bytes, got null',
      ],
      [
        'Load',
        { model_name: 'm', parameters: [entry('x', { int64_param: 1 })] },
        "parameters: unknown parameter 'x', expected config or file:<version>/<name>",
      ],
      ['Unload', {}, 'model_name: expected a name, got ""'],
      [
        'Unload',
        { model_name: 'm', parameters: [entry('unload_dependents', { int64_param: 1 })] },
        'parameters.unload_dependents: expected a boolean, got a number',
      ],
    ];
    for (const [verb, request, details] of cases) {
      assert.deepEqual(await ask(`RepositoryModel${verb}`, request), { code: 3, details });
    }
    assert.deepEqual(control.calls, []);
    for (const [code, status] of [
      [ErrorCode.ModelNotReady, 14],
      [ErrorCode.ModelInvalid, 9],
      [ErrorCode.ModelNotFound, 5],
    ] as const) {
      control.error = new ServalError(code, 'why');
      assert.deepEqual(await ask('RepositoryModelLoad', { model_name: 'm' }), {
        code: status,
        details: 'why',
      });
    }
    control.error = new RangeError('oops');
    assert.deepEqual(await ask('RepositoryModelUnload', { model_name: 'm' }), {
      code: 13,
      details: 'internal error: oops',
    });
  });

  it('shows the configuration', async () => {
    const text = '{"name":"m","max_batch_size":8,"input":[{"name":"x","data_type":11,"dims":[4]}]}';
    const configured = registry([model('m', [version('1', 'AVAILABLE', { configJson: text })])]);
    const service = inferenceService({
      snapshot: () => configured,
      shown: () => configured,
      control,
      readings,
      serverVersion: '1',
      clientShm: false,
      encodeConfig: (config) => encode(types, 'inference.ModelConfig', config),
    });
    const { call, answered } = unary(encode(types, 'inference.ModelConfigRequest', { name: 'm' }));
    service.unary['ModelConfig']?.(call, answered.reply);
    const { config } = decode(types, 'inference.ModelConfigResponse', await answered.message) as {
      config: { name: string; max_batch_size: number; input: { data_type: string }[] };
    };
    assert.deepEqual(
      [config.name, config.max_batch_size, config.input[0]?.data_type],
      ['m', 8, 'TYPE_FP32'],
    );
    assert.deepEqual(await ask('ModelConfig', { name: 'nope' }), {
      code: 5,
      details: "Request for unknown model: 'nope' is not found",
    });
    assert.deepEqual(await ask('ModelConfig', { name: 'm', version: '12' }), {
      code: 14,
      details: "model 'm' is not ready: version 12 is END: cut short",
    });
  });

  it('has statistics of one version, of a model, of all', async () => {
    const duration = (count: number): object => ({
      count: String(count),
      ns: String(count * 1000),
    });
    assert.deepEqual(await ask('ModelStatistics', { name: 'a', version: '01' }), {
      model_stats: [
        {
          name: 'a',
          version: '1',
          last_inference: '1700000000001',
          inference_count: '11',
          execution_count: '12',
          inference_stats: {
            success: duration(21),
            fail: duration(22),
            queue: duration(23),
            compute_input: duration(24),
            compute_infer: duration(25),
            compute_output: duration(26),
            cache_hit: duration(41),
            cache_miss: duration(42),
          },
          batch_stats: [
            {
              batch_size: '4',
              compute_input: duration(31),
              compute_infer: duration(32),
              compute_output: duration(33),
            },
          ],
          memory_usage: [],
          response_stats: [],
        },
      ],
    });
    await ask('ModelStatistics', { name: 'm' });
    await ask('ModelStatistics', {});
    assert.deepEqual(readings.asked, [[1], [9, 10], [1, 9, 10]]);
    assert.deepEqual(await ask('ModelStatistics', { version: '1' }), {
      code: 5,
      details: "Request for unknown model: '' is not found",
    });
    assert.deepEqual(await ask('ModelStatistics', { name: 'm', version: '12' }), {
      code: 14,
      details: "model 'm' is not ready: version 12 is END: cut short",
    });
    readings.error = new ServalError(ErrorCode.ShuttingDown, 'the engine stops');
    assert.deepEqual(await ask('ModelStatistics', {}), { code: 14, details: 'the engine stops' });
  });

  it('shows and changes log settings, each value of its type', async () => {
    const settings = async (request: object): Promise<Record<string, object>> => {
      const reply = (await ask('LogSettings', request)) as {
        settings: { key: string; value: object }[];
      };
      return Object.fromEntries(reply.settings.map(({ key, value }) => [key, value]));
    };
    assert.deepEqual(await settings({}), {
      log_file: { string_param: '' },
      log_info: { bool_param: true },
      log_warning: { bool_param: true },
      log_error: { bool_param: false },
      log_verbose_level: { uint32_param: 0 },
      log_format: { string_param: 'default' },
    });
    const change = [
      entry('log_info', { bool_param: false }),
      entry('log_verbose_level', { uint32_param: 3 }),
      entry('log_format', { string_param: 'ISO8601' }),
    ];
    const changed = await settings({ settings: change });
    assert.deepEqual(
      [changed['log_info'], changed['log_verbose_level'], changed['log_format']],
      [{ bool_param: false }, { uint32_param: 3 }, { string_param: 'ISO8601' }],
    );
    assert.deepEqual(control.calls, [
      ['logSettings'],
      ['updateLogSettings', { log_info: false, log_verbose_level: 3, log_format: 'ISO8601' }],
    ]);
    assert.deepEqual(await ask('LogSettings', { settings: [entry('log_info', {})] }), {
      code: 3,
      details: 'settings.log_info: expected a value, got null',
    });
  });

  it('refuses broken messages and says where', async () => {
    for (const [method, hex, details] of [
      [
        'RepositoryIndex',
        '1200',
        'RepositoryIndexRequest: byte 0: field 2: expected wire type 0, got 2',
      ],
      [
        'RepositoryModelLoad',
        '1a03',
        'RepositoryModelLoadRequest: byte 1: field 3: expected 3 bytes, but only 0 remain',
      ],
      [
        'RepositoryModelUnload',
        '1a0212010a',
        'RepositoryModelUnloadRequest.ParametersEntry: byte 1: field 2: expected 1 bytes, but ' +
          'only 0 remain',
      ],
      ['LogSettings', '0a04120208ff', 'SettingValue: byte 1: the message ends inside a number'],
      ['ModelConfig', '0a01ff', 'ModelConfigRequest: byte 2: field 1: the text is not valid UTF-8'],
      ['ModelStatistics', '8a', 'ModelStatisticsRequest: byte 0: the message ends inside a number'],
    ] as const) {
      const outcome = await client.unary(SERVICE + method, Buffer.from(hex, 'hex'));
      assert.deepEqual([outcome.code, outcome.details], [3, details], method);
    }
  });
});

// A unary call without a socket.
function unary(request: Buffer) {
  let resolve: (message: Buffer) => void = () => undefined;
  const message = new Promise<Buffer>((settle) => {
    resolve = settle;
  });
  const reply = (status: unknown, response?: Buffer | null): void => {
    assert.equal(status, null);
    resolve(response ?? Buffer.alloc(0));
  };
  const call = { request, getDeadline: () => Infinity, on: () => undefined };
  return { call, answered: { reply, message } };
}

describe('deadlines', () => {
  it('become what is left in microseconds; 0 is none', () => {
    assert.equal(timeoutUs(Infinity, 5), 0);
    assert.equal(timeoutUs(1005, 1000), 5000);
    assert.equal(timeoutUs(1000.25, 1000), 250);
    assert.equal(timeoutUs(1000, 1000), 1);
    assert.equal(timeoutUs(1, 1000), 1);
    assert.equal(timeoutUs(1e300, 0), Number.MAX_SAFE_INTEGER);
  });
});
