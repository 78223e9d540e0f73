// Models whose goldens are made separately: CTC decoders, networks whose convolutions and pools are
// rewritten, Keras models saved in every way, models of TensorFlow Decision Forests, and estimators
// of TensorFlow 1.15 and 2.8 (current TensorFlow has none). They are imported, loaded into Serval's
// engine and called, also by Classify and Regress. SERVAL_DECODER_GOLDENS, SERVAL_WINDOW_GOLDENS,
// SERVAL_KERAS_GOLDENS, SERVAL_FOREST_GOLDENS, SERVAL_ESTIMATORS_1_GOLDENS,
// SERVAL_ESTIMATORS_2_GOLDENS: the golden folders; the fixture scripts make those that are not set.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { blockedText } from '../../../ts/importers/run/imported-spec.js';
import { importTensorFlow } from '../../../ts/importers/tensorflow/index.js';
import { tempFolder } from '../../unit/temp-folder.js';
import { goldenFolder } from '../golden-folder.js';
import { EngineRunner } from './support/engine-run.js';
import {
  callDifference,
  goldenModelNames,
  goldenModelPath,
  modelCases,
} from './support/golden-models.js';

/** The number of models in each set. */
const SETS = {
  decoders: 2,
  windows: 3,
  keras: 38,
  forests: 58,
  'estimators 1.15': 5,
  'estimators 2.8': 8,
} as const;

for (const set of Object.keys(SETS) as (keyof typeof SETS)[]) {
  const goldens = goldenFolder(set);
  const folder = goldens ?? '';
  const skip = goldens === undefined && 'the TensorFlow that answers cannot be had here';
  describe(`${set} against TensorFlow`, { skip }, () => {
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

    test('all of them are there, and answer different calls differently', () => {
      assert.equal(names.length, SETS[set], names.join());
      for (const name of names) {
        const cases = modelCases(folder, name).filter(({ expectError }) => !expectError);
        const answers = cases.map(({ outputs }) => JSON.stringify(outputs));
        assert.ok(new Set(answers).size > cases.length / 2, name);
      }
    });
  });
}
