// grpcurl, which has none of our messages: it reads them through server reflection, makes requests
// from JSON and prints responses as JSON.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { ModelFolders } from '../e2e/support/model-folders.js';
import { startServer, type ServalProcess } from '../e2e/support/serval-process.js';
import { clientModels, findGo } from './support.js';

const SERVICES = [
  'grpc.health.v1.Health',
  'grpc.reflection.v1.ServerReflection',
  'grpc.reflection.v1alpha.ServerReflection',
  'inference.GRPCInferenceService',
  'tensorflow.serving.ModelService',
  'tensorflow.serving.PredictionService',
  'tensorflow.serving.SessionService',
];
const RUN_MS = 60_000;
/** grpcurl's exit status for a call that ended with a gRPC status is that status plus 64. */
const STATUS_BASE = 64;
const NOT_FOUND = 5;

describe('grpcurl', () => {
  const folders = new ModelFolders();
  const { program, missing } = findGo();
  const skip = missing;
  let server: ServalProcess;
  before(async () => {
    server = await startServer([clientModels(folders)]);
  });
  after(async () => {
    await server.stop();
    folders.remove();
  });

  const grpcurl = (options: readonly string[], ...words: readonly string[]) => {
    const args = ['-plaintext', ...options, `127.0.0.1:${server.grpcPort}`, ...words];
    return spawnSync(program('grpcurl'), args, { encoding: 'utf8', timeout: RUN_MS });
  };
  const printed = (options: readonly string[], ...words: readonly string[]): string => {
    const { status, stdout, stderr } = grpcurl(options, ...words);
    assert.equal(status, 0, stderr);
    return stdout;
  };

  it('lists the services', { skip }, () => {
    assert.deepEqual(printed([], 'list').trim().split('\n'), SERVICES);
  });

  it('describes every service', { skip }, () => {
    for (const service of SERVICES) {
      assert.match(printed([], 'describe', service), new RegExp(`^${service} is a service`));
    }
    const message = printed([], 'describe', '.tensorflow.serving.PredictRequest');
    assert.match(message, /map<string, \.tensorflow\.TensorProto> inputs = 2;/);
  });

  it('calls the engine', { skip }, () => {
    const input = '{"name":"x","datatype":"FP32","shape":["2"],"contents":{"fp32Contents":[1,2]}}';
    const request = `{"model_name":"half_plus_three","id":"é","inputs":[${input}]}`;
    const method = 'inference.GRPCInferenceService/ModelInfer';
    const reply = JSON.parse(printed(['-d', request], method)) as Record<string, unknown>;
    assert.equal(reply['id'], 'é');
    const values = Buffer.from(Float32Array.of(3.5, 4).buffer).toString('base64');
    assert.deepEqual(reply['raw_output_contents'], [values]);
  });

  it('calls a stream', { skip }, () => {
    const one = (id: number): string =>
      `{"model_name":"half_plus_three","id":"${id}","inputs":[{"name":"x","datatype":"FP32",
        "shape":["1"],"contents":{"fp32Contents":[${id}]}}]}`;
    const requests = [1, 2, 3].map(one).join('\n');
    const method = 'inference.GRPCInferenceService/ModelStreamInfer';
    const stdout = printed(['-d', requests], method);
    assert.deepEqual(
      [...stdout.matchAll(/"id": "(\d)"/g)].map((match) => match[1]),
      ['1', '2', '3'],
    );
  });

  it('calls methods outside the hot path', { skip }, () => {
    const spec = '{"model_spec":{"name":"half_plus_three"}}';
    const status = printed(['-d', spec], 'tensorflow.serving.ModelService/GetModelStatus');
    assert.match(status, /"state": "AVAILABLE"/);
    assert.match(printed([], 'grpc.health.v1.Health/Check'), /"status": "SERVING"/);
  });

  it('prints the status of a missing model', { skip }, () => {
    const request = '{"model_name":"größer"}';
    const answer = grpcurl(['-d', request], 'inference.GRPCInferenceService/ModelInfer');
    assert.equal(answer.status, STATUS_BASE + NOT_FOUND);
    assert.match(answer.stderr, /Code: NotFound\n {2}Message: .*größer/);
  });
});
