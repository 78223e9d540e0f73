// Triton's control extensions over REST and gRPC: repository, configuration, statistics, log
// settings, and metrics, on a server under explicit control. Tests run in order: each leaves the
// models in the state that the next one needs. Source of each: v2-protocol.md, by section;
// tfserving.md if it is named.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { ModelFolders, slowModel } from '../e2e/support/model-folders.js';
import { errorOf, exchange, jsonOf, type RawResponse } from '../e2e/support/raw-http.js';
import { startServer, type ServalProcess } from '../e2e/support/serval-process.js';
import { RawClient, decode, encode, messageTypes } from '../unit/protocols/raw-client.js';

const SERVICE = '/inference.GRPCInferenceService/';
const HALF = 'half_plus_three';
const PREDICT = '{"instances":[1,2,5]}';
const MONITORING = 'prometheus_config { enable: true path: "/tf/metrics" }\n';
const types = messageTypes();

interface Entry {
  readonly name: string;
  readonly version?: string;
  readonly state: string;
  readonly reason?: string;
}

describe('V2 control', () => {
  const folders = new ModelFolders();
  let server: ServalProcess;
  let client: RawClient;
  let repository = '';
  before(async () => {
    repository = folders.repository('control', [HALF, 'identity_fp32'], ['corrupt']);
    folders.add(repository, 'slow_second', slowModel(1024, 12));
    const monitoring = join(folders.folder, 'monitoring.config');
    writeFileSync(monitoring, MONITORING);
    server = await startServer([
      '--model-repository',
      repository,
      '--model-control-mode',
      'explicit',
      '--load-model',
      HALF,
      '--monitoring-config-file',
      monitoring,
      '--rest-api-timeout-in-ms',
      '100',
      '--exec-mode',
      'queued',
      '--default-max-batch-size',
      '0',
    ]);
    client = new RawClient(server.grpcPort);
  });
  after(async () => {
    client.close();
    await server.stop();
    folders.remove();
  });

  const post = (path: string, body = ''): Promise<RawResponse> =>
    exchange(server.httpPort, 'POST', path, body);
  const get = (path: string): Promise<RawResponse> => exchange(server.httpPort, 'GET', path);
  const shown = async (path: string, body?: string): Promise<unknown> => {
    const response = await (body === undefined ? get(path) : post(path, body));
    assert.equal(response.status, 200, response.body.toString());
    return jsonOf(response);
  };
  const call = async (method: string, asked: object): Promise<Record<string, unknown>> => {
    const request = encode(types, `inference.${method}Request`, asked);
    const { code, details, message } = await client.unary(SERVICE + method, request);
    return message === undefined
      ? { code, details }
      : (decode(types, `inference.${method}Response`, message) as Record<string, unknown>);
  };
  const stateOf = async (name: string): Promise<Entry | undefined> =>
    ((await shown('/v2/repository/index', '')) as Entry[]).find((entry) => entry.name === name);

  it('lists the models that are and could be served (2, 10)', async () => {
    const entries = (await shown('/v2/repository/index', '')) as Entry[];
    assert.deepEqual(
      [...new Set(entries.map((entry) => entry.name))],
      ['corrupt', HALF, 'identity_fp32', 'slow_second'],
    );
    assert.deepEqual(await stateOf(HALF), { name: HALF, version: '123', state: 'READY' });
    assert.equal((await stateOf('identity_fp32'))?.state, 'UNAVAILABLE');
    const ready = [{ name: HALF, version: '123', state: 'READY' }];
    assert.deepEqual(await shown('/v2/repository/index', '{"ready":true}'), ready);
    assert.deepEqual(await call('RepositoryIndex', { ready: true }), {
      models: ready.map((entry) => ({ ...entry, reason: '' })),
    });
    const refused = await post('/v2/repository/index', '{"ready":"yes"}');
    assert.deepEqual(
      [refused.status, errorOf(refused)],
      [400, 'ready: expected a boolean, got a string'],
    );
  });

  it('loads and unloads by REST and gRPC (2)', async () => {
    assert.equal((await post('/v2/repository/models/identity_fp32/load', '{}')).status, 200);
    assert.deepEqual(await stateOf('identity_fp32'), {
      name: 'identity_fp32',
      version: '1',
      state: 'READY',
    });
    const unload = '{"parameters":{"unload_dependents":false}}';
    assert.equal((await post('/v2/repository/models/identity_fp32/unload', unload)).status, 200);
    assert.equal((await get('/v2/models/identity_fp32/ready')).status, 404);
    assert.deepEqual(await call('RepositoryModelLoad', { model_name: 'identity_fp32' }), {});
    assert.deepEqual(await call('ModelReady', { name: 'identity_fp32' }), { ready: true });
    assert.deepEqual(await call('RepositoryModelUnload', { model_name: 'identity_fp32' }), {});
    assert.deepEqual(await call('ModelReady', { name: 'identity_fp32' }), { ready: false });
  });

  it('loads a model contained in the request (2)', async () => {
    const bytes = readFileSync(join(repository, HALF, '123', 'model.onnx'));
    const parameters = {
      config: '{"backend":"onnxruntime"}',
      'file:7/model.onnx': bytes.toString('base64'),
    };
    const loaded = await post('/v2/repository/models/sent/load', JSON.stringify({ parameters }));
    assert.equal(loaded.status, 200, loaded.body.toString());
    assert.deepEqual(await shown('/v1/models/sent/versions/7:predict', PREDICT), {
      predictions: [3.5, 4, 5.5],
    });
    assert.deepEqual(await call('RepositoryModelUnload', { model_name: 'sent' }), {});
    assert.deepEqual(
      await call('RepositoryModelLoad', {
        model_name: 'sent',
        parameters: [
          { key: 'config', value: { string_param: '{}' } },
          { key: 'file:8/model.onnx', value: { bytes_param: bytes } },
        ],
      }),
      {},
    );
    assert.deepEqual(await shown('/v1/models/sent/versions/8:predict', PREDICT), {
      predictions: [3.5, 4, 5.5],
    });
    assert.deepEqual(await call('RepositoryModelUnload', { model_name: 'sent' }), {});
  });

  it('reports why a load failed, in the response and everywhere else', async () => {
    const loaded = await post('/v2/repository/models/corrupt/load', '{}');
    assert.notEqual(loaded.status, 200);
    const reason = errorOf(loaded);
    const entry = await stateOf('corrupt');
    assert.equal(entry?.state, 'UNAVAILABLE');
    assert.ok((entry?.reason ?? '') !== '' && reason.includes('corrupt'), reason);
    const metrics = (await get('/metrics')).body.toString();
    assert.match(metrics, /^serval_model_load_failed\{model="corrupt",[^}]*\} 1$/m);
    for (const [path, status] of [
      ['/v2/repository/models/nope/load', 404],
      ['/v2/repository/models/nope/unload', 404],
      ['/v2/repository/other/models/half_plus_three/load', 400],
    ] as const) {
      assert.equal((await post(path, '{}')).status, status, path);
    }
  });

  it('shows the configuration, the same by REST and gRPC (2, 11)', async () => {
    const config = (await shown(`/v2/models/${HALF}/config`)) as Record<string, unknown>;
    assert.equal(config['name'], HALF);
    assert.equal(typeof config['max_batch_size'], 'number');
    const [input] = config['input'] as [{ name: string; data_type: string }];
    assert.deepEqual([input.name, input.data_type], ['x', 'TYPE_FP32']);
    assert.deepEqual(await shown(`/v2/models/${HALF}/versions/123/config`), config);
    const { config: message } = (await call('ModelConfig', { name: HALF })) as {
      config: Record<string, unknown> & { input: { name: string; data_type: string }[] };
    };
    assert.deepEqual(
      [message['name'], message['max_batch_size'], message.input[0]?.data_type],
      [HALF, config['max_batch_size'], 'TYPE_FP32'],
    );
    assert.equal((await get('/v2/models/corrupt/config')).status, 503);
    assert.equal((await call('ModelConfig', { name: 'corrupt' }))['code'], 14);
    assert.equal((await get('/v2/models/nope/config')).status, 404);
    assert.equal((await call('ModelConfig', { name: 'nope' }))['code'], 5);
  });

  it('counts served requests (2, 11)', async () => {
    type Stats = {
      model_stats: [
        {
          name: string;
          version: string;
          inference_count: number;
          last_inference: number;
          inference_stats: Record<string, { count: number; ns: number }>;
        },
      ];
    };
    const before = (await shown(`/v2/models/${HALF}/stats`)) as Stats;
    for (let times = 0; times < 3; times += 1) {
      assert.equal((await post(`/v1/models/${HALF}:predict`, PREDICT)).status, 200);
    }
    assert.equal((await post(`/v1/models/${HALF}:predict`, '{"instances":[]}')).status, 400);
    const {
      model_stats: [now],
    } = (await shown(`/v2/models/${HALF}/versions/123/stats`)) as Stats;
    const [then] = before.model_stats;
    const grown = (name: string): number =>
      (now.inference_stats[name]?.count ?? 0) - (then.inference_stats[name]?.count ?? 0);
    assert.deepEqual(
      ['success', 'fail', 'queue', 'compute_infer', 'cache_hit', 'cache_miss'].map(grown),
      [3, 1, 3, 3, 0, 0],
    );
    assert.deepEqual([now.name, now.version], [HALF, '123']);
    assert.ok(now.last_inference > 1_600_000_000_000);
    assert.ok((now.inference_stats['success']?.ns ?? 0) > 0);
    const { model_stats: all } = (await shown('/v2/models/stats')) as { model_stats: object[] };
    assert.equal(all.length, 1);
    const {
      model_stats: [message],
    } = (await call('ModelStatistics', { name: HALF })) as {
      model_stats: [{ inference_count: string; inference_stats: Record<string, object> }];
    };
    assert.equal(message.inference_count, String(now.inference_count));
    assert.deepEqual(message.inference_stats['cache_hit'], { count: '0', ns: '0' });
    assert.equal((await get('/v2/models/nope/stats')).status, 404);
    assert.equal((await get('/v2/models/corrupt/stats')).status, 503);
  });

  it('shows and changes log settings (2)', async () => {
    const settings = (await shown('/v2/logging')) as Record<string, unknown>;
    assert.deepEqual(Object.keys(settings).sort(), [
      'log_error',
      'log_file',
      'log_format',
      'log_info',
      'log_verbose_level',
      'log_warning',
    ]);
    const changed = await shown('/v2/logging', '{"log_info":false}');
    assert.deepEqual(changed, { ...settings, log_info: false });
    assert.deepEqual(await shown('/v2/logging'), changed);
    const reply = (await call('LogSettings', {
      settings: [{ key: 'log_info', value: { bool_param: true } }],
    })) as { settings: { key: string; value: object }[] };
    assert.deepEqual(reply.settings.find((one) => one.key === 'log_info')?.value, {
      bool_param: true,
    });
    assert.deepEqual(await shown('/v2/logging'), settings);
    for (const body of ['{"log_info":1}', '{"nope":true}', '{"log_verbose_level":-1}']) {
      assert.equal((await post('/v2/logging', body)).status, 400, body);
    }
    assert.equal(
      (
        await call('LogSettings', {
          settings: [{ key: 'log_info', value: { string_param: 'no' } }],
        })
      )['code'],
      3,
    );
  });

  it("reloads the repository (Serval's own)", async () => {
    assert.deepEqual(await shown('/v2/repository/reload', ''), {});
    assert.equal((await post('/v2/repository/reload', '[]')).status, 400);
  });

  it("has Triton's metrics and TensorFlow Serving's (4, tfserving.md 3.7)", async () => {
    const triton = await get('/metrics');
    assert.equal(triton.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
    const text = triton.body.toString();
    assert.match(text, /^nv_inference_request_success\{[^}]*model="half_plus_three"[^}]*\} \d+$/m);
    assert.match(text, /^serval_model_ready\{model="half_plus_three"\} 1$/m);
    const tensorflow = await get('/tf/metrics');
    assert.equal(tensorflow.headers.get('content-type'), 'text/plain');
    assert.match(
      tensorflow.body.toString(),
      /^:tensorflow:serving:request_count\{model_name="half_plus_three",status="OK"\} \d+$/m,
    );
    assert.equal((await get('/tf/metrics?x=1')).status, 400);
    assert.equal((await get('/monitoring/prometheus/metrics')).status, 404);
    assert.equal((await post('/metrics')).headers.get('allow'), 'GET');
  });

  it('returns 504 when a REST request waited too long (tfserving.md 1.1)', async () => {
    assert.equal((await post('/v2/repository/models/slow_second/load', '{}')).status, 200);
    const v2 = '{"inputs":[{"name":"input","datatype":"FP32","shape":[1],"data":[7]}]}';
    const asked = [
      ...Array.from({ length: 3 }, () =>
        post('/v1/models/slow_second:predict', '{"instances":[1]}'),
      ),
      ...Array.from({ length: 3 }, () => post('/v2/models/slow_second/infer', v2)),
    ];
    const statuses = (await Promise.all(asked)).map((response) => response.status);
    assert.ok(
      statuses.slice(0, 3).includes(504) && statuses.slice(3).includes(504),
      statuses.join(),
    );
    assert.ok(
      statuses.every((status) => status === 200 || status === 504),
      statuses.join(),
    );
    assert.equal((await post('/v2/repository/models/slow_second/unload')).status, 200);
  });
});
