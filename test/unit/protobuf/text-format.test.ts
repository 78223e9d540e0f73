// Protobuf's text format: every spelling, and every error with its position.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  ConfigFileError,
  parseTextProto,
  readConfigText,
  TEXT_BYTES_MAX,
  TEXT_NESTING_MAX,
  TEXT_VALUES_MAX,
} from '../../../ts/protobuf/text-format.js';
import type { TextMessage, TextValue } from '../../../ts/protobuf/text-format.js';
import { filledFolder } from '../temp-folder.js';

/** Fields as [name, ...values], with lists flattened; strings as text, words with a leading ~. */
function plain(message: TextMessage): unknown[] {
  return message.fields.map((field) => [field.name, ...field.values.map(plainValue)]);
}

function plainValue(value: TextValue): unknown {
  switch (value.kind) {
    case 'message':
      return plain(value);
    case 'string':
      return Buffer.from(value.bytes).toString('utf8');
    case 'word':
      return `~${value.negative ? '-' : ''}${value.text}`;
    default:
      return value.value;
  }
}

function parse(text: string): unknown[] {
  return plain(parseTextProto(text, 'f'));
}

function refuses(text: string, message: string): void {
  assert.throws(
    () => parseTextProto(text, 'f'),
    (error: unknown) => {
      assert.ok(error instanceof ConfigFileError, String(error));
      assert.equal(error.message, message);
      assert.equal(`${error.problem.place}: ${error.problem.message}`, message);
      return true;
    },
  );
}

test('every way to write a message', () => {
  for (const text of [
    'a { b: 1 }',
    'a: { b: 1 }',
    'a < b: 1 >',
    'a: < b: 1 >',
    'a{b:1}',
    'a [{b:1}]',
    'a: [{b:1}]',
    '\uFEFFa{b:1}',
    '# c\na # { \n { b: 1 # }\n }',
  ]) {
    assert.deepEqual(parse(text), [['a', [['b', 1n]]]], text);
  }
  assert.deepEqual(parse('a {} b <> c: {}'), [
    ['a', []],
    ['b', []],
    ['c', []],
  ]);
  assert.deepEqual(parse(''), []);
});

test('fields are separated by blanks, commas or semicolons', () => {
  for (const text of ['a: 1 b: 2', 'a: 1, b: 2', 'a: 1; b: 2;', 'a:1\tb:2\r\n', 'a: 1,b: 2,']) {
    assert.deepEqual(
      parse(text),
      [
        ['a', 1n],
        ['b', 2n],
      ],
      text,
    );
  }
});

test('lists of scalars, of messages, of nothing', () => {
  assert.deepEqual(parse('a: [1, -2, 3] b: [] c [] d: ["x" "y", "z"]'), [
    ['a', 1n, -2n, 3n],
    ['b'],
    ['c'],
    ['d', 'xy', 'z'],
  ]);
  assert.deepEqual(parse('m [{a: 1}, <a: 2>]'), [['m', [['a', 1n]], [['a', 2n]]]]);
  assert.equal(parseTextProto('a: [1]', 'f').fields[0]?.isList, true);
  assert.equal(parseTextProto('a: 1', 'f').fields[0]?.isList, false);
});

test('integers: decimal, hexadecimal, octal, exact to 64 bits and beyond', () => {
  assert.deepEqual(
    parse('a: [0, 9223372036854775807, -9223372036854775808, 0x1F, 0XfF, 017, - 5]'),
    [['a', 0n, 9223372036854775807n, -9223372036854775808n, 31n, 255n, 15n, -5n]],
  );
});

test('floats', () => {
  assert.deepEqual(parse('a: [1.5, .5, 5., 1e3, 1E-2, 1.5f, 10f, 0F, -2.5e+1f, 1e2F]'), [
    ['a', 1.5, 0.5, 5, 1000, 0.01, 1.5, 10, 0, -25, 100],
  ]);
  assert.deepEqual(parse('a: [inf, -inf, NaN, -infinity, TYPE_X]'), [
    ['a', '~inf', '~-inf', '~NaN', '~-infinity', '~TYPE_X'],
  ]);
});

test('strings: quotes, escapes, pieces', () => {
  const cases: readonly (readonly [string, string])[] = [
    [String.raw`"it's"`, "it's"],
    [String.raw`'a "b"'`, 'a "b"'],
    [String.raw`"\n\r\t\v\f\b\a\\\'\"\?"`, '\n\r\t\v\f\b\x07\\\'"?'],
    [String.raw`"\x41\x4a\101\7\0"`, 'AJA\x07\0'],
    [String.raw`"\X41"`, 'A'],
    [String.raw`"\u00e9\U0001F600\uD83D\uDE00"`, 'é😀😀'],
    [String.raw`"\303\251"`, 'é'],
    [`"a" 'b'\n# c\n"c"`, 'abc'],
    ['""', ''],
    ['"é😀"', 'é😀'],
    [String.raw`"\\"`, '\\'],
  ];
  for (const [text, expected] of cases) {
    assert.deepEqual(parse(`s: ${text}`), [['s', expected]], text);
  }
});

test('extensions and what an Any holds are read as such', () => {
  const { fields } = parseTextProto('[type.googleapis.com/x.Y] { a: 1 } [ my.ext ]: 2', 'f');
  assert.deepEqual(
    fields.map(({ kind, name }) => [kind, name]),
    [
      ['bracket', 'type.googleapis.com/x.Y'],
      ['bracket', 'my.ext'],
    ],
  );
});

test('names and values know their line and column', () => {
  const { fields } = parseTextProto('a: 1\r\n  bc {\n\td: "x"\n}\n# c\ne: -5', 'f');
  const [a, bc, e] = fields;
  assert.deepEqual(
    [a?.place, bc?.place, e?.place],
    [
      { line: 1, column: 1 },
      { line: 2, column: 3 },
      { line: 6, column: 1 },
    ],
  );
  const inner = bc?.values[0];
  assert.ok(inner?.kind === 'message');
  assert.deepEqual(inner.place, { line: 2, column: 6 });
  assert.deepEqual(inner.fields[0]?.values[0]?.place, { line: 3, column: 5 });
  assert.deepEqual(e?.values[0]?.place, { line: 6, column: 4 });
});

test('what is no text format is refused with its place', () => {
  const cases: readonly (readonly [string, string])[] = [
    [
      'improperly formatted file',
      'f:1:12: expected ":" or "{" after the field name improperly, got "formatted"',
    ],
    ['a', 'f:1:2: expected ":" or "{" after the field name a, got the end of the file'],
    ['a: ', 'f:1:4: expected a value for a, got the end of the file'],
    ['a: }', 'f:1:4: expected a value for a, got "}"'],
    ['}', 'f:1:1: expected a field name, got "}"'],
    [': 1', 'f:1:1: expected a field name, got ":"'],
    ['1: 2', 'f:1:1: expected a field name, got "1"'],
    ['a: 1 ]', 'f:1:6: expected a field name, got "]"'],
    ['a: 1,, b: 2', 'f:1:6: expected a field name, got ","'],
    [
      'a {\n b: 1',
      'f:2:6: expected a field name or the "}" for the "{" at 1:3, ' + 'got the end of the file',
    ],
    ['a { b: 1 >', 'f:1:10: expected a field name or the "}" for the "{" at 1:3, got ">"'],
    ['a < b: 1 }', 'f:1:10: expected a field name or the ">" for the "<" at 1:3, got "}"'],
    ['a: [1, 2', 'f:1:9: expected "," or "]" in the list of a, got the end of the file'],
    ['a: [1 2]', 'f:1:7: expected "," or "]" in the list of a, got "2"'],
    ['a: [1,]', 'f:1:7: expected a value for a, got "]"'],
    ['a: [[1]]', 'f:1:5: expected a value for a, got "["'],
    ['a [1]', 'f:1:4: expected ":" or "{" after the field name a, got "1"'],
    ['a "x"', 'f:1:3: expected ":" or "{" after the field name a, got "\\"x\\""'],
    ['[a.b { }', 'f:1:6: expected "]", got "{"'],
    ['[] : 1', 'f:1:2: expected a type or extension name, got "]"'],
    ['a: é', 'f:1:4: expected a value for a, got "é"'],
  ];
  for (const [text, message] of cases) refuses(text, message);
});

test('numbers that are none are refused', () => {
  for (const number of ['10b', '08', '0x', '0xg', '1.2.3', '1e', '1e+', '010f', '1_000', '5.f5']) {
    refuses(`a: ${number}`, `f:1:4: expected a number, got "${number}"`);
  }
  refuses('a: -"x"', 'f:1:5: expected a number for a, got "\\"x\\""');
  refuses('a: --1', 'f:1:5: expected a number for a, got "-"');
  refuses(`a: ${'9'.repeat(401)}`, 'f:1:4: expected a number of at most 400 characters');
});

test('strings that are none are refused', () => {
  refuses('a: "x', 'f:1:4: expected the string\'s closing ", got the end of the file');
  refuses("a: 'x\nb: 1'", "f:1:4: expected the string's closing ', got the end of the line");
  refuses('a: "x\\', 'f:1:4: expected the string\'s closing ", got the end of the file');
  refuses(
    String.raw`a: "\q"`,
    String.raw`f:1:5: expected an escape such as \n, \x41 or \u00e9, got "\\q"`,
  );
  refuses(
    String.raw`a: "\u12"`,
    String.raw`f:1:5: expected an escape such as \n, \x41 or \u00e9, got "\\u"`,
  );
  refuses(String.raw`a: "b\777"`, String.raw`f:1:6: expected an escape from \0 to \377, got \777`);
  for (const escape of ['\\uD800', '\\uDC00', '\\U00110000']) {
    refuses(`a: "${escape}"`, `f:1:5: expected the escape of a Unicode character, got ${escape}`);
  }
});

test('nesting, values and bytes have limits', () => {
  const nested = (depth: number): string => 'a {'.repeat(depth) + '}'.repeat(depth);
  assert.equal(parse(nested(TEXT_NESTING_MAX)).length, 1);
  refuses(
    nested(TEXT_NESTING_MAX + 1),
    'f:1:303: expected messages at most 100 deep, got a deeper one',
  );
  refuses('a: ['.repeat(500_000), 'f:1:6: expected "," or "]" in the list of a, got ":"');
  refuses(
    `a: ${'""'.repeat(TEXT_VALUES_MAX + 1)}`,
    `f:1:${4 + 2 * TEXT_VALUES_MAX}: expected at most ${TEXT_VALUES_MAX} values in a file`,
  );
  refuses(
    ' '.repeat(TEXT_BYTES_MAX + 1),
    `f: expected at most ${TEXT_BYTES_MAX} bytes of configuration, got ${TEXT_BYTES_MAX + 1}`,
  );
});

test('one long word, string or comment is no stack overflow', () => {
  const long = 3_000_000;
  assert.deepEqual(parse(`# ${'c'.repeat(long)}\na: 1`), [['a', 1n]]);
  assert.equal((parse(`a: "${'x'.repeat(long)}"`)[0] as string[])[1]?.length, long);
  assert.equal((parse(`a: "${'\\n'.repeat(long)}"`)[0] as string[])[1]?.length, long);
  for (const text of ['a'.repeat(long), `a: ${'1'.repeat(long)}`, `[${'a'.repeat(long)}`]) {
    assert.throws(() => parseTextProto(text, 'f'), ConfigFileError);
  }
});

test('a file is read as UTF-8, whole, and only a file', async (t) => {
  const folder = filledFolder(t, { good: '\uFEFFa: "é"', bad: Uint8Array.of(0x61, 0xff) });
  mkdirSync(join(folder, 'sub'));
  assert.equal(await readConfigText(join(folder, 'good')), '\uFEFFa: "é"');
  await assert.rejects(readConfigText(join(folder, 'bad')), /bad: expected UTF-8 text, got other/);
  await assert.rejects(readConfigText(join(folder, 'sub')), /sub: expected a file/);
  await assert.rejects(
    readConfigText(join(folder, 'gone')),
    (error: unknown) =>
      error instanceof ConfigFileError && /gone: cannot read the file: ENOENT/.test(error.message),
  );
});
