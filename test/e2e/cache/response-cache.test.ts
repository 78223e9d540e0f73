// The response cache through every protocol: cached answers equal fresh ones, equal requests run
// once, a reload forgets, statistics and metrics count. Source: Triton's response cache;
// docs/guides/response-cache.md.
import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { encode, messageTypes, RawClient } from '../../unit/protocols/raw-client.js';
import { ModelFolders } from '../support/model-folders.js';
import {
  control,
  infer,
  logLines,
  metric,
  plusModel,
  predict,
  put,
  putDelayModel,
  statistics,
  v2Body,
  v2Values,
} from '../support/operating.js';
import { exchange } from '../support/raw-http.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';

const CACHED = 'response_cache { enable: true }';
const SLOW_MS = 300;
const types = messageTypes();
const folders = new ModelFolders();
after(() => folders.remove());

function repositoryOf(name: string): string {
  const repository = folders.repository(name, []);
  put(join(repository, 'plus', '1', 'model.onnx'), plusModel(1));
  put(join(repository, 'plus', 'config.pbtxt'), CACHED);
  put(join(repository, 'plain', '1', 'model.onnx'), plusModel(1));
  putDelayModel(repository, 'slow', SLOW_MS, `${CACHED} instance_group { count: 4 }`);
  return repository;
}

const start = (repository: string, ...more: readonly string[]): Promise<ServalProcess> =>
  startServer([
    ...['--model-repository', repository, '--model-control-mode=explicit', '--load-model=*'],
    ...['--log-format=json', ...more],
  ]);

describe('the response cache', () => {
  let server: ServalProcess;
  let grpc: RawClient;
  let repository: string;
  before(async () => {
    repository = repositoryOf('cached');
    server = await start(repository, '--cache-config=local,size=1048576');
    grpc = new RawClient(server.grpcPort);
  });
  after(async () => {
    grpc.close();
    await server.stop();
  });

  const hits = async (model: string): Promise<number> =>
    Number((await statistics(server, model)).inference_stats['cache_hit']?.count);

  it('answers through every protocol as the model itself does', async () => {
    const [from, body] = [await hits('plus'), v2Body('x', [1.5, -2])];
    const fresh = await infer(server, 'plain', body);
    for (let i = 0; i < 3; ++i) {
      const answer = await infer(server, 'plus', body);
      assert.equal(
        answer.body.toString(),
        fresh.body.toString().replace('"model_name":"plain"', '"model_name":"plus"'),
      );
    }
    const v1 = await predict(server, 'plus', '{"instances":[1.5,-2.0]}');
    assert.equal(v1.body.toString(), '{"predictions":[2.5,-1.0]}');
    const input = { name: 'x', datatype: 'FP32', shape: [2] };
    const contents = { fp32_contents: [1.5, -2] };
    const request = encode(types, 'inference.ModelInferRequest', {
      model_name: 'plus',
      inputs: [{ ...input, contents }],
    });
    const reply = await grpc.unary('/inference.GRPCInferenceService/ModelInfer', request, {});
    assert.equal(reply.code, 0, reply.details);
    assert.ok(reply.message?.includes(Buffer.from(new Float32Array([2.5, -1]).buffer)));
    assert.equal((await hits('plus')) - from, 4, 'all but the first');
    const { inference_count: count, execution_count: runs } = await statistics(server, 'plus');
    assert.deepEqual([count, runs], [1, 1]);
  });

  it('runs equal requests at once only once, and a hit does not wait', async () => {
    const body = v2Body('x', [7]);
    const answers = await Promise.all(
      Array.from({ length: 16 }, () => infer(server, 'slow', body)),
    );
    for (const answer of answers) assert.deepEqual(v2Values(answer), [7]);
    assert.equal((await statistics(server, 'slow')).execution_count, 1);
    assert.equal(await hits('slow'), 15);
    const others = [1, 2, 3, 4, 5, 6, 7, 8].map((x) => infer(server, 'slow', v2Body('x', [-x])));
    const began = performance.now();
    assert.deepEqual(v2Values(await infer(server, 'slow', body)), [7]);
    assert.ok(performance.now() - began < SLOW_MS, 'queued requests are not before it');
    await Promise.all(others);
  });

  it('forgets the responses of a model that is reloaded', async () => {
    const body = v2Body('x', [100]);
    assert.deepEqual(v2Values(await infer(server, 'plus', body)), [101]);
    put(join(repository, 'plus', '1', 'model.onnx'), plusModel(5));
    await control(server, '/v2/repository/models/plus/load');
    assert.deepEqual(v2Values(await infer(server, 'plus', body)), [105]);
    assert.deepEqual(v2Values(await infer(server, 'plus', body)), [105]);
  });

  it("reports Triton's metrics for the models that use it, and the cache", async () => {
    const page = (await exchange(server.httpPort, 'GET', '/metrics')).body.toString();
    assert.match(page, /^nv_cache_num_hits_per_model\{model="slow",version="1"\} \d+$/m);
    assert.match(page, /^nv_cache_miss_duration_per_model\{model="plus",version="1"\} \d+$/m);
    assert.doesNotMatch(page, /nv_cache\w+\{model="plain"/);
    assert.ok((await metric(server, 'serval_response_cache_entries')) > 1);
    assert.equal(await metric(server, 'serval_response_cache_limit_bytes'), 1_048_576);
  });
});

describe('inputs in shared memory', () => {
  const name = `serval-cache-${process.pid}`;
  const file = join('/dev/shm', name);
  const share = (value: number): void =>
    writeFileSync(file, Buffer.from(Float32Array.of(value).buffer));
  after(() => rmSync(file, { force: true }));

  it('are not cached under what they were before a client changed them', async () => {
    const repository = repositoryOf('shared');
    put(join(repository, 'chain', '1', '.keep'), '');
    put(
      join(repository, 'chain', 'config.pbtxt'),
      `platform: "ensemble"
input { name: "IN" data_type: TYPE_FP32 dims: [ -1 ] }
output { name: "OUT" data_type: TYPE_FP32 dims: [ -1 ] }
ensemble_scheduling { step { model_name: "slow" model_version: -1
  input_map { key: "x" value: "IN" } output_map { key: "y" value: "OUT" } } }`,
    );
    const server = await start(
      repository,
      ...['--cache-config=local,size=1048576', '--allow-client-shm=true'],
    );
    share(11);
    const region = JSON.stringify({ key: `/${name}`, offset: 0, byte_size: 4 });
    await control(server, '/v2/systemsharedmemory/region/r/register', region);
    const parameters = { shared_memory_region: 'r', shared_memory_byte_size: 4 };
    const answers = ['chain', 'slow'].map((model) => {
      const input = {
        name: model === 'chain' ? 'IN' : 'x',
        datatype: 'FP32',
        shape: [1],
        parameters,
      };
      return infer(server, model, JSON.stringify({ inputs: [input] }));
    });
    await setTimeout(SLOW_MS / 3);
    share(99);
    for (const answer of await Promise.all(answers)) v2Values(answer);
    assert.deepEqual(v2Values(await infer(server, 'slow', v2Body('x', [11]))), [11]);
    await server.stop();
  });
});

describe('a server without a response cache', () => {
  it('serves a model that asks for one, and says that it has none', async () => {
    const server = await start(repositoryOf('none'));
    const body = v2Body('x', [1]);
    for (let i = 0; i < 2; ++i) assert.deepEqual(v2Values(await infer(server, 'plus', body)), [2]);
    assert.equal((await statistics(server, 'plus')).execution_count, 2);
    const page = (await exchange(server.httpPort, 'GET', '/metrics')).body.toString();
    assert.doesNotMatch(page, /_cache_/);
    await server.stop();
    const said = logLines(server).filter((line) => String(line['what']).includes('cache'));
    assert.deepEqual(
      said.map((line) => [line['model'], line['what']]).sort(),
      ['plus', 'slow'].map((model) => [
        model,
        'cached responses: the server has no cache (--cache-config local,size=BYTES)',
      ]),
    );
  });
});
