// The tables of other servers' flags and fields in docs/ equal those of the sources, and the pages
// that they name exist. Test time only.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import {
  fieldLines,
  flagTable,
  pageBlocks,
  readTables,
  withBlock,
} from '../../../scripts/peer-tables.mjs';

const docs = new URL('../../../docs/', import.meta.url);
const tables = await readTables();

test('the pages are fresh (node scripts/peer-tables.mjs writes them)', () => {
  for (const [page, blocks] of Object.entries(pageBlocks(tables))) {
    const text = readFileSync(new URL(page, docs), 'utf8');
    for (const [name, block] of Object.entries(blocks)) {
      assert.equal(withBlock(text, name, block), text);
    }
  }
  assert.throws(() => withBlock('no marks', 'flags', ''), /there is no "<!-- flags: written by/);
});

test('pages that rows name are there, with their headings', () => {
  const rows = [...tables.TENSORFLOW_SERVING_FLAGS, ...tables.TRITON_FLAGS];
  for (const { name, page } of rows.filter((row) => row.page !== '')) {
    const [path, anchor] = page.split('#');
    const url = new URL(path, docs);
    assert.ok(existsSync(url), `${name}: ${page}`);
    if (anchor === undefined) continue;
    const headings = [...readFileSync(url, 'utf8').matchAll(/^#+ (.*)$/gm)].map((match) =>
      match[1]
        .toLowerCase()
        .replace(/[^\w\s-]/g, '')
        .replaceAll(' ', '-'),
    );
    assert.ok(headings.includes(anchor), `${name}: ${page}`);
  }
});

test('every flag has a line, neighbours that work alike share one', () => {
  const flag = (name, state, note = '') => ({ name, state, note, page: '', harmless: [] });
  const flags = [
    flag('a-b', 'works'),
    flag('c', 'works'),
    flag('d', 'works'),
    { ...flag('e', 'not here', 'x|y'), harmless: ['false'] },
  ];
  const findFlag = (name) => ({ name: name === 'd' ? 'ours' : name });
  assert.deepEqual(
    flagTable(flags, 'P', (name) => name, findFlag)
      .split('\n')
      .slice(2),
    [
      '| `--a-b`, `--c` | the same |  |',
      '| `--d` | the same as `--ours` |  |',
      '| `--e` | refused | x\\|y; `false` is accepted |',
    ],
  );
});

test('fields have their path from the root', () => {
  const lines = fieldLines(tables.MODEL_CONFIG, tables.TRITON_FIELDS);
  assert.ok(
    lines.some((line) => line.startsWith('| `optimization.cuda.busy_wait_events` | no effect | ')),
  );
  assert.ok(lines.some((line) => line.includes('`dynamic_batching.preserve_ordering`')));
});
