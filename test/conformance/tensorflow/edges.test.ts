// Edge cases against TensorFlow's own results on the CPU: indices without an element, NaN,
// infinities and ties, sizes below 0. Inputs that TensorFlow refuses must be the request's fault,
// with its message if that names an index or a size. SERVAL_EDGE_GOLDENS: the golden folder; if it
// is not set, the fixture script makes it.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { OPERATORS } from '../../../ts/importers/tensorflow/ops/index.js';
import { goldenFolder } from '../golden-folder.js';
import { knownEdge, staleEdges } from './support/edge-differences.js';
import { EngineRunner } from './support/engine-run.js';
import { goldenNames, NO_GOLDENS, readGoldens } from './support/golden-files.js';
import { runGoldens } from './support/golden-runner.js';

const goldens = goldenFolder('edges');
const chosen = process.env['SERVAL_TF_OPS']?.split(',');

describe('edge cases against TensorFlow', { skip: goldens === undefined && NO_GOLDENS }, () => {
  const folder = goldens ?? '';
  const names = goldens === undefined ? [] : (chosen ?? goldenNames(folder));
  let engine: EngineRunner;
  before(async () => {
    engine = await EngineRunner.open();
  });
  after(() => engine.close());

  for (const name of names) {
    test(name, async () => {
      const results = await runGoldens(readGoldens(folder, name), OPERATORS, engine, {
        refusesInWords: true,
      });
      assert.notEqual(results.length, 0);
      const differing = results.filter(({ outcome }) => outcome !== 'passed');
      const wrong = differing.filter(({ text }) => knownEdge(name, text) === undefined);
      assert.deepEqual(
        wrong.map(({ outcome, text }) => `${outcome}: ${text}`),
        [],
      );
      assert.deepEqual(staleEdges(name, differing), []);
    });
  }
});
