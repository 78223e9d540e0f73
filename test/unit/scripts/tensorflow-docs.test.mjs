// The tables of docs/reference/tensorflow.md and docs/reference/serval-operators.md equal the
// code's. Test time only; needs dist/.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  operatorFamilies,
  operatorTables,
  servedFamilies,
  withOperators,
} from '../../../scripts/tensorflow-ops.mjs';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const page = (name) => readFileSync(join(root, 'docs', 'reference', name), 'utf8');

test('operators with the same words share a row, with bars escaped', () => {
  const lower = () => undefined;
  const text = operatorTables(
    new Map([
      [
        'norm',
        {
          B: { lower },
          A: { lower, dtypes: 'numeric' },
          C: { lower, dtypes: 'any', note: 'x|y' },
        },
      ],
    ]),
  );
  assert.match(text, /^3 operators\.\n\n### Normalization\n/);
  assert.deepEqual(text.split('\n').slice(6, 8), [
    '| `A`, `B` | numeric |  |',
    '| `C` | any | x\\|y |',
  ]);
});

test('an operator in no folder is an error, one that is not served is left out', () => {
  const families = new Map([['norm', { A: {}, B: {} }]]);
  assert.deepEqual([...servedFamilies(families, { B: {} })], [['norm', { B: {} }]]);
  assert.throws(() => servedFamilies(families, { Z: {} }), /in no folder of ops\/: Z/);
});

test('docs/reference/tensorflow.md lists every operator (node scripts/tensorflow-ops.mjs writes it)', async () => {
  const folder = join(root, 'dist', 'importers', 'tensorflow', 'ops');
  const families = await operatorFamilies(folder);
  assert.ok(families.size > 5);
  assert.equal(
    withOperators(page('tensorflow.md'), operatorTables(families)),
    page('tensorflow.md'),
  );
  assert.throws(() => withOperators('no marks', ''), /has no/);
});

test('docs/reference/serval-operators.md names the operators of native/operators, and no others', () => {
  const folder = join(root, 'native', 'operators');
  const sources = readdirSync(folder, { recursive: true }).filter((path) => path.endsWith('.cc'));
  const code = sources.flatMap((path) =>
    [...readFileSync(join(folder, path), 'utf8').matchAll(/^.*\{"([A-Z]\w+)",\s*\{/gm)].map(
      (match) => match[1],
    ),
  );
  const tables = page('serval-operators.md')
    .split('\n')
    .filter((line) => line.startsWith('| `'));
  const documented = tables.flatMap((line) =>
    [...(line.split('|')[1] ?? '').matchAll(/`(\w+)`/g)].map((match) => match[1]),
  );
  assert.ok(code.length > 40, `${code.length} operators found`);
  assert.deepEqual([...documented].sort(), [...code].sort());
});
