// The table in docs/reference/flags.md equals that of ts/config/flags.ts. Test time only; needs
// dist/.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { SERVE_FLAGS } from '../../../dist/config/flags.js';
import { flagTable, withTable } from '../../../scripts/flags-page.mjs';

const page = readFileSync(new URL('../../../docs/reference/flags.md', import.meta.url), 'utf8');

test('a row has names, default and meaning, with bars escaped', () => {
  const rows = [{ name: 'port', aliases: ['p'], default: '1', value: 'A|B', help: 'x|y' }];
  assert.equal(flagTable(rows).split('\n')[2], '| `--port A\\|B`, `--p` | `1` | x\\|y |');
});

test('docs/reference/flags.md lists every flag (node scripts/flags-page.mjs writes it)', () => {
  assert.ok(SERVE_FLAGS.length > 0);
  assert.equal(withTable(page, flagTable(SERVE_FLAGS)), page);
  assert.throws(() => withTable('no marks', ''), /has no/);
});
