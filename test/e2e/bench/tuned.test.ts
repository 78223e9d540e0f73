// A server for a model under its own settings: models of any name and kind, and refusals.
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { MeasureOptions } from '../../../ts/cli/bench/measure.js';
import { startTunedOf, type ConfigText } from '../../../ts/cli/bench/tuned.js';
import { packageRoot } from '../../../ts/base/package-files.js';

const MODELS = join(packageRoot(), 'examples', 'models');
const folder = mkdtempSync(join(tmpdir(), 'serval-tuned-test-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const options = (target: string, model?: string): MeasureOptions => ({
  ...{ target, model, version: undefined, headers: {}, tlsCa: '', settings: new Map() },
  ...{ paths: ['grpc'], inputs: [], shapes: [], seed: 1, threads: 1, arrivals: 'constant' },
});
const batched: ConfigText = ({ maxBatchSize = 0 }, name) =>
  `name: "${name}"\nmax_batch_size: ${maxBatchSize}\ndynamic_batching {}\n`;
const left = (): readonly string[] =>
  readdirSync(tmpdir()).filter((name) => name.startsWith(`serval-tune-${process.pid}-`));

cpSync(join(MODELS, 'add_sub', '1', 'model.onnx'), join(folder, '7.onnx'));

for (const [target, model] of [
  [join(folder, '7.onnx'), undefined],
  [MODELS, 'add_sub'],
  [MODELS, 'loan_risk'],
  [join(MODELS, 'iris_tree'), undefined],
] as const) {
  test(`${target.replace(packageRoot(), '')} ${model ?? ''} is served as configured`, async () => {
    const input = model === 'loan_risk' ? ['amount=1', 'income=2', 'purpose="car"'] : [];
    const given = { ...options(target, model), inputs: input };
    const tuned = await startTunedOf(given, batched)({ maxBatchSize: 4 });
    try {
      assert.equal(left().length, 1);
      const loop = { loop: 'closed', concurrency: 2, rate: 0, warmupSeconds: 0 } as const;
      const plan = { ...loop, path: 'grpc', batch: 1, seconds: 1 } as const;
      const { failed, answered, firstError } = await tuned.measure(plan);
      assert.deepEqual([failed, firstError], [0, undefined]);
      assert.ok(answered > 0);
      // The server serves what the configuration allows.
      if (model === 'add_sub') {
        await assert.rejects(tuned.measure({ ...plan, batch: 5 }), /batch.*4|4.*batch/);
      }
    } finally {
      await tuned.close();
    }
    assert.deepEqual(left(), []);
  });
}

test('refuses a configuration that does not fit, and leaves no files', async () => {
  const wrong: ConfigText = (_, name) => `name: "${name}"\nmax_batch_size: -3\n`;
  const start = startTunedOf(options(MODELS, 'add_sub'), wrong);
  await assert.rejects(start({}), /max_batch_size/);
  assert.deepEqual(left(), []);
  await assert.rejects(startTunedOf(options(MODELS, 'nope'), batched)({}), /no model "nope"/);
});
