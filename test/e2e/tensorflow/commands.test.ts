// TensorFlow models on the command line: serval inspect, and serval import, whose ONNX files give
// the same numbers in other runtimes. Goldens: SERVAL_TF_GOLDENS. Test time only.
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { InferenceSession, Tensor } from 'onnxruntime-node';
import { goldenFolder } from '../../conformance/golden-folder.js';
import { NO_GOLDENS } from '../../conformance/tensorflow/support/golden-files.js';
import { runServal } from '../support/serval-process.js';
import { floatsOf, HALF, model, MODELS, suiteFolder, type Golden } from './support.js';

const runtime = createRequire(import.meta.url)('onnxruntime-node') as {
  readonly InferenceSession: typeof InferenceSession;
  readonly Tensor: typeof Tensor;
};

describe('TensorFlow models on the command line', () => {
  const folder = suiteFolder();

  it('serval inspect', async (t) => {
    const path = model(t, HALF);
    if (path === undefined) return;
    const text = await runServal(['inspect', path]);
    assert.equal(text.code, 0, text.stderr);
    assert.match(text.stdout, /format +SavedModel\n[^]*signature serving_default[^]* Mul {2}5\n/);
    const json = await runServal(['inspect', path, '--json']);
    const { signatures } = JSON.parse(json.stdout) as { signatures: { name: string }[] };
    assert.ok(signatures.some((one) => one.name === 'classify_x_to_y'));
    const lite = await runServal(['inspect', join(MODELS, 'saved_model_half_plus_two_tflite')]);
    assert.equal(lite.code, 0, lite.stderr);
    assert.match(lite.stdout, /TensorFlow Lite/);
  });

  it('serval import: the ONNX file gives others the same numbers', async (t) => {
    const path = model(t, HALF);
    if (path === undefined) return;
    const out = join(folder, 'half.onnx');
    const run = await runServal(['import', path, '--out', out, '--signature', 'serving_default']);
    assert.equal(run.code, 0, run.stderr);
    assert.match(run.stdout, /half\.onnx {2}signature serving_default/);
    assert.deepEqual(await outputOf(out, 'x', 'y', [1, 2, 5], [3, 1]), [2.5, 3, 4.5]);
  });

  it('serval import with its constants beside it', async (t) => {
    const goldens = goldenFolder('tensorflow');
    if (goldens === undefined) {
      t.skip(NO_GOLDENS);
      return;
    }
    const name = 'keras_small_cnn';
    const out = join(folder, 'cnn', 'cnn.onnx');
    mkdirSync(join(folder, 'cnn'));
    const run = await runServal([
      'import',
      join(goldens, 'models', name),
      '--out',
      out,
      '--signature',
      'serving_default',
    ]);
    assert.equal(run.code, 0, run.stderr);
    assert.deepEqual(readdirSync(join(folder, 'cnn')), ['cnn.onnx', 'cnn.onnx.data']);
    const [one] = JSON.parse(readFileSync(join(goldens, 'models', name, 'cases.json'), 'utf8')) as {
      inputs: Record<string, Golden>;
      outputs: Record<string, Golden>;
    }[];
    const [[input, given] = ['', undefined]] = Object.entries(one?.inputs ?? {});
    const [[output, wanted] = ['', undefined]] = Object.entries(one?.outputs ?? {});
    assert.ok(given !== undefined && wanted !== undefined);
    const got = await outputOf(out, input, output, floatsOf(given), given.shape);
    const want = floatsOf(wanted);
    assert.equal(got.length, want.length);
    got.forEach((value, i) => assert.ok(Math.abs(value - (want[i] ?? NaN)) < 1e-4, `${i}`));
  });
});

/** The output of ONNX Runtime's own package for the file. */
async function outputOf(
  path: string,
  input: string,
  output: string,
  values: readonly number[],
  shape: readonly number[],
): Promise<number[]> {
  const session = await runtime.InferenceSession.create(path, { logSeverityLevel: 4 });
  const feed = new runtime.Tensor('float32', Float32Array.from(values), shape);
  const results = await session.run({ [input]: feed });
  await session.release();
  return [...(results[output]?.data as Float32Array)];
}
