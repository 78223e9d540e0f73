// V2 REST: the URLs, methods, bodies and responses of the control endpoints, on a registry and an
// engine whose responses the test sets. Source: v2-protocol.md 2, 10, 11.
import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { ErrorCode, ServalError } from '../../../../ts/base/errors.js';
import type { EngineLink } from '../../../../ts/engine/link.js';
import { v2Route, type V2Context } from '../../../../ts/protocols/v2/rest.js';
import { FakeControl, LOG_SETTINGS } from '../../server/admin/fake-control.js';
import { ask, type Sent } from '../fake-http.js';
import { FakeReadings } from '../fake-readings.js';
import { model, registry, version } from '../snapshots.js';

const failed = { errorCode: ErrorCode.ModelInvalid, errorMessage: 'cut short' };
const snapshot = registry([
  model('m', [version('12', 'END', failed), version('10'), version('9')]),
  model('a', [version('1')]),
  model('loading', [version('1', 'LOADING')]),
]);

let control: FakeControl;
let readings: FakeReadings;
beforeEach(() => {
  control = new FakeControl();
  readings = new FakeReadings();
});

function send(
  method: string,
  path: string,
  body?: string | Uint8Array,
  headers: Record<string, string> = {},
): Promise<Sent> {
  const context: V2Context = {
    link: {} as EngineLink,
    control,
    readings,
    bodyBytesMax: 4_000_000,
    inflatedBytesMax: 4_000_000,
    held: { change: () => undefined, take: () => true, keep: () => true },
    healthBody: 'json',
    serverVersion: '1.2.3',
    clientShm: false,
  };
  const route = v2Route(context, { snapshot, shown: snapshot }, method, path);
  return ask(route, { method, path, headers, ...(body === undefined ? {} : { body: [body] }) });
}

async function answers(method: string, path: string, body?: string): Promise<unknown> {
  const sent = await send(method, path, body);
  assert.deepEqual([sent.status, sent.contentType], [200, 'application/json'], sent.body);
  return sent.body === '' ? '' : JSON.parse(sent.body);
}

async function refuses(
  method: string,
  path: string,
  body: string | undefined,
  status: number,
  error: string | RegExp,
): Promise<void> {
  const sent = await send(method, path, body);
  assert.deepEqual([sent.status, sent.contentType], [status, 'application/json'], sent.body);
  const { error: text } = JSON.parse(sent.body) as { error: string };
  if (typeof error === 'string') assert.equal(text, error);
  else assert.match(text, error);
}

describe('V2 REST: repository index', () => {
  it('lists all, of one repository, or only what is ready; with an empty body too', async () => {
    const all = [
      { name: 'm', version: '1', state: 'UNAVAILABLE', reason: 'unloaded' },
      { name: 'm', version: '2', state: 'READY' },
      { name: 'never', state: 'UNAVAILABLE' },
    ];
    for (const body of [undefined, '', '{}', '{"ready":false}', '{"other":1}']) {
      assert.deepEqual(await answers('POST', '/v2/repository/index', body), all);
    }
    assert.deepEqual(await answers('POST', '/v2/repository/a%20b/index', '{"ready":true}'), [
      all[1],
    ]);
    assert.deepEqual(control.calls.at(-1), ['index', 'a b', true]);
    assert.deepEqual(control.calls[0], ['index', '', false]);
  });

  it('takes a packed body', async () => {
    const packed = gzipSync('{"ready":true}');
    const sent = await send('POST', '/v2/repository/index', packed, { 'content-encoding': 'gzip' });
    assert.equal(sent.status, 200);
    assert.deepEqual(control.calls, [['index', '', true]]);
  });

  it('names the member of the wrong type, and where JSON breaks', async () => {
    const path = '/v2/repository/index';
    await refuses('POST', path, '{"ready":1}', 400, 'ready: expected a boolean, got a number');
    await refuses('POST', path, '{"ready":null}', 400, 'ready: expected a boolean, got null');
    await refuses('POST', path, '[]', 400, 'request body: expected an object, got an array');
    await refuses('POST', path, '7', 400, 'request body: expected an object, got a number');
    await refuses('POST', path, '{"ready":tr', 400, /^request body is not valid JSON: /);
    assert.deepEqual(control.calls, []);
  });

  it('passes errors on', async () => {
    control.error = new ServalError(ErrorCode.InvalidArgument, 'unknown repository');
    await refuses('POST', '/v2/repository/r/index', '', 400, 'unknown repository');
  });
});

describe('V2 REST: load and unload', () => {
  const LOAD = '/v2/repository/models/new/load';

  it('loads, with a configuration and files where they are given', async () => {
    const parameters = {
      config: '{"backend":"onnxruntime"}',
      'file:1/model.onnx': 'AAEC/w==',
      'file:1/empty': '',
    };
    assert.equal(await answers('POST', LOAD, '{}'), '');
    assert.equal(await answers('POST', LOAD, JSON.stringify({ parameters })), '');
    assert.deepEqual(control.calls, [
      ['load', 'new', undefined, []],
      [
        'load',
        'new',
        '{"backend":"onnxruntime"}',
        [
          ['1/model.onnx', '000102ff'],
          ['1/empty', ''],
        ],
      ],
    ]);
  });

  it('unloads', async () => {
    const path = '/v2/repository/models/a%2Fb/unload';
    assert.equal(await answers('POST', path), '');
    assert.equal(await answers('POST', path, '{"parameters":{"unload_dependents":true}}'), '');
    assert.deepEqual(control.calls, [
      ['unload', 'a/b', false],
      ['unload', 'a/b', true],
    ]);
  });

  it('looks into the repository that is named', async () => {
    assert.equal(await answers('POST', '/v2/repository/r/models/m/load', '{}'), '');
    assert.equal(await answers('POST', '/v2/repository/r/models/m/unload', '{}'), '');
    assert.deepEqual(control.calls, [
      ['index', 'r', false],
      ['load', 'm', undefined, []],
      ['index', 'r', false],
      ['unload', 'm', false],
    ]);
    control.calls.length = 0;
    for (const verb of ['load', 'unload']) {
      await refuses(
        'POST',
        `/v2/repository/r/models/other/${verb}`,
        '{}',
        404,
        "model 'other' is not in repository 'r'",
      );
    }
    assert.deepEqual(control.calls, [
      ['index', 'r', false],
      ['index', 'r', false],
    ]);
  });

  it('refuses parameters of other kinds and names', async () => {
    const refused = (parameters: unknown, error: string): Promise<void> =>
      refuses('POST', LOAD, JSON.stringify({ parameters }), 400, error);
    await refused([], 'parameters: expected an object, got an array');
    await refused(null, 'parameters: expected an object, got null');
    await refused({ config: {} }, 'parameters.config: expected a string with JSON, got an object');
    await refused(
      { 'file:1/x': 5 },
      'parameters.file:1/x: expected a string with base64, got a number',
    );
    await refused(
      { confg: '{}' },
      "parameters: unknown parameter 'confg', expected config or file:<version>/<name>",
    );
    await refuses(
      'POST',
      '/v2/repository/models/m/unload',
      '{"parameters":{"unload_dependents":"yes"}}',
      400,
      'parameters.unload_dependents: expected a boolean, got a string',
    );
    await refuses(
      'POST',
      '/v2/repository/models/m/unload',
      '{"parameters":{"force":true}}',
      400,
      "parameters: unknown parameter 'force', expected unload_dependents",
    );
    assert.deepEqual(control.calls, []);
  });

  it('refuses what is not base64 rather than losing bytes', async () => {
    for (const [text, got] of [
      ['AA-_', 'an invalid character at index 2'],
      ['AAEC\n', 'an invalid character at index 4'],
      ['AAE', '3 characters, which is not a valid base64 length'],
      ['AA=C', '4 characters, which is not a valid base64 length'],
      ['====', '4 characters, which is not a valid base64 length'],
    ] as const) {
      const body = JSON.stringify({ parameters: { 'file:1/x': text } });
      await refuses('POST', LOAD, body, 400, `parameters.file:1/x: expected base64, got ${got}`);
    }
  });

  it('answers as the registry does', async () => {
    for (const [code, status] of [
      [ErrorCode.ModelNotReady, 503],
      [ErrorCode.ModelNotFound, 404],
      [ErrorCode.InvalidArgument, 400],
      [ErrorCode.ModelInvalid, 500],
    ] as const) {
      for (const verb of ['load', 'unload']) {
        control.error = new ServalError(code, 'why');
        await refuses('POST', `/v2/repository/models/m/${verb}`, '{}', status, 'why');
      }
    }
  });

  it('refuses a body over 1 MiB where no model can be in it', async () => {
    const body = `{"x":"${'x'.repeat(1_048_576)}"}`;
    await refuses(
      'POST',
      '/v2/repository/models/m/unload',
      body,
      413,
      'request body is over the limit of 1048576 bytes',
    );
    assert.equal(await answers('POST', LOAD, body), '');
  });
});

describe('V2 REST: logging and reload', () => {
  it('shows and changes log settings', async () => {
    assert.deepEqual(await answers('GET', '/v2/logging'), LOG_SETTINGS);
    const changed = await answers('POST', '/v2/logging', '{"log_info":false}');
    assert.deepEqual(changed, { ...LOG_SETTINGS, log_info: false });
    assert.deepEqual(control.calls, [['logSettings'], ['updateLogSettings', { log_info: false }]]);
    control.error = new ServalError(ErrorCode.InvalidArgument, 'log_info: expected a boolean');
    await refuses('POST', '/v2/logging', '{"log_info":1}', 400, 'log_info: expected a boolean');
    await refuses(
      'POST',
      '/v2/logging',
      '"x"',
      400,
      'request body: expected an object, got a string',
    );
  });

  it('reloads', async () => {
    assert.deepEqual(await answers('POST', '/v2/repository/reload'), {});
    assert.deepEqual(await answers('POST', '/v2/repository/reload', '{}'), {});
    assert.deepEqual(control.calls, [['reload'], ['reload']]);
    await refuses(
      'POST',
      '/v2/repository/reload',
      '{"model":"m"}',
      400,
      "request body: expected no members, got 'model'",
    );
  });
});

describe('V2 REST: configuration and statistics', () => {
  it('shows the configuration as it is', async () => {
    assert.deepEqual(await answers('GET', '/v2/models/m/config'), { name: 'm', version: 10 });
    assert.deepEqual(await answers('GET', '/v2/models/m/versions/9/config'), {
      name: 'm',
      version: 9,
    });
    await refuses(
      'GET',
      '/v2/models/nope/config',
      undefined,
      404,
      "Request for unknown model: 'nope' is not found",
    );
    await refuses(
      'GET',
      '/v2/models/m/versions/12/config',
      undefined,
      503,
      "model 'm' is not ready: version 12 is END: cut short",
    );
    await refuses(
      'GET',
      '/v2/models/loading/config',
      undefined,
      503,
      "model 'loading' has no ready version: version 1 is LOADING",
    );
  });

  it('has statistics of one version, of a model, of all', async () => {
    const names = async (path: string): Promise<string[]> => {
      const { model_stats: stats } = (await answers('GET', path)) as {
        model_stats: { name: string; version: string }[];
      };
      return stats.map((one) => `${one.name}/${one.version}`);
    };
    assert.deepEqual(await names('/v2/models/m/versions/9/stats'), ['m/9']);
    assert.deepEqual(await names('/v2/models/m/stats'), ['m/9', 'm/10']);
    assert.deepEqual(await names('/v2/models/stats'), ['a/1', 'm/9', 'm/10']);
    assert.deepEqual(readings.asked, [[9], [9, 10], [1, 9, 10]]);
  });

  it('has every member that Triton has', async () => {
    const duration = (count: number): object => ({ count, ns: count * 1000 });
    assert.deepEqual(await answers('GET', '/v2/models/a/stats'), {
      model_stats: [
        {
          name: 'a',
          version: '1',
          last_inference: 1_700_000_000_001,
          inference_count: 11,
          execution_count: 12,
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
          response_stats: {},
          batch_stats: [
            {
              batch_size: 4,
              compute_input: duration(31),
              compute_infer: duration(32),
              compute_output: duration(33),
            },
          ],
          memory_usage: [],
        },
      ],
    });
    readings.gone = [1];
    const {
      model_stats: [gone],
    } = (await answers('GET', '/v2/models/a/stats')) as {
      model_stats: [{ inference_count: number; batch_stats: unknown[] }];
    };
    assert.deepEqual([gone.inference_count, gone.batch_stats], [0, []]);
  });

  it('refuses statistics of what it does not know or serve, and passes errors on', async () => {
    await refuses(
      'GET',
      '/v2/models/nope/stats',
      undefined,
      404,
      "Request for unknown model: 'nope' is not found",
    );
    await refuses(
      'GET',
      '/v2/models/m/versions/7/stats',
      undefined,
      404,
      "Request for unknown model: 'm' version 7 is not found",
    );
    await refuses(
      'GET',
      '/v2/models/m/versions/12/stats',
      undefined,
      503,
      "model 'm' is not ready: version 12 is END: cut short",
    );
    await refuses(
      'GET',
      '/v2/models/loading/stats',
      undefined,
      503,
      "model 'loading' has no ready version: version 1 is LOADING",
    );
    assert.deepEqual(readings.asked, []);
    readings.error = new ServalError(ErrorCode.ShuttingDown, 'the engine stops');
    await refuses('GET', '/v2/models/m/stats', undefined, 503, 'the engine stops');
  });
});

describe('V2 REST: methods and paths', () => {
  it('answers a wrong method with what is allowed', async () => {
    for (const [method, path, allow] of [
      ['GET', '/v2/repository/index', 'POST'],
      ['GET', '/v2/repository/r/models/m/load', 'POST'],
      ['PUT', '/v2/repository/models/m/unload', 'POST'],
      ['GET', '/v2/repository/reload', 'POST'],
      ['POST', '/v2/models/m/config', 'GET'],
      ['HEAD', '/v2/models/stats', 'GET'],
      ['POST', '/v2/models/m/stats', 'GET'],
      ['DELETE', '/v2/logging', 'GET, POST'],
      ['constructor', '/v2', 'GET'],
      ['POST', '/v2/health/live', 'GET'],
    ] as const) {
      const sent = await send(method, path);
      assert.deepEqual([sent.status, sent.headers], [405, ['Allow', allow]], `${method} ${path}`);
      const { error } = JSON.parse(sent.body) as { error: string };
      const expected = allow.replace(', ', ' or ');
      assert.equal(error, `method ${method} is not allowed here, expected ${expected}`);
    }
    assert.deepEqual(control.calls, []);
  });

  it('does not know other paths', async () => {
    for (const path of [
      '/v2/repository',
      '/v2/repository/',
      '/v2/repository/index/',
      '/v2/repository/a/b/index',
      '/v2/repository/models/m',
      '/v2/repository/models/m/delete',
      '/v2/logging/',
      '/v2/models/m/configs',
      '/v2/models/m/versions/1/2/stats',
      '/v2/trace/settings',
      '/v2/systemsharedmemory/register',
      '/V2/logging',
    ]) {
      await refuses('POST', path, '{}', 404, `no such endpoint: POST ${path}`);
    }
  });

  it('lists what works', async () => {
    assert.deepEqual(await answers('GET', '/v2'), {
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
  });
});
