// The tables of docs/reference/tabular.md equal the importers'. Test time only; needs dist/.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  sqlGroups,
  supported,
  supportText,
  withSupport,
} from '../../../../scripts/tabular/docs.mjs';

const root = fileURLToPath(new URL('../../../..', import.meta.url));

test('docs/reference/tabular.md lists what is supported (node scripts/tabular/docs.mjs writes it)', async () => {
  const page = readFileSync(join(root, 'docs', 'reference', 'tabular.md'), 'utf8');
  const all = await supported(join(root, 'dist', 'importers'));
  assert.ok(all.mleap.length > 30 && all.pmml.length > 8 && all.sql.size > 50);
  assert.ok(all.spark.flatMap(([, names]) => names).includes('StringIndexerModel'));
  assert.equal(withSupport(page, supportText(all)), page);
  assert.throws(() => withSupport('no marks', ''), /has no/);
});

test('functions by their groups', () => {
  const groups = sqlGroups(
    new Map([
      ['b', { group: 'x' }],
      ['a', { group: 'y' }],
      ['c', { group: 'x' }],
    ]),
  );
  assert.deepEqual(
    [...groups],
    [
      ['x', ['b', 'c']],
      ['y', ['a']],
    ],
  );
});
