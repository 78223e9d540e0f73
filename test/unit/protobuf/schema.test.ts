// Schema-driven decoding: text and JSON give the same value, and the value gives wire bytes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeJson, withDefaults } from '../../../ts/protobuf/schema-json.js';
import { decodeWire } from '../../../ts/protobuf/schema-read.js';
import { encodeMessage } from '../../../ts/protobuf/schema-write.js';
import { decodeText } from '../../../ts/protobuf/schema-text.js';
import { choice, many, map, message, one, oneOf, OPAQUE } from '../../../ts/protobuf/schema.js';
import type { MessageValue } from '../../../ts/protobuf/schema.js';
import { parseTextProto } from '../../../ts/protobuf/text-format.js';

const INNER = message('Inner', () => ({ x: one(1, 'int32') }));
const COLOR = choice({ RED: 0, GREEN: 1, BLUE: 2 });
const OUTER = message('Outer', () => ({
  i32: one(1, 'int32'),
  i64: one(2, 'int64'),
  u32: one(3, 'uint32'),
  u64: one(4, 'uint64'),
  f32: one(5, 'float'),
  f64: one(6, 'double'),
  yes: one(7, 'bool'),
  text: one(8, 'string'),
  color: one(9, COLOR),
  inner: one(10, INNER),
  many_ints: many(11, 'int64'),
  many_inner: many(12, INNER),
  by_name: map(13, 'string', INNER),
  by_level: map(14, 'uint64', 'string'),
  either: oneOf('pick', 15, 'int32'),
  or_else: oneOf('pick', 16, INNER),
  inside: one(17, OPAQUE),
  many_texts: many(18, 'string'),
}));

function fromText(text: string): MessageValue {
  const { value, problems } = decodeText(parseTextProto(text, 'f'), OUTER, 'f');
  assert.deepEqual(problems, []);
  return value;
}

function textProblems(text: string): readonly string[] {
  const { problems } = decodeText(parseTextProto(text, 'f'), OUTER, 'f');
  return problems.map((problem) => `${problem.place}: ${problem.message}`);
}

function fromJson(json: unknown): MessageValue {
  const { value, problems } = decodeJson(json, OUTER, 'j');
  assert.deepEqual(problems, []);
  return value;
}

function jsonProblems(json: unknown): readonly string[] {
  const { problems } = decodeJson(json, OUTER, 'j');
  return problems.map((problem) => `${problem.place}: ${problem.message}`);
}

test('text: scalars at their limits', () => {
  assert.deepEqual(fromText('i32: -2147483648 u32: 4294967295 i64: 9223372036854775807'), {
    i32: -2147483648,
    u32: 4294967295,
    i64: '9223372036854775807',
  });
  assert.deepEqual(fromText('u64: 18446744073709551615 i64: 9007199254740991'), {
    u64: '18446744073709551615',
    i64: 9007199254740991,
  });
  assert.deepEqual(fromText('f32: 0.1 f64: 0.1'), { f32: Math.fround(0.1), f64: 0.1 });
  assert.deepEqual(fromText('f32: 3 f64: -inf'), { f32: 3, f64: Number.NEGATIVE_INFINITY });
  assert.deepEqual(fromText('f64: NaN'), { f64: Number.NaN });
});

test('text: bools, enums, messages, lists, maps', () => {
  for (const word of ['true', 'True', 't', '1']) {
    assert.deepEqual(fromText(`yes: ${word}`), { yes: true });
  }
  for (const word of ['false', 'False', 'f', '0']) {
    assert.deepEqual(fromText(`yes: ${word}`), { yes: false });
  }
  assert.deepEqual(fromText('color: BLUE'), { color: 'BLUE' });
  assert.deepEqual(fromText('color: 1'), { color: 'GREEN' });
  assert.deepEqual(fromText('many_ints: 1 many_ints: [2, 3] many_inner {} many_inner { x: 1 }'), {
    many_ints: [1, 2, 3],
    many_inner: [{}, { x: 1 }],
  });
  assert.deepEqual(fromText('many_ints: []'), { many_ints: [] });
  assert.deepEqual(
    fromText('by_name { key: "a" value { x: 1 } } by_name { key: "b" } by_name {}'),
    { by_name: { a: { x: 1 }, b: {}, '': {} } },
  );
  assert.deepEqual(fromText('by_level [{ key: 2 value: "x" }, { key: 2 value: "y" }]'), {
    by_level: { 2: 'y' },
  });
  assert.deepEqual(fromText('inside { whatever { is: 1 } [a.b/c] {} }'), { inside: {} });
});

test('text: a key named __proto__ is a key', () => {
  const { by_name: entries } = fromText('by_name { key: "__proto__" value { x: 1 } }');
  assert.ok(Object.hasOwn(entries as object, '__proto__'));
  assert.equal(Object.getPrototypeOf(entries), Object.prototype);
});

test('text: unknown names, with the nearest', () => {
  assert.deepEqual(textProblems('i33: 1\nmany_inner { y: 1 }'), [
    'f:1:1: unknown field "i33" of Outer; did you mean "i32"?',
    'f:2:14: unknown field "y" of Inner',
  ]);
  const [inherited, extension] = textProblems('constructor: 1 [type.x/Y] {}');
  assert.match(inherited ?? '', /^f:1:1: unknown field "constructor" of Outer$/);
  assert.equal(
    extension,
    'f:1:16: [type.x/Y]: extensions and google.protobuf.Any are not used in Outer',
  );
});

test('text: wrong types and ranges', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['i32: "1"', 'i32: expected int32 (-2147483648 to 2147483647), got the string "1"'],
    ['i32: 1.0', 'i32: expected int32 (-2147483648 to 2147483647), got 1.0'],
    ['i32: 2147483648', 'i32: expected int32 (-2147483648 to 2147483647), got 2147483648'],
    ['u32: -1', 'u32: expected uint32 (0 to 4294967295), got -1'],
    [
      'u64: 0x10000000000000000',
      'u64: expected uint64 (0 to 18446744073709551615), got 18446744073709551616',
    ],
    ['yes: 2', 'yes: expected bool, got 2'],
    ['yes: TRUE', 'yes: expected bool, got TRUE'],
    ['yes: -true', 'yes: expected bool, got -true'],
    ['text: abc', 'text: expected string, got abc'],
    ['text: "\\377"', 'text: expected string, got a string that is not UTF-8'],
    ['f64: "1"', 'f64: expected double, got the string "1"'],
    ['color: 3', 'color: expected one of RED, GREEN, BLUE, got 3'],
    ['color: GREN', 'color: expected one of RED, GREEN, BLUE, got GREN; did you mean "GREEN"?'],
    ['inner: 5', 'inner: expected a message in braces (Inner), got 5'],
    ['text { }', 'text: expected string, got a message'],
    ['i32: [1]', 'i32: expected one value, got a list'],
    [
      'by_level { key: "a" }',
      'key: expected uint64 (0 to 18446744073709551615), got the string "a"',
    ],
  ];
  for (const [text, expected] of cases) {
    const [first, ...more] = textProblems(text);
    assert.equal(first?.replace(/^f:1:\d+: /, ''), expected);
    assert.deepEqual(more, []);
  }
});

test('text: one value once, one member of a oneof', () => {
  assert.deepEqual(textProblems('i32: 1\ni32: 0'), [
    'f:2:1: i32: expected one value, got a second one',
  ]);
  assert.deepEqual(textProblems('inner {} inner {}'), [
    'f:1:10: inner: expected one value, got a second one',
  ]);
  assert.deepEqual(textProblems('either: 1\nor_else {}'), [
    'f:2:1: or_else: expected it or either, got both',
  ]);
});

test('text: what is good beside a problem is kept, and the broken message is known', () => {
  const text = 'i32: 1 many_inner { x: 1 } many_inner { z: 1 } inner { x: "a" }';
  const { value, places } = decodeText(parseTextProto(text, 'f'), OUTER, 'f');
  assert.deepEqual(value, { i32: 1, many_inner: [{ x: 1 }, {}], inner: {} });
  const [good, bad] = value['many_inner'] as readonly MessageValue[];
  assert.deepEqual([places.isBroken(good ?? {}), places.isBroken(bad ?? {})], [false, true]);
  assert.equal(places.at(value, 'i32'), 'f:1:6');
  assert.equal(places.at(good ?? {}), 'f:1:19');
});

test('JSON: proto names or camelCase, integers as text or numbers, enums in any case', () => {
  assert.deepEqual(fromJson({ manyInts: ['1', 2, '-9223372036854775808'], u64: '5' }), {
    many_ints: [1, 2, '-9223372036854775808'],
    u64: 5,
  });
  assert.deepEqual(fromJson({ many_ints: [] }), { many_ints: [] });
  assert.deepEqual(fromJson({ color: 'green' }), { color: 'GREEN' });
  assert.deepEqual(fromJson({ color: 2 }), { color: 'BLUE' });
  assert.deepEqual(
    fromJson({ f64: 'NaN', f32: 1.5, yes: true, text: 'x', inner: null, i32: 1.0 }),
    { f64: Number.NaN, f32: 1.5, yes: true, text: 'x', i32: 1 },
  );
  assert.deepEqual(
    fromJson({ byName: { a: { x: 1 } }, by_level: { 7: 'x' }, inside: { z: [1] } }),
    { by_name: { a: { x: 1 } }, by_level: { 7: 'x' }, inside: {} },
  );
});

test('JSON: problems name the member', () => {
  const cases: readonly (readonly [unknown, string])[] = [
    [[], 'j: expected an object (Outer), got an array'],
    [{ i33: 1 }, 'j: unknown field "i33" of Outer; did you mean "i32"?'],
    [{ i32: 'x' }, 'j: i32: expected int32 (-2147483648 to 2147483647), got the string "x"'],
    [{ i32: 1.5 }, 'j: i32: expected int32 (-2147483648 to 2147483647), got 1.5'],
    [
      { i64: 9007199254740993 },
      'j: i64: expected an exact number; write an integer beyond 2^53 in quotes',
    ],
    [
      { many_ints: [1, true] },
      'j: many_ints[1]: expected int64 (-9223372036854775808 to 9223372036854775807), got true',
    ],
    [{ many_ints: 1 }, 'j: many_ints: expected an array, got 1'],
    [{ many_inner: [{}, { q: 1 }] }, 'j: many_inner[1]: unknown field "q" of Inner'],
    [{ by_name: [] }, 'j: by_name: expected an object, got an array'],
    [{ by_level: { a: 'x' } }, 'j: by_level["a"]: expected a key of uint64, got the string "a"'],
    [{ color: 'PINK' }, 'j: color: expected one of RED, GREEN, BLUE, got the string "PINK"'],
    [{ yes: 1 }, 'j: yes: expected bool, got 1'],
    [{ text: 5 }, 'j: text: expected string, got 5'],
    [
      { many_ints: [1], manyInts: [2] },
      'j: manyInts: many_ints: expected one value, got a second one',
    ],
    [{ i32: 1, either: 1, orElse: {} }, 'j: orElse: or_else: expected it or either, got both'],
  ];
  for (const [json, expected] of cases) assert.deepEqual(jsonProblems(json), [expected]);
});

test('defaults: scalars, lists and maps; messages and oneofs only where written', () => {
  assert.deepEqual(withDefaults({ inner: {}, u64: 3 }, OUTER), {
    i32: 0,
    i64: 0,
    u32: 0,
    u64: 3,
    f32: 0,
    f64: 0,
    yes: false,
    text: '',
    color: 'RED',
    inner: { x: 0 },
    many_ints: [],
    many_inner: [],
    by_name: {},
    by_level: {},
    many_texts: [],
  });
  const full = withDefaults({ either: 0, by_name: { a: {} }, f64: Number.NaN }, OUTER);
  assert.deepEqual([full['either'], full['by_name'], full['f64']], [0, { a: { x: 0 } }, 'NaN']);
});

test('wire: the bytes of every kind of field', () => {
  const hex = (value: MessageValue): string =>
    Buffer.from(encodeMessage(value, OUTER)).toString('hex');
  const cases: readonly (readonly [MessageValue, string])[] = [
    [{}, ''],
    [{ i32: 0, text: '', yes: false, color: 'RED', many_ints: [], by_name: {} }, ''],
    [{ i32: 150 }, '089601'],
    [{ i32: -1 }, '08ffffffffffffffffff01'],
    [{ i64: '-9223372036854775808' }, '1080808080808080808001'],
    [{ u64: '18446744073709551615' }, '20ffffffffffffffffff01'],
    [{ f32: 1 }, '2d0000803f'],
    [{ f64: 1 }, '31000000000000f03f'],
    [{ yes: true }, '3801'],
    [{ text: 'é' }, '4202c3a9'],
    [{ color: 'BLUE' }, '4802'],
    [{ inner: {} }, '5200'],
    [{ inner: { x: 5 } }, '52020805'],
    [{ many_ints: [1, 300] }, '5a0301ac02'],
    [{ many_inner: [{}, { x: 1 }] }, '620062020801'],
    [{ many_texts: ['a', ''] }, '92010161920100'],
    [{ by_name: { a: { x: 1 } } }, '6a070a016112020801'],
    [{ by_level: { 2: 'y' } }, '72050802120179'],
    [{ either: 0 }, '7800'],
    [{ or_else: {} }, '820100'],
  ];
  for (const [value, expected] of cases) assert.equal(hex(value), expected, JSON.stringify(value));
});

test('bytes: from text, to the wire and back', () => {
  const raw = message('Raw', () => ({ raw: one(19, 'bytes') }));
  const { value } = decodeText(parseTextProto('raw: "\\000\\377"', 'f'), raw, 'f');
  const wire = encodeMessage(value, raw);
  assert.equal(wire.toString('hex'), '9a010200ff');
  const read = decodeWire(Uint8Array.from(wire), raw, 'm').value;
  assert.deepEqual(read, { raw: Uint8Array.of(0, 255) });
  assert.equal(encodeMessage({ raw: new Uint8Array(0) }, raw).length, 0);
});
