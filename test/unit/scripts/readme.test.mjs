// The table of settings in README.md is the one of ts/config/flags.ts. Test time only; needs dist/.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { SERVE_FLAGS } from '../../../dist/config/flags.js';
import { flagTable, withTable } from '../../../scripts/readme-flags.mjs';

const readme = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8');

test('a row has names, default and meaning, with bars escaped', () => {
  const rows = [{ name: 'port', aliases: ['p'], default: '1', value: 'A|B', help: 'x|y' }];
  assert.equal(flagTable(rows).split('\n')[2], '| `--port A\\|B`, `--p` | `1` | x\\|y |');
});

test('README.md lists every setting as it is (node scripts/readme-flags.mjs writes it)', () => {
  assert.ok(SERVE_FLAGS.length > 0);
  assert.equal(withTable(readme, flagTable(SERVE_FLAGS)), readme);
  assert.throws(() => withTable('no marks', ''), /has no/);
});
