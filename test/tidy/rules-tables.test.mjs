// The tidy rules that compare tables of documents with sources, on small samples. Test time only.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { namedPaths, nativeCalls, pageSizes, rooms, tableRows } from './rules/tables.mjs';
import { sourceFile } from './source-files.mjs';

const tree = (pairs) => ({
  files: Object.entries(pairs).map(([path, text]) => sourceFile(path, text)),
  sizes: Object.keys(pairs).map((path) => ({ path, bytes: 1 })),
});
const messages = (violations) => violations.map(({ message }) => message);

test('rows are those of a heading', () => {
  const page = '# A\n| a | b |\n| --- | --- |\n| c | d |\n## B\n| e | f |';
  assert.deepEqual(
    tableRows(page, 'A').map(({ cells }) => cells.join()),
    ['a,b', 'c,d'],
  );
  assert.deepEqual(tableRows(page, 'B'), [{ line: 6, cells: ['e', 'f'] }]);
  assert.equal(tableRows(page).length, 3);
});

test('the table of calls equals the exports', () => {
  const calls = (table, code) =>
    messages(
      nativeCalls(
        tree({
          'docs/reference/native-calls.md': `| for | calls |\n| --- | --- |\n${table}`,
          'native/addon/exports.cc': code,
        }),
      ),
    );
  const code = '    exported<"infer", Infer>(),\n    exported<"load", Load>(),\n';
  assert.deepEqual(calls('| a | infer |\n| b | load |', code), []);
  assert.deepEqual(calls('| a | infer |', code), ['load is missing in the table']);
  assert.match(calls('| a | infer, load, unload |', code)[0], /does not export unload/);
  assert.deepEqual(calls('| a | infer, load, load |', code), ['load is listed twice']);
  assert.match(calls('| a | infer |', '')[0], /exports nothing/);
});

test('every room has a row, and its README.md a mark', () => {
  const page = (rows) => `## The rooms\n| room | does |\n| --- | --- |\n${rows}\n## Next\n`;
  const sources = { 'native/base/a.h': '', 'ts/api.ts': '', 'ts/cli/help/x.ts': '' };
  const of = (rows, more = {}) =>
    messages(rooms(tree({ ...sources, ...more, 'ARCHITECTURE.md': page(rows) })));
  const rows = '| native/base | x |\n| ts/api.ts | y |\n| ts/cli | z |';
  assert.deepEqual(of(rows), []);
  assert.deepEqual(of(rows.replace('| ts/cli | z |', '')), ['ts/cli has no row in "The rooms"']);
  assert.deepEqual(of(`${rows}\n| ts/old | w |`), ['no folder ts/old']);
  assert.deepEqual(of(rows.replace('cli', 'cli *')), ['ts/cli has no README.md']);
  assert.match(of(rows, { 'ts/cli/README.md': '' })[0], /mark it \*/);
  assert.deepEqual(of(rows.replace('cli', 'cli *'), { 'ts/cli/README.md': '' }), []);
});

test('the first pages and the pages of rooms are short', () => {
  assert.deepEqual(pageSizes(tree({ 'README.md': 'x', 'ts/cli/README.md': 'x\n'.repeat(60) })), []);
  assert.deepEqual(messages(pageSizes(tree({ 'CHANGELOG.md': 'ä'.repeat(2049) }))), [
    '4098 bytes, at most 4096',
  ]);
  assert.deepEqual(messages(pageSizes(tree({ 'ts/cli/README.md': 'x\n'.repeat(61) }))), [
    '61 lines, at most 60',
  ]);
});

test('paths that pages name exist', () => {
  const named = (text) =>
    messages(namedPaths(tree({ 'test/a/b.test.ts': '', 'docs/reference/x.md': text })));
  assert.deepEqual(named('`test/a` `test/a/b.test.ts` `native` test/c'), []);
  assert.deepEqual(named('`test/a/c.test.ts`'), ['there is no test/a/c.test.ts']);
});
