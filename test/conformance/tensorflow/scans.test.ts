// Running sums of logarithms, histograms, edit distances and sets of sparse tensors against
// TensorFlow's own results on the CPU. SERVAL_SCAN_GOLDENS: the golden folder; if it is not set,
// the fixture script makes it.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { OPERATORS } from '../../../ts/importers/tensorflow/ops/index.js';
import { goldenFolder } from '../golden-folder.js';
import { EngineRunner } from './support/engine-run.js';
import { goldenNames, NO_GOLDENS, readGoldens } from './support/golden-files.js';
import { runGoldens } from './support/golden-runner.js';

const LEAST = 30;
const goldens = goldenFolder('scans');

describe('running sums, histograms and sets', { skip: goldens === undefined && NO_GOLDENS }, () => {
  const folder = goldens ?? '';
  let engine: EngineRunner;
  before(async () => {
    engine = await EngineRunner.open();
  });
  after(() => engine.close());

  for (const name of goldens === undefined ? [] : goldenNames(folder)) {
    test(`${name} answers and refuses as TensorFlow does`, async () => {
      const results = await runGoldens(readGoldens(folder, name), OPERATORS, engine, {
        refusesInWords: true,
      });
      assert.ok(results.length >= LEAST, `${results.length} cases`);
      const wrong = results.filter(({ outcome }) => outcome !== 'passed');
      assert.deepEqual(
        wrong.map(({ outcome, text }) => `${outcome}: ${text}`),
        [],
      );
    });
  }
});
