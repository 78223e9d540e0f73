// Triton's ensembles through every protocol: answers equal those of the steps called one by one;
// steps are reloaded under traffic, unloaded and loaded by explicit calls. Source: v2-protocol.md
// 3.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { RawClient, encode, messageTypes } from '../../unit/protocols/raw-client.js';
import { ModelFolders } from '../support/model-folders.js';
import {
  control,
  index,
  infer,
  plusModel,
  predict,
  put,
  putDelayModel,
  statistics,
  v2Body,
  v2Values,
} from '../support/operating.js';
import { until } from '../support/polling.js';
import { errorOf, exchange, jsonOf } from '../support/raw-http.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';
import { LINE } from './random-zoo.js';

const types = messageTypes();
const folders = new ModelFolders();
after(() => folders.remove());

/** A step with one input x and one output y. */
const step = (model: string, from: string, to: string): string =>
  `step { model_name: "${model}" model_version: -1 input_map { key: "x" value: "${from}" }
    output_map { key: "y" value: "${to}" } }`;

function putEnsemble(repository: string, name: string, steps: readonly string[]): void {
  put(join(repository, name, '1', '.keep'), '');
  put(
    join(repository, name, 'config.pbtxt'),
    `platform: "ensemble"
input { name: "IN" data_type: TYPE_FP32 dims: [ -1 ] }
output { name: "OUT" data_type: TYPE_FP32 dims: [ -1 ] }
ensemble_scheduling { ${steps.join('\n')} }`,
  );
}

/** plus1, then plus10, then a batched model that returns its input. */
function chainRepository(name: string): string {
  const repository = folders.repository(name, []);
  for (const number of [1, 10]) {
    put(join(repository, `plus${number}`, '1', 'model.onnx'), plusModel(number));
  }
  putDelayModel(repository, 'batched', 1);
  putEnsemble(repository, 'chain', [
    step('plus10', 'a', 'b'),
    step('plus1', 'IN', 'a'),
    step('batched', 'b', 'OUT'),
  ]);
  return repository;
}

const values = async (
  server: ServalProcess,
  model: string,
  x: number,
): Promise<readonly number[]> => v2Values(await infer(server, model, v2Body('IN', [x])));

describe('an ensemble', () => {
  let server: ServalProcess;
  let grpc: RawClient;
  let repository: string;
  before(async () => {
    repository = chainRepository('chain');
    putEnsemble(repository, 'outer', [
      step('plus1', 'IN', 'first'),
      `step { model_name: "chain" model_version: -1 input_map { key: "IN" value: "first" }
        output_map { key: "OUT" value: "OUT" } }`,
    ]);
    put(join(repository, 'line', '1', 'model.pmml'), LINE);
    putEnsemble(repository, 'mixed', [
      step('plus1', 'IN', 'a'),
      step('line', 'a', 'OUT').replace('key: "x"', 'key: "f"'),
    ]);
    const config = join(repository, 'mixed', 'config.pbtxt');
    const text = readFileSync(config, 'utf8');
    put(config, text.replace('"OUT" data_type: TYPE_FP32', '"OUT" data_type: TYPE_FP64'));
    putEnsemble(repository, 'lost', [step('nowhere', 'IN', 'OUT')]);
    server = await startServer([
      ...['--model-repository', repository, '--strict-readiness=false'],
      ...['--model-control-mode=poll', '--repository-poll-secs=1', '--settle-ms=0'],
    ]);
    grpc = new RawClient(server.grpcPort);
  });
  after(async () => {
    grpc.close();
    await server.stop();
  });

  it('answers as its steps do, through every protocol', async () => {
    assert.deepEqual(await values(server, 'chain', 5), [16]);
    assert.deepEqual(await values(server, 'outer', 5), [17]);
    const v1 = await predict(server, 'chain', '{"instances":[5.0,6.0]}');
    assert.deepEqual(jsonOf(v1), { predictions: [16, 17] });
    const request = encode(types, 'inference.ModelInferRequest', {
      model_name: 'chain',
      inputs: [{ name: 'IN', datatype: 'FP32', shape: [2], contents: { fp32_contents: [5, 0.5] } }],
    });
    const answer = await grpc.unary('/inference.GRPCInferenceService/ModelInfer', request, {});
    assert.equal(answer.code, 0, answer.details);
    const expected = Buffer.from(new Float32Array([16, 11.5]).buffer);
    assert.ok(answer.message?.includes(expected));
  });

  it('joins a model of tensors with one of fields', async () => {
    assert.deepEqual(await values(server, 'mixed', 5), [13]);
    assert.deepEqual(v2Values(await infer(server, 'mixed', v2Body('IN', []))), []);
  });

  it('is described as one', async () => {
    const meta = jsonOf(await exchange(server.httpPort, 'GET', '/v2/models/chain')) as {
      platform: string;
      inputs: unknown;
    };
    assert.equal(meta.platform, 'ensemble');
    assert.deepEqual(meta.inputs, [{ name: 'IN', datatype: 'FP32', shape: [-1] }]);
    const config = jsonOf(await exchange(server.httpPort, 'GET', '/v2/models/chain/config')) as {
      platform: string;
      ensemble_scheduling: { step: readonly { model_name: string }[] };
    };
    assert.equal(config.platform, 'ensemble');
    const names = config.ensemble_scheduling.step.map((one) => one.model_name);
    assert.deepEqual(names, ['plus10', 'plus1', 'batched']);
  });

  it('counts each step and the whole', async () => {
    const count = async (model: string): Promise<number> =>
      (await statistics(server, model)).inference_count;
    const [chain, plus] = [await count('chain'), await count('plus10')];
    await values(server, 'chain', 1);
    assert.equal(await count('chain'), chain + 1);
    assert.equal(await count('plus10'), plus + 1);
  });

  it('says which step refuses, and which is missing', async () => {
    const lost = (await index(server)).find(({ name }) => name === 'lost');
    assert.equal(lost?.state, 'UNAVAILABLE');
    assert.match(lost?.reason ?? '', /step 1 needs model 'nowhere', which is not loaded/);
    const wrong = await infer(
      server,
      'chain',
      '{"inputs":[{"name":"IN","datatype":"INT64","shape":[1],"data":[1]}]}',
    );
    assert.equal(wrong.status, 400);
  });

  it('follows a new version of a step without a failed request', async () => {
    const seen = new Set<number>();
    let isDone = false;
    const ask = async (): Promise<void> => {
      while (!isDone) seen.add((await values(server, 'chain', 5))[0] ?? NaN);
    };
    const traffic = Promise.all([ask(), ask(), ask()]);
    put(join(repository, 'plus10', '2', 'model.onnx'), plusModel(100));
    await until('the new version', () => seen.has(106));
    isDone = true;
    await traffic;
    assert.deepEqual(
      [...seen].sort((a, b) => a - b),
      [16, 106],
    );
  });
});

describe('an ensemble by explicit calls', () => {
  let server: ServalProcess;
  let repository: string;
  before(async () => {
    repository = chainRepository('explicit');
    server = await startServer([
      ...['--model-repository', repository],
      ...['--model-control-mode', 'explicit'],
    ]);
  });
  after(() => server.stop());

  const states = async (): Promise<ReadonlyMap<string, string | undefined>> =>
    new Map((await index(server)).map(({ name, state }) => [name, state]));

  it('is loaded with its steps, leaves when one leaves, and comes back', async () => {
    await control(server, '/v2/repository/models/chain/load');
    assert.deepEqual(await values(server, 'chain', 5), [16]);
    assert.equal((await states()).get('plus10'), 'READY');
    await control(server, '/v2/repository/models/plus1/unload');
    await until('gone', async () => (await states()).get('chain') !== 'READY');
    const refused = await infer(server, 'chain', v2Body('IN', [1]));
    assert.notEqual(refused.status, 200);
    assert.match(errorOf(refused), /chain/);
    await control(server, '/v2/repository/models/plus1/load');
    await until('back', async () => (await states()).get('chain') === 'READY');
    assert.deepEqual(await values(server, 'chain', 5), [16]);
  });

  it('is replaced with all ensembles in a row when the innermost step is', async () => {
    const inner = `step { model_name: "INNER" model_version: -1 input_map { key: "IN" value: "IN" }
      output_map { key: "OUT" value: "OUT" } }`;
    for (let i = 0; i < 8; i += 1) {
      const of = i === 0 ? 'chain' : `row${i - 1}`;
      putEnsemble(repository, `row${i}`, [inner.replace('INNER', of)]);
    }
    await control(server, '/v2/repository/models/row7/load');
    assert.deepEqual(await values(server, 'row7', 5), [16]);
    put(join(repository, 'plus1', '2', 'model.onnx'), plusModel(2));
    await control(server, '/v2/repository/models/plus1/load');
    await until('the new step', async () => (await values(server, 'row7', 5))[0] === 17);
    const old = async (): Promise<boolean> =>
      (await index(server)).some(({ state }) => state === 'UNLOADING');
    await until('the old ones are unloaded', async () => !(await old()));
    for (let i = 7; i >= 0; i -= 1) {
      await control(server, `/v2/repository/models/row${i}/unload`);
    }
  });

  it('takes its steps with it', async () => {
    const body = '{"parameters":{"unload_dependents":true}}';
    await control(server, '/v2/repository/models/chain/unload', body);
    const left = await states();
    assert.notEqual(left.get('chain'), 'READY');
    assert.notEqual(left.get('plus10'), 'READY');
  });
});
