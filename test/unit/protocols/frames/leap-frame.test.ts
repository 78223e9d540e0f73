// Conversion from LeapFrames to V2 and back.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ErrorCode, type ServalError } from '../../../../ts/base/errors.js';
import {
  answerFrame,
  frameColumns,
  parseFrame,
} from '../../../../ts/protocols/frames/leap-frame.js';
import { answerColumns, requestText } from '../../../../ts/protocols/frames/tensors.js';

const frame = (fields: readonly unknown[], rows: string): string =>
  `{"schema":{"fields":${JSON.stringify(fields)}},"rows":${rows}}`;

/** The V2 inputs of a frame. */
function inputs(text: string): unknown {
  const { inputs: made } = JSON.parse(requestText(frameColumns(parseFrame(text)))) as {
    inputs: readonly { name: string; datatype: string; shape: number[]; data: unknown }[];
  };
  return made.map(({ name, datatype, shape, data }) => [name, datatype, shape, data]);
}

test('basic types', () => {
  const fields = [
    { name: 'b', type: 'boolean' },
    { name: 'i', type: 'integer' },
    { name: 'l', type: 'long' },
    { name: 'd', type: { type: 'basic', base: 'double', isNullable: true } },
    { name: 's', type: 'string' },
  ];
  const text = frame(fields, '[[true,1,9223372036854775807,0.5,"x"],[false,-2,0,null,null]]');
  assert.deepEqual(inputs(text.replace('9223372036854775807', '7')), [
    ['b', 'BOOL', [2], [true, false]],
    ['i', 'INT32', [2], [1, -2]],
    ['l', 'INT64', [2], [7, 0]],
    ['d', 'FP64', [2], [0.5, null]],
    ['s', 'STRING', [2], ['x', null]],
  ]);
  assert.match(requestText(frameColumns(parseFrame(text))), /"data":\[9223372036854775807,0\]/);
  const special = frame([{ name: 'd', type: 'double' }], '[["NaN"],["-Infinity"],[NaN]]');
  const body = requestText(frameColumns(parseFrame(special)));
  assert.match(body, /"data":\[NaN,-Infinity,NaN\]/);
});

test('lists and tensors, dense and sparse', () => {
  const fields = [
    { name: 'words', type: { type: 'list', base: 'string' } },
    { name: 'v', type: { type: 'tensor', base: 'double', dimensions: [3] } },
    { name: 'f', type: { type: 'tensor', base: { type: 'basic', base: 'int' }, dimensions: [-1] } },
  ];
  const dense = '{"values":[1.0,2.0,3.0],"dimensions":[3]}';
  const sparse = '{"indices":[[2]],"values":[5.5],"dimensions":[3]}';
  const text = frame(fields, `[[["a","b"],${dense},[1]],[[],${sparse},[]],[null,[1,2,3],null]]`);
  assert.deepEqual(inputs(text), [
    ['words', 'STRING', [3, 1, -1], [[['a', 'b']], [[]], [null]]],
    ['v', 'VECTOR', [3, 1, -1], [[[1, 2, 3]], [[0, 0, 5.5]], [[1, 2, 3]]]],
    ['f', 'INT32', [3, 1, -1], [[[1]], [[]], [null]]],
  ]);
});

const one = (type: unknown, value: string): string => frame([{ name: 'x', type }], `[[${value}]]`);

test('what is no frame is refused, with row and field', () => {
  const vector = { type: 'tensor', base: 'double', dimensions: [2] };
  const bad: readonly (readonly [string, RegExp])[] = [
    ['[]', /expected \{"schema"/],
    ['{"schema":{"fields":[]}}', /expected \{"schema"/],
    [frame([{ name: 'x' }], '[]'), /field 0: expected/],
    [
      frame(
        [
          { name: 'x', type: 'double' },
          { name: 'x', type: 'double' },
        ],
        '[]',
      ),
      /"x" occurs twice/,
    ],
    [one('date', '1'), /field "x": expected one of .* got "date"/],
    [one('byte_string', '"eA=="'), /field "x": expected one of/],
    [one({ type: 'map', base: 'double' }, '{}'), /field "x": expected one of .*map/],
    [one('double', '1],[2,3'), /row 1: expected a list of 1 values, got 2 values/],
    [
      frame([{ name: 'x', type: 'double' }], '[5]'),
      /row 0: expected a list of 1 values, got number/,
    ],
    [one('double', '"a"'), /row 0, field "x": expected a number, got string/],
    [one('double', 'true'), /expected a number, got boolean/],
    [one('string', '1'), /expected a string, got number/],
    [one('boolean', '1'), /expected a boolean, got number/],
    [one({ type: 'list', base: 'double' }, '1'), /expected a list, got number/],
    [one({ type: 'list', base: 'double' }, '["a"]'), /expected a number, got string/],
    [one(vector, '{"values":[1],"dimensions":[2]}'), /expected 2 values, got 1/],
    [one(vector, '{"values":[1],"dimensions":[1,1]}'), /"dimensions": \[size\]/],
    [one(vector, '{"values":[1],"dimensions":[99999999999]}'), /at most 16777216 values/],
    [one(vector, '{"values":[1],"dimensions":[-1]}'), /at most/],
    [one(vector, '{"indices":[[2]],"values":[1],"dimensions":[2]}'), /indices below 2/],
    [one(vector, '{"indices":[[0],[1]],"values":[1],"dimensions":[2]}'), /as many indices/],
  ];
  for (const [text, why] of bad) {
    assert.throws(
      () => frameColumns(parseFrame(text)),
      (error: ServalError) => {
        assert.equal(error.code, ErrorCode.InvalidArgument);
        assert.match(error.message, why);
        return true;
      },
      text,
    );
  }
});

test('sparse tensors become no more values than there may be', () => {
  const fields = '[{"name":"x","type":{"type":"tensor","base":"double"}}]';
  const cell = '[{"indices":[[1]],"values":[2.5],"dimensions":[1048576]}]';
  const rows = (count: number): string =>
    `{"schema":{"fields":${fields}},"rows":[${new Array<string>(count).fill(cell).join(',')}]}`;
  const [column] = frameColumns(parseFrame(rows(4)));
  assert.equal((column?.cells[3] as readonly unknown[]).length, 1_048_576);
  assert.throws(
    () => frameColumns(parseFrame(rows(5))),
    (error: ServalError) => {
      assert.equal(error.code, ErrorCode.BodyTooLarge);
      assert.match(
        error.message,
        /row 4, field "x": expected at most 4194304 values of sparse tensors/,
      );
      return true;
    },
  );
});

test('the answer has the fields and then the outputs', () => {
  const fields = [
    { name: 'id', type: 'long' },
    { name: 'p', type: 'double' },
  ];
  const asked = parseFrame(frame(fields, '[[9007199254740993,1.0],[2,2.0]]'));
  const answer = answerColumns(
    JSON.stringify({
      outputs: [
        { name: 'p', datatype: 'FP64', shape: [2], data: [0.5, null] },
        { name: 'v', datatype: 'VECTOR', shape: [2, 2], data: [1, 2, 3, 4] },
        { name: 'label', datatype: 'STRING', shape: [2], data: ['a', 'b'] },
        { name: 'items', datatype: 'STRING', shape: [2, 1, -1], data: ['x', 'y', 'z'] },
        { name: 'items_shape', datatype: 'INT32', shape: [1], data: [1, 2] },
      ],
    }).replace('null', 'NaN'),
  );
  const text = answerFrame(asked, answer);
  assert.match(text, /9007199254740993/);
  assert.deepEqual(JSON.parse(text), {
    schema: {
      fields: [
        { name: 'id', type: 'long' },
        { name: 'p', type: { type: 'basic', base: 'double', isNullable: true } },
        { name: 'v', type: { type: 'tensor', base: 'double', dimensions: [2] } },
        { name: 'label', type: { type: 'basic', base: 'string', isNullable: true } },
        { name: 'items', type: { type: 'list', base: 'string' } },
      ],
    },
    rows: [
      [Number('9007199254740993'), 0.5, { values: [1, 2], dimensions: [2] }, 'a', ['x']],
      [2, null, { values: [3, 4], dimensions: [2] }, 'b', ['y', 'z']],
    ],
  });
});

test('an answer that does not add up is an error of ours', () => {
  for (const answer of [
    '[]',
    '{"outputs":[{"name":"a"}]}',
    '{"outputs":[{"name":"a","datatype":"FP64","shape":[2,1,-1],"data":[1]}]}',
    '{"outputs":[{"name":"a","datatype":"FP64","shape":[2,2],"data":[1]}]}',
  ]) {
    assert.throws(() => answerColumns(answer), { code: ErrorCode.Internal });
  }
});
