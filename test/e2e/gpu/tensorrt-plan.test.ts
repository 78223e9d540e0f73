// TensorRT engines on a machine without a GPU: which ones are found, the output of inspect, and why
// none is served, one model at a time.
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { packageRoot } from '../../../ts/base/package-files.js';
import { logLines, predict, put } from '../support/operating.js';
import { until } from '../support/polling.js';
import { runServal, startServer } from '../support/serval-process.js';

const MODEL = join(packageRoot(), 'examples', 'models', 'half_plus_three', '123', 'model.onnx');
const ENGINE = Buffer.concat([Buffer.from('ftrt'), Buffer.alloc(64)]);
const TENSORS = `
input { name: "x" data_type: TYPE_FP32 dims: [ 3 ] }
output { name: "y" data_type: TYPE_FP16 dims: [ -1 ] }`;
const NO_GPU = { SERVAL_GPU_FOLDER: join(tmpdir(), 'serval-no-gpu-folder') };

describe('model.plan without a GPU', () => {
  const root = mkdtempSync(join(tmpdir(), 'serval-plan-'));
  const add = (name: string, config: string, content: Uint8Array | string = ENGINE): void => {
    put(join(root, name, '1', 'model.plan'), content);
    if (config !== '') put(join(root, name, 'config.pbtxt'), config);
  };
  before(() => {
    add('whole', `platform: "tensorrt_plan" max_batch_size: 4 ${TENSORS}`);
    add('backend', `backend: "tensorrt" ${TENSORS}`);
    add('bare', '');
    add('on_cpu', `backend: "tensorrt" ${TENSORS} instance_group { kind: KIND_CPU }`);
    add('other', `backend: "tensorrt" ${TENSORS}`, 'no engine at all');
    put(join(root, 'onnx', '1', 'model.plan'), ENGINE);
    cpSync(MODEL, join(root, 'onnx', '1', 'model.onnx'));
  });
  after(() => rmSync(root, { recursive: true }));

  it('is the error of that model, with what is missing; others serve', async () => {
    const args = ['--model-repository', root, '--strict-readiness', 'false'];
    const quick = ['--load-retry-interval-micros', '3600000000', '--log-format', 'json'];
    const server = await startServer([...args, ...quick], NO_GPU);
    try {
      const failed = (): ReadonlyMap<unknown, string> =>
        new Map(
          logLines(server)
            .filter(({ message }) => message === 'model failed to load')
            .map((line) => [line['model'], String(line['reason'])]),
        );
      await until('five models to fail', () => failed().size === 5);
      const reasons = failed();
      const expected: Readonly<Record<string, RegExp>> = {
        whole: /whole\/1\/model\.plan: .* a GPU only: .*no CUDA provider: serval gpu install$/,
        backend: /a GPU only: .*serval gpu install$/,
        bare: /expected input and output there, got 0 and 0$/,
        on_cpu: /expected no KIND_CPU/,
        other: /other\/1\/model\.plan: is not a TensorRT engine: .*got bytes 6e6f2065$/,
      };
      for (const [name, pattern] of Object.entries(expected)) {
        assert.match(reasons.get(name) ?? '', pattern, name);
      }
      await until('the ONNX model to load', () =>
        logLines(server).some(
          ({ message, model }) => message === 'model loaded' && model === 'onnx',
        ),
      );
      const answer = await predict(server, 'onnx', '{"instances": [2]}');
      assert.deepEqual(JSON.parse(String(answer.body)), { predictions: [4] });
    } finally {
      await server.stop();
    }
  });

  it('inspect says what the configuration says', async () => {
    const json = await runServal(['inspect', join(root, 'whole'), '--json'], NO_GPU);
    assert.equal(json.stderr, '');
    const report = JSON.parse(json.stdout) as Readonly<Record<string, unknown>>;
    const tensor = (name: string, datatype: string, shape: readonly number[]) => ({
      name,
      datatype,
      shape,
      symbols: ['', ''],
      unknownRank: false,
    });
    assert.deepEqual(
      [report['format'], report['platform'], report['bytes'], report['signatures']],
      [
        'plan',
        'tensorrt_plan',
        68,
        [
          {
            name: 'serving_default',
            inputs: [tensor('x', 'FP32', [-1, 3])],
            outputs: [tensor('y', 'FP16', [-1, -1])],
          },
        ],
      ],
    );
    const text = await runServal(['inspect', join(root, 'whole')], NO_GPU);
    assert.match(text.stdout, /format +TensorRT engine \(tensorrt_plan\)/);
    for (const [name, pattern] of [
      ['bare', /expected input and output there/],
      ['other', /is not a TensorRT engine/],
    ] as const) {
      const { code, stderr } = await runServal(['inspect', join(root, name)], NO_GPU);
      assert.equal(code, 1);
      assert.match(stderr, pattern);
    }
  });
});
