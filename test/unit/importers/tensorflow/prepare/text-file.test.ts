// Vocabulary files: TensorFlow 2.21 gave the same result for every row.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import {
  readTextFile,
  type TextFileColumns,
} from '../../../../../ts/importers/tensorflow/prepare/kernels/text-file.js';
import type { Dtype } from '../../../../../ts/importers/tensorflow/types.js';
import { filledFolder } from '../../../temp-folder.js';
import { invalid } from '../messages.js';
import { values } from './graphs.js';

const LINES: TextFileColumns = {
  keyDtype: 'string',
  keyIndex: -2,
  valueDtype: 'int64',
  valueIndex: -1,
  vocabSize: -1,
  delimiter: '\t',
  offset: 0n,
};

function read(t: TestContext, content: string, columns: Partial<TextFileColumns> = {}): string {
  const path = join(filledFolder(t, { 'v.txt': content }), 'v.txt');
  const found = readTextFile(path, { ...LINES, ...columns });
  const all = values(found.values);
  return values(found.keys)
    .map((key, at) => `${JSON.stringify(key)}=${all[at]}`)
    .join(' ');
}

const column = (dtype: Dtype): Partial<TextFileColumns> => ({
  keyIndex: 0,
  valueIndex: 1,
  valueDtype: dtype,
});

test('lines: blanks belong to them, one carriage return before the end does not', (t) => {
  assert.equal(read(t, ' a \nb'), '" a "=0 "b"=1');
  assert.equal(read(t, 'a\r\nb\r\n'), '"a"=0 "b"=1');
  assert.equal(read(t, 'a\rx\nb'), '"a\\rx"=0 "b"=1');
  assert.equal(read(t, 'a\r\r\nb\r'), '"a\\r"=0 "b"=1');
  assert.equal(read(t, 'a\n\r'), '"a"=0');
  assert.equal(read(t, 'a\nb\nc\n', { vocabSize: 2 }), '"a"=0 "b"=1');
  assert.equal(read(t, 'a\n\n', { vocabSize: 1 }), '"a"=0');
  assert.equal(read(t, 'a\nb\n', { offset: 7n }), '"a"=7 "b"=8');
});

test('lines that are none', (t) => {
  const cases: readonly (readonly [string, Partial<TextFileColumns>, RegExp])[] = [
    ['a\nb\n\nc\n', {}, /v\.txt: empty line found at position 5$/],
    ['\r\nb', {}, /empty line found at position 2$/],
    ['', {}, /expected lines, got none/],
    ['\r', {}, /expected lines, got none/],
    ['a\n', { vocabSize: 0 }, /expected lines, got none/],
    ['a\nb\nc\n', { vocabSize: 5 }, /expected 5 lines, got 3/],
    ['a\t1\nb\n', column('int64'), /line 1: expected 2 columns, got 1/],
  ];
  for (const [content, columns, expected] of cases) {
    assert.match(
      invalid(() => read(t, content, columns)),
      expected,
    );
  }
});

test('columns, split at every delimiter', (t) => {
  assert.equal(read(t, 'a b\nc  d\n', { ...column('string'), delimiter: ' ' }), '"a"=b "c"=');
  assert.equal(read(t, 'a\t1\tx\nb\t 2 \n', column('int64')), '"a"=1 "b"=2');
  assert.equal(read(t, 'x\ty\n', { keyIndex: 1 }), '"y"=0');
  assert.equal(
    read(t, 'a\n', {
      keyDtype: 'int64',
      keyIndex: -1,
      valueDtype: 'string',
      valueIndex: -2,
    }),
    '0=a',
  );
});

test('numbers in fields', (t) => {
  const of = (dtype: Dtype, field: string, offset = 0n): string =>
    read(t, `a\t${field}\n`, { ...column(dtype), offset }).slice(4);
  for (const [field, expected] of [
    ['+3', '3'],
    ['007', '7'],
    [' -7 ', '-7'],
    ['\v5\f', '5'],
    ['5\r', '5'],
    ['7\0b', '7'],
  ])
    assert.equal(of('int64', field ?? ''), expected);
  assert.equal(of('int32', '5', 10n), '15');
  assert.equal(of('int32', '2147483647', 1n), '-2147483648');
  assert.equal(of('int64', '5', 10n), '5');
  for (const [field, expected] of [
    ['1.5', '1.5'],
    [' inf ', 'Infinity'],
    ['-infinity', '-Infinity'],
    ['nan', 'NaN'],
    ['nan(1)', 'NaN'],
    ['1e39', 'Infinity'],
    ['1e-50', '0'],
    ['-.5', '-0.5'],
    ['5.', '5'],
    ['0x1p3', '8'],
    ['0x.8', '0.5'],
    ['-0X1.8p+1', '-3'],
    ['+.5e-1', `${Math.fround(0.05)}`],
  ])
    assert.equal(of('float', field ?? ''), expected);
  assert.equal(of('double', '0.1'), '0.1');
  for (const field of ['', '3x', '0x10', '9223372036854775808', '-', '+', '- 7', '+-3']) {
    assert.match(
      invalid(() => of('int64', field)),
      /line 0: ".*" is not a valid int64/,
    );
  }
  assert.match(
    invalid(() => of('int32', '3000000000')),
    /not a valid int32/,
  );
  for (const field of ['', '1.5f', '1 2', '0x', '1e', '1e+', '.', '1_0', '--1', 'infinit']) {
    assert.match(
      invalid(() => of('float', field)),
      /is not a valid float/,
    );
  }
});

test('columns that a table cannot have', (t) => {
  const cases: readonly (readonly [Partial<TextFileColumns>, RegExp])[] = [
    [{ keyIndex: -1 }, /line numbers as keys: expected int64, got string/],
    [{ valueDtype: 'int32' }, /line numbers as values: expected int64/],
    [{ keyDtype: 'float' }, /whole lines as keys: expected string, int32 or int64, got float/],
    [{ valueDtype: 'double', valueIndex: -2 }, /whole lines as values/],
    [{ keyIndex: -3 }, /key_index: expected -2 or more/],
    [{ delimiter: '' }, /delimiter/],
    [{ delimiter: ',,' }, /delimiter: expected 1 byte, got 2/],
    [column('bool'), /fields of type bool are not supported/],
  ];
  for (const [columns, expected] of cases) {
    assert.match(
      invalid(() => read(t, 'a\tb\n', columns)),
      expected,
    );
  }
  assert.equal(read(t, '5\n6\n', { keyDtype: 'int64' }), '5=0 6=1');
  assert.match(
    invalid(() => readTextFile('/nonexistent/v.txt', LINES)),
    /no such file/,
  );
  assert.match(
    invalid(() => readTextFile(filledFolder(t, {}), LINES)),
    /expected a file|EISDIR/,
  );
});
