// What `make coverage` reads of gcov and of Node, and its table. Test time only.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addGcov, addLcov, folderRows } from '../../run/coverage.mjs';

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

test("Node's report: compiled files of ts/, no tests", () => {
  const files = new Map();
  const report = ['SF:build/test/ts/model/a.js', 'DA:1,5', 'DA:2,0', 'end_of_record'];
  report.push('SF:build/test/test/unit/a.test.js', 'DA:1,1', 'end_of_record', '');
  addLcov(files, report.join('\n'));
  assert.deepEqual([...files.keys()], ['ts/model/a.ts']);
  assert.deepEqual(folderRows(files).at(-1), { folder: 'all', lines: 2, ran: 1 });
});
