// Models that load with their first request, through every protocol; failed loads, and the limit of
// their memory. Source: docs/guides/model-control.md.
import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { STAYS_MS } from '../../../ts/base/limits.js';
import { RawClient, encode, messageTypes } from '../../unit/protocols/raw-client.js';
import { ModelFolders } from '../support/model-folders.js';
import {
  control,
  index,
  infer,
  metric,
  plusModel,
  predict,
  put,
  putDelayModel,
  v1Versions,
  v2Body,
  v2Values,
} from '../support/operating.js';
import { until } from '../support/polling.js';
import { errorOf, exchange, jsonOf, type RawResponse } from '../support/raw-http.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';

const MB = 1_000_000;
/** Three models of 5 MB. */
const LIMIT = 17 * MB;
const WAIT_HEADER = 'serval-load-wait-ms';
const types = messageTypes();
const folders = new ModelFolders();
after(() => folders.remove());

/** A repository of models "plus0", "plus1", ..., which add their number to x. */
function plusRepository(name: string, count: number, weightBytes = 0, config = ''): string {
  const repository = folders.repository(name, []);
  for (let i = 0; i < count; i += 1) {
    put(join(repository, `plus${i}`, '1', 'model.onnx'), plusModel(i, weightBytes));
    if (config !== '') put(join(repository, `plus${i}`, 'config.pbtxt'), config);
  }
  return repository;
}

const lazy = (repository: string, ...args: readonly string[]): Promise<ServalProcess> =>
  startServer(['--model-repository', repository, '--model-load-mode=lazy', ...args]);
const ask = (server: ServalProcess, model: string, x = 1): Promise<RawResponse> =>
  infer(server, model, v2Body('x', [x]));
const loads = (server: ServalProcess, result = 'loaded'): Promise<number> =>
  metric(server, 'serval_on_demand_loads_total', `result="${result}"`);
const loadedNow = (server: ServalProcess): Promise<number> =>
  metric(server, 'serval_on_demand_models', 'state="loaded"');
const get = (server: ServalProcess, path: string): Promise<RawResponse> =>
  exchange(server.httpPort, 'GET', path);

describe('models that load on demand', () => {
  let server: ServalProcess;
  let grpc: RawClient;
  before(async () => {
    const repository = folders.repository('all', []);
    for (let i = 0; i < 8; i += 1) {
      put(join(repository, `plus${i}`, '1', 'model.onnx'), plusModel(i));
    }
    put(join(repository, 'eager', '1', 'model.onnx'), plusModel(100));
    const mode = 'parameters { key: "load_mode" value { string_value: "eager" } }';
    put(join(repository, 'eager', 'config.pbtxt'), mode);
    server = await lazy(repository);
    grpc = new RawClient(server.grpcPort);
  });
  after(async () => {
    grpc.close();
    await server.stop();
  });

  it('are ready, and not loaded', async () => {
    assert.equal((await get(server, '/v2/health/ready')).status, 200);
    assert.equal((await get(server, '/v2/models/plus0/ready')).status, 200);
    assert.equal((await v1Versions(server, 'plus0')).get('1')?.state, 'AVAILABLE');
    const states = new Map((await index(server)).map(({ name, ...one }) => [name, one]));
    assert.deepEqual(states.get('plus0'), { version: '1', state: 'READY', reason: 'on demand' });
    assert.deepEqual(states.get('eager'), { version: '1', state: 'READY' });
    assert.equal(
      await metric(server, 'serval_model_state', 'model="plus0"', 'state="ON_DEMAND"'),
      1,
    );
    assert.equal(await loadedNow(server), 0);
  });

  it('answer their first request, through every protocol', async () => {
    const before = await loads(server);
    const first = await ask(server, 'plus1');
    assert.deepEqual(v2Values(first), [2]);
    assert.match(first.headers.get(WAIT_HEADER) ?? '', /^[1-9]\d*$/);
    const v1 = await predict(server, 'plus2', '{"instances":[1.0]}');
    assert.deepEqual(jsonOf(v1), { predictions: [3] });
    const request = encode(types, 'inference.ModelInferRequest', {
      model_name: 'plus3',
      inputs: [{ name: 'x', datatype: 'FP32', shape: [1], contents: { fp32_contents: [1] } }],
    });
    const path = '/inference.GRPCInferenceService/ModelInfer';
    const waits: unknown[] = [];
    for (let i = 0; i < 2; i += 1) {
      const answer = await grpc.unary(path, request, {}, (call) => {
        call.on('metadata', (metadata) => waits.push(metadata.get(WAIT_HEADER)[0]));
      });
      assert.equal(answer.code, 0, answer.details);
    }
    assert.match(String(waits[0]), /^[1-9]\d*$/);
    assert.deepEqual(waits.slice(1), [undefined]);
    assert.equal(await loads(server), before + 3);
    assert.equal(await metric(server, 'serval_on_demand_waits_total'), before + 3);
    assert.ok((await metric(server, 'serval_on_demand_wait_seconds_total')) > 0);
    const states = new Map((await index(server)).map(({ name, reason }) => [name, reason]));
    assert.equal(states.get('plus1'), undefined);
    const later = await ask(server, 'plus1', 5);
    assert.deepEqual(v2Values(later), [6]);
    assert.equal(later.headers.get(WAIT_HEADER), undefined);
    assert.equal(await loads(server), before + 3);
  });

  it('answer documents that need their signatures', async () => {
    const metadata = await get(server, '/v2/models/plus4');
    assert.equal(metadata.status, 200, metadata.body.toString());
    const { inputs } = jsonOf(metadata) as { inputs: readonly { name: string }[] };
    assert.deepEqual(
      inputs.map(({ name }) => name),
      ['x'],
    );
    const config = jsonOf(await get(server, '/v2/models/plus5/config')) as { name: string };
    assert.equal(config.name, 'plus5');
    const v1 = await get(server, '/v1/models/plus6/metadata');
    assert.match(v1.body.toString(), /"serving_default"/);
    const wrong = await get(server, '/v1/models/plus7/metadata?x=1');
    assert.equal(wrong.status, 400);
    const request = encode(types, 'inference.ModelMetadataRequest', { name: 'plus7' });
    const answer = await grpc.unary('/inference.GRPCInferenceService/ModelMetadata', request, {});
    assert.equal(answer.code, 0, answer.details);
    assert.equal((await get(server, '/v2/models/nobody')).status, 404);
  });

  it('load once for a thousand first requests', async () => {
    const before = await loads(server);
    const answers = await Promise.all(
      Array.from({ length: 1000 }, (_, x) => ask(server, 'plus0', x)),
    );
    assert.deepEqual(
      answers.map((one) => v2Values(one)[0]),
      answers.map((_, x) => x),
    );
    assert.equal(await loads(server), before + 1);
  });
});

describe('loads on demand that fail', () => {
  it('are told to each request, tried again after a pause, and mend', async (context) => {
    const repository = plusRepository('fails', 2);
    const file = join(repository, 'plus0', '1', 'model.onnx');
    const server = await lazy(repository);
    context.after(() => server.stop());
    rmSync(file);
    for (let i = 0; i < 3; i += 1) {
      const answer = await ask(server, 'plus0');
      assert.equal(answer.status, 503, answer.body.toString());
      assert.ok(!errorOf(answer).includes(repository), errorOf(answer));
      assert.match(errorOf(answer), /model 'plus0' is not ready: failed to load: .*model\.onnx/);
    }
    assert.equal(await loads(server, 'failed'), 1, 'the next two came within the pause');
    assert.deepEqual(v2Values(await ask(server, 'plus1')), [2]);
    put(file, plusModel(0));
    const answer = await until('it loads again', async () => {
      const one = await ask(server, 'plus0');
      return one.status === 200 && one;
    });
    assert.deepEqual(v2Values(answer), [1]);
    assert.equal(await loads(server, 'failed'), 1);
  });

  it('answer requests that wait when the model is removed or the server stops', async () => {
    const repository = folders.repository('slow', []);
    putDelayModel(repository, 'a', 0);
    const server = await lazy(repository, '--model-control-mode=explicit', '--load-model=*');
    await control(server, '/v2/repository/models/a/unload');
    assert.notEqual((await ask(server, 'a')).status, 200);
    await control(server, '/v2/repository/models/a/load');
    assert.deepEqual(v2Values(await ask(server, 'a', 7)), [7]);
    await control(server, '/v2/repository/models/a/unload');
    assert.notEqual((await ask(server, 'a')).status, 200);
    assert.equal(await loadedNow(server), 0);
    await server.stop();
  });
});

describe('--models-memory-limit', () => {
  it('lets the least recently used leave, and answers every request', async (context) => {
    const server = await lazy(
      plusRepository('limit', 10, 5 * MB),
      `--models-memory-limit=${LIMIT}`,
    );
    context.after(() => server.stop());
    for (let round = 0; round < 2; round += 1) {
      for (let i = 0; i < 10; i += 1) {
        assert.deepEqual(v2Values(await ask(server, `plus${i}`, 1)), [1 + i]);
        assert.ok((await metric(server, 'serval_on_demand_bytes')) <= LIMIT);
      }
    }
    assert.equal(await loads(server), 20);
    assert.equal(await metric(server, 'serval_on_demand_evictions_total'), 17);
    const rss = (await get(server, '/v2/models/plus0')).status;
    assert.equal(rss, 200, 'the metadata of one that left needs no load');
    assert.equal(await loads(server), 20);
    const all = await Promise.all(
      Array.from({ length: 40 }, (_, i) => ask(server, `plus${i % 10}`, i)),
    );
    assert.deepEqual(
      all.map((one) => v2Values(one)[0]),
      all.map((_, i) => i + (i % 10)),
    );
  });

  it('refuses a model that can never fit, by name, and with what to raise', async (context) => {
    const repository = plusRepository('huge', 1, 20 * MB);
    put(join(repository, 'small', '1', 'model.onnx'), plusModel(1));
    const server = await lazy(repository, `--models-memory-limit=${LIMIT}`);
    context.after(() => server.stop());
    const answer = await ask(server, 'plus0');
    assert.equal(answer.status, 503);
    assert.equal(answer.headers.get('retry-after'), '1');
    assert.match(errorOf(answer), /^model 'plus0' needs 20 MB, and --models-memory-limit is 17 MB/);
    assert.equal(await loads(server, 'refused'), 1);
    assert.deepEqual(v2Values(await ask(server, 'small')), [2]);
  });

  it('never lets pinned models leave', async (context) => {
    const repository = plusRepository('pinned', 3, 7 * MB);
    const pin = 'parameters { key: "pin" value { string_value: "true" } }';
    put(join(repository, 'plus0', 'config.pbtxt'), pin);
    const server = await lazy(repository, `--models-memory-limit=${LIMIT}`);
    context.after(() => server.stop());
    for (const i of [0, 1, 2, 1, 2]) assert.equal((await ask(server, `plus${i}`)).status, 200);
    const states = new Map((await index(server)).map(({ name, reason }) => [name, reason]));
    assert.equal(states.get('plus0'), undefined);
    assert.equal(await metric(server, 'serval_on_demand_evictions_total'), 3);
  });

  it('lets models of a lower memory_priority leave first', async (context) => {
    const repository = plusRepository('priority', 3, 7 * MB);
    const more = 'parameters { key: "memory_priority" value { string_value: "5" } }';
    put(join(repository, 'plus0', 'config.pbtxt'), more);
    const server = await lazy(repository, `--models-memory-limit=${LIMIT}`);
    context.after(() => server.stop());
    for (const i of [0, 1, 2, 1, 2]) {
      assert.equal((await ask(server, `plus${i}`)).status, 200);
      const loadedMs = performance.now();
      await until('it may leave', () => performance.now() > loadedMs + STAYS_MS);
    }
    const states = new Map((await index(server)).map(({ name, reason }) => [name, reason]));
    assert.equal(states.get('plus0'), undefined);
    assert.equal(await metric(server, 'serval_on_demand_evictions_total'), 3);
  });

  it('traces requests that wait, also after their model left', async (context) => {
    const traces = join(folders.folder, 'traces.json');
    const server = await lazy(
      plusRepository('traced', 3, 7 * MB),
      `--models-memory-limit=${LIMIT}`,
      ...['--trace-config', `triton,file=${traces}`, '--trace-config', 'rate=1'],
      ...['--trace-config', 'level=TIMESTAMPS'],
    );
    context.after(() => server.stop());
    for (const i of [0, 1, 2, 0, 1, 2]) assert.equal((await ask(server, `plus${i}`)).status, 200);
    assert.equal(await metric(server, 'serval_on_demand_evictions_total'), 4);
  });

  it('follows files that change, and versions that come', async (context) => {
    const repository = plusRepository('changes', 1);
    const server = await lazy(
      repository,
      '--model-control-mode=poll',
      '--repository-poll-secs=1',
      '--settle-ms=0',
    );
    context.after(() => server.stop());
    assert.deepEqual(v2Values(await ask(server, 'plus0', 1)), [1]);
    writeFileSync(join(repository, 'plus0', '1', 'model.onnx'), plusModel(50));
    await until(
      'the new file serves',
      async () => v2Values(await ask(server, 'plus0', 1))[0] === 51,
    );
    put(join(repository, 'plus0', '2', 'model.onnx'), plusModel(60));
    await until('version 2 serves', async () => v2Values(await ask(server, 'plus0', 1))[0] === 61);
    rmSync(join(repository, 'plus0'), { recursive: true });
    await until('it is gone', async () => (await ask(server, 'plus0')).status !== 200);
  });
});
