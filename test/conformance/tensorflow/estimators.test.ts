// Boosted trees estimators of TensorFlow 1.15 and 2.8 against what those answered: imported, loaded
// into Serval's engine and called, Classify and Regress among the calls. Current TensorFlow has no
// boosted trees, so that two old ones are asked.
// SERVAL_ESTIMATORS_1_GOLDENS, SERVAL_ESTIMATORS_2_GOLDENS: the golden folders; absent: the fixture
// script makes them.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { blockedText } from '../../../ts/import/imported-spec.js';
import { importTensorFlow } from '../../../ts/tensorflow/index.js';
import { tempFolder } from '../../unit/temp-folder.js';
import { goldenFolder } from '../golden-folder.js';
import { EngineRunner } from './support/engine-run.js';
import {
  callDifference,
  goldenModelNames,
  goldenModelPath,
  modelCases,
} from './support/golden-models.js';

const ROWS_MIN: Readonly<Record<string, number>> = { '1.15': 4, '2.8': 7 };

for (const version of ['1.15', '2.8'] as const) {
  const goldens = goldenFolder(`estimators ${version}`);
  const folder = goldens ?? '';
  const skip = goldens === undefined && `no TensorFlow ${version} can be had here`;
  describe(`boosted trees of TensorFlow ${version}`, { skip }, () => {
    let engine: EngineRunner;
    before(async () => {
      engine = await EngineRunner.open();
    });
    after(() => engine.close());

    const names = goldens === undefined ? [] : goldenModelNames(folder);
    for (const name of names) {
      test(name, async (t) => {
        const imported = importTensorFlow(goldenModelPath(folder, name), {
          workFolder: tempFolder(t),
        });
        assert.deepEqual(imported.blocked.map(blockedText), []);
        const found: string[] = [];
        for (const [i, one] of modelCases(folder, name).entries()) {
          const difference = await callDifference(engine, imported, one);
          if (difference !== undefined) found.push(`call ${i}, ${difference}`);
        }
        await engine.unload(imported);
        assert.deepEqual(found, []);
      });
    }

    test('all of them are there, and answer different rows differently', () => {
      assert.ok(names.length >= (ROWS_MIN[version] ?? 0), names.join());
      for (const name of names) {
        const cases = modelCases(folder, name).filter(({ expectError }) => !expectError);
        const answers = cases.flatMap(({ outputs }) => Object.values(outputs));
        assert.ok(
          answers.some((one) => one !== null && new Set(one.data).size > 3),
          name,
        );
      }
    });
  });
}
