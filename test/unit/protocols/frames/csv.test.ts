// Conversion from CSV to V2 and back.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ErrorCode, type ServalError } from '../../../../ts/base/errors.js';
import type { Datatype, TensorInfo } from '../../../../ts/model/snapshot.js';
import { parseCsv } from '../../../../ts/base/csv.js';
import { csvColumns, csvText } from '../../../../ts/protocols/frames/csv.js';
import { answerColumns, requestText } from '../../../../ts/protocols/frames/tensors.js';

const input = (name: string, datatype: Datatype, ...shape: number[]): TensorInfo => ({
  name,
  datatype,
  shape: shape.length === 0 ? [-1] : shape,
  symbols: [''],
  unknownRank: false,
});

const INPUTS = [
  input('n', 'FP64'),
  input('i', 'INT64'),
  input('s', 'STRING'),
  input('b', 'BOOL'),
  input('d', 'DATE'),
  input('t', 'TIMESTAMP'),
  input('v', 'VECTOR', -1, 2),
  input('w', 'STRING', -1, 1, -1),
];

const body = (csv: string, open: readonly string[] = [], untyped: readonly string[] = []): string =>
  requestText(csvColumns(parseCsv(csv), INPUTS, { open, untyped }));

function refused(run: () => unknown, code: ErrorCode, why: RegExp): void {
  assert.throws(run, (error: ServalError) => {
    assert.equal(error.code, code, error.message);
    assert.match(error.message, why);
    return true;
  });
}

test('names a separator that is not a comma', () => {
  for (const [text, why] of [
    ['n;i;s\n1;2;x\n', /separated by semicolons: expected commas, got "n;i;s"/],
    ['n\ti\n1\t2\n', /separated by tabs: expected commas/],
    ['n|i\n1|2\n', /separated by vertical bars: expected commas/],
  ] as const) {
    refused(() => parseCsv(text), ErrorCode.MalformedBody, why);
  }
  assert.deepEqual(parseCsv('n,a;b\n1,2\n').header, ['n', 'a;b']);
  assert.deepEqual(parseCsv('"n;i"\n1\n').header, ['n;i'], 'a quoted name may have any character');
});

test('rows, quotes and line ends', () => {
  const cells = (text: string) => parseCsv(text);
  assert.deepEqual(cells('a,b\n1,2\n'), { header: ['a', 'b'], rows: [['1', '2']] });
  assert.deepEqual(cells('\ufeffa,b\r\n1,2\r\n3,4').rows, [
    ['1', '2'],
    ['3', '4'],
  ]);
  assert.deepEqual(cells('a,"b ""c"""\n"x,\ny",').header, ['a', 'b "c"']);
  assert.deepEqual(cells('a,b\n"x,\ny",\n').rows, [['x,\ny', null]]);
  assert.deepEqual(cells('a,b\n"",\n').rows, [['', null]]);
  assert.deepEqual(cells('a\n\n1\n').rows, [[null], ['1']], 'an empty cell of one column');
  assert.deepEqual(cells('a,b\n\n1,2\r\n\r\n,\n\n').rows, [
    ['1', '2'],
    [null, null],
  ]);
  assert.deepEqual(cells('a,b').rows, []);
});

test('refuses invalid CSV with its line', () => {
  const bad: readonly (readonly [string, RegExp])[] = [
    ['', /expected a header row/],
    ['\n1\n', /expected a header row/],
    ['a,a\n1,2', /"a" occurs twice/],
    ['a,b\n1\n', /line 2: expected 2 cells, got 1/],
    ['a,b\n"x\ny",1\n1,2,3\n', /line 4: expected 2 cells, got 3/],
    ['a,b\n"x,2\n', /line 2: an unterminated quote/],
    ['a,b\n"x"y,2\n', /line 2: an unterminated quote/],
    ['a,b\nx"y,2\n', /line 2: an unterminated quote/],
    ['a,b\r1,2\r', /line 1: expected LF or CR LF at its end, got CR/],
  ];
  for (const [text, why] of bad) refused(() => parseCsv(text), ErrorCode.MalformedBody, why);
});

// Each of these once took a minute, or overflowed the stack.
test('wide headers and long texts take their time and no more', () => {
  const names = Array.from({ length: 200_000 }, (_, i) => `c${i}`).join(',');
  assert.equal(parseCsv(`${names}\n`).header.length, 200_000);
  refused(() => parseCsv(`${names},c7\n`), ErrorCode.MalformedBody, /"c7" occurs twice/);
  const quotes = '"'.repeat(4_000_000);
  assert.equal(parseCsv(`a\n"${quotes}${quotes}"\n`).rows[0]?.[0], quotes);
  refused(
    () => parseCsv(`a\n"${quotes}`),
    ErrorCode.MalformedBody,
    /line 2: an unterminated quote/,
  );
  const lines = 'x\n'.repeat(1_000_000);
  refused(() => parseCsv(`a\n"${lines}"\n1,2`), ErrorCode.MalformedBody, /line 1000003: expected/);
});

test('cells become what the model takes', () => {
  const text = body(
    'n,i,s,b,d,t,v,w,unknown\n' +
      '.5,+007,x,TRUE,2024-01-31,31/01/2024 00:00:00,"[1, 2.0]","[""a""]",?\n' +
      ',,,,,,,,\n' +
      'inf,9223372036854775807,"",0,,,,[],\n',
  );
  const { inputs } = JSON.parse(
    text.replace('Infinity', '99').replace('9223372036854775807', '8'),
  ) as {
    inputs: {
      name: string;
      datatype: string;
      shape: number[];
      data: unknown;
      parameters?: object;
    }[];
  };
  assert.deepEqual(
    inputs.map(({ name, datatype, shape, data }) => [name, datatype, shape, data]),
    [
      ['n', 'FP64', [3], [0.5, null, 99]],
      ['i', 'INT64', [3], [7, null, 8]],
      ['s', 'STRING', [3], ['x', null, '']],
      ['b', 'BOOL', [3], [true, null, false]],
      ['d', 'DATE', [3], ['2024-01-31', null, null]],
      ['t', 'TIMESTAMP', [3], ['31/01/2024 00:00:00', null, null]],
      ['v', 'VECTOR', [3, 1, -1], [[[1, 2]], [null], [null]]],
      ['w', 'STRING', [3, 1, -1], [[['a']], [null], [[]]]],
    ],
  );
  assert.deepEqual(inputs[5]?.parameters, { format: 'iso8601' });
  assert.match(body('n\n0.1000\n1e-400\n-5.\nnan\n'), /"data":\[0.1000,1e-400,-5,NaN\]/);
});

test('a cell of another type: an error with row and column, or text where the model is open', () => {
  const bad: readonly (readonly [string, RegExp])[] = [
    ['n\n1\nabc\n', /row 1, column "n": expected FP64, got "abc"/],
    ['i\n1.5\n', /row 0, column "i": expected INT64, got "1\.5"/],
    ['b\nyes\n', /column "b": expected BOOL, got "yes"/],
    ['v\n1\n', /column "v": expected a list of VECTOR, got "1"/],
    ['v\n"[""a""]"\n', /expected a list of VECTOR/],
    ['w\n[1]\n', /expected a list of STRING/],
  ];
  for (const [text, why] of bad) refused(() => body(text), ErrorCode.InvalidArgument, why);
  assert.match(body('n\n1.0\nabc\n\n', ['n']), /"datatype":"STRING".*"data":\["1.0","abc",null\]/);
  assert.match(body('n\n1.0\n', ['n']), /"datatype":"FP64".*"data":\[1.0\]/);
});

test('guesses integers, doubles or text if the model declares no type', () => {
  const typed = (...cells: string[]): string => {
    const found = /"datatype":"(\w+)"/.exec(body(`s\n${cells.join('\n')}\n`, ['s'], ['s']));
    return found?.[1] ?? '';
  };
  assert.equal(typed('1', '', '-20'), 'INT64');
  assert.equal(typed('1', '2.5'), 'FP64');
  assert.equal(typed('12345678901234567890'), 'FP64');
  assert.equal(typed('1', '007'), 'STRING');
  assert.equal(typed('1', 'x'), 'STRING');
});

test('an answer as CSV, and that read again', () => {
  const answer = answerColumns(
    '{"outputs":[{"name":"p","datatype":"FP64","shape":[3],"data":[0.10,NaN,null]},' +
      '{"name":"the label","datatype":"STRING","shape":[3],"data":["a,\\"b","",null]},' +
      '{"name":"v","datatype":"FP64","shape":[3,2],"data":[1,2,3,4,5,6]}]}',
  );
  const text = csvText(answer);
  assert.equal(text, 'p,the label,v\r\n0.10,"a,""b","[1,2]"\r\nNaN,"","[3,4]"\r\n,,"[5,6]"\r\n');
  assert.deepEqual(parseCsv(text).rows[1], ['NaN', '', '[3,4]']);
  assert.equal(csvText([]), '\r\n');
});
