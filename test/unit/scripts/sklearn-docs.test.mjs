// The table of scikit-learn's estimators in the documents is that of the importer. Needs dist/.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  estimatorTable,
  wantedSklearnDocument,
  withEstimatorTable,
} from '../../../scripts/tabular/sklearn-estimators.mjs';

const root = fileURLToPath(new URL('../../..', import.meta.url));

test('docs/reference/sklearn.md lists every estimator (node scripts/tabular/sklearn-estimators.mjs writes it)', async () => {
  const written = readFileSync(join(root, 'docs', 'reference', 'sklearn.md'), 'utf8');
  assert.equal(await wantedSklearnDocument(join(root, 'dist')), written);
});

test('estimators of one group share a row', () => {
  const table = estimatorTable(
    new Map([
      ['B', { group: 'x' }],
      ['A', { group: 'x' }],
    ]),
  );
  assert.match(table, /2 classes of estimators:[^]*\| x \| `B`, `A` \|/);
  assert.throws(() => withEstimatorTable('no marks', table), /no marks/);
});
