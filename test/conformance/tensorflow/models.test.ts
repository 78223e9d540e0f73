// Whole models against TensorFlow's own results: imported, loaded into Serval's engine and called
// with the messages of its gRPC interface, including Classify and Regress. SERVAL_TF_GOLDENS: the
// golden folder; if it is not set, the fixture script makes it. SERVAL_TF_MODELS: only these
// models, separated by commas.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { ImportedModel } from '../../../ts/importers/tensorflow/imported.js';
import { importTensorFlow } from '../../../ts/importers/tensorflow/index.js';
import { blockedText } from '../../../ts/importers/run/imported-spec.js';
import { tempFolder } from '../../unit/temp-folder.js';
import { EngineRunner } from './support/engine-run.js';
import { goldenFolder } from '../golden-folder.js';
import { NO_GOLDENS } from './support/golden-files.js';
import {
  callDifference,
  goldenModelNames,
  goldenModelPath,
  type ModelCase,
  modelCases,
} from './support/golden-models.js';

const goldens = goldenFolder('tensorflow');
const folder = goldens ?? '';
const names =
  goldens === undefined
    ? []
    : (process.env['SERVAL_TF_MODELS']?.split(',') ?? goldenModelNames(folder));

describe('models against TensorFlow', { skip: goldens === undefined && NO_GOLDENS }, () => {
  let engine: EngineRunner;
  before(async () => {
    engine = await EngineRunner.open();
  });
  after(() => engine.close());

  /** Runs calls in their order, because a counter's result depends on earlier calls. */
  async function differences(
    imported: ImportedModel,
    cases: readonly ModelCase[],
  ): Promise<string[]> {
    const found: string[] = [];
    for (const [i, one] of cases.entries()) {
      const difference = await callDifference(engine, imported, one);
      if (difference !== undefined) found.push(`call ${i}, ${difference}`);
    }
    return found;
  }

  for (const name of names) {
    test(name, async (t) => {
      const cases = modelCases(folder, name);
      assert.notEqual(cases.length, 0);
      const workFolder = tempFolder(t);
      const imported = importTensorFlow(goldenModelPath(folder, name), { workFolder });
      assert.deepEqual(imported.blocked.map(blockedText), []);
      try {
        assert.deepEqual(await differences(imported, cases), []);
      } finally {
        await engine.unload(imported);
      }
    });
  }

  test('the comparison sees wrong numbers, wrong classes and answers where none should be', async (t) => {
    const imported = importTensorFlow(goldenModelPath(folder, 'many_signatures'), {
      workFolder: tempFolder(t),
    });
    const cases = modelCases(folder, 'many_signatures');
    const swapped = cases.map((one, i) => ({ ...one, outputs: cases.at(i - 1)?.outputs ?? {} }));
    const wrong = await differences(
      imported,
      swapped.filter(
        (one, i) => one.expectError === undefined && cases.at(i - 1)?.expectError === undefined,
      ),
    );
    assert.ok(wrong.length >= swapped.length - 3, wrong.join('\n'));
    const refused = await differences(
      imported,
      cases.map((one) => ({ ...one, expectError: 'none' })),
    );
    assert.equal(refused.length, cases.filter((one) => one.expectError === undefined).length);
    await engine.unload(imported);
  });
});
