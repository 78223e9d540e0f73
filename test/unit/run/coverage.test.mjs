// How `make coverage` reads the output of gcov and V8, and its table. Test time only.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addGcov, addV8, folderRows } from '../../run/coverage.mjs';

test('a line of a header counts once, and as run where one of its objects ran it', () => {
  const object = (count) => {
    const lines = [
      { line_number: 3, count },
      { line_number: 4, count: 0 },
    ];
    const ours = { file: '../native/base/half.h', lines };
    const files = [ours, { file: '/usr/include/c++/12/vector', lines }];
    return JSON.stringify({ current_working_directory: '/work/build', files });
  };
  const files = new Map();
  addGcov(files, `${object(2)}\n${object(0)}\n`, '/work');
  const row = { lines: 2, ran: 1 };
  assert.deepEqual(folderRows(files), [
    { folder: 'native/base', ...row },
    { folder: 'all', ...row },
  ]);
});

test('a line of ts/ ran where one of the processes ran a part of it', () => {
  const text = 'const a = 1;\nfunction f() {\n  // why\n  return a;\n}\n';
  const textOf = (url) => (url === 'file:///a.js' ? { path: 'ts/model/a.ts', text } : undefined);
  const report = (count) => {
    const all = { startOffset: 0, endOffset: text.length, count: 1 };
    const f = { startOffset: text.indexOf('function'), endOffset: text.length - 1, count };
    const functions = [{ ranges: [all] }, { ranges: [f] }];
    return JSON.stringify({
      result: [
        { url: 'file:///a.js', functions },
        { url: 'node:fs', functions },
      ],
    });
  };
  const files = new Map();
  addV8(files, report(0), textOf);
  assert.deepEqual(folderRows(files).at(-1), { folder: 'all', lines: 3, ran: 1 });
  addV8(files, report(2), textOf);
  assert.deepEqual([...files.keys()], ['ts/model/a.ts']);
  assert.deepEqual(folderRows(files).at(-1), { folder: 'all', lines: 3, ran: 3 });
});
