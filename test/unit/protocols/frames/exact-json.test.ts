// JSON with numbers that keep their original digits.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ErrorCode, type ServalError } from '../../../../ts/base/errors.js';
import { exactText, parseExact } from '../../../../ts/protocols/frames/exact-json.js';

test('what is read is written again, digit by digit', () => {
  const texts = [
    '[9223372036854775807,-0.10,1e-400,1.0]',
    '{"a":"x\\"\\\\\\n","b":[true,false,null,[]],"c":{}}',
    '"Grüße 🙂"',
    '[NaN,Infinity,-Infinity]',
  ];
  for (const text of texts) assert.equal(exactText(parseExact(text), false), text);
  assert.equal(exactText(parseExact(' [ 1 , { "a" : 2 } ]\r\n'), false), '[1,{"a":2}]');
  assert.equal(exactText(parseExact('[NaN,-Infinity]'), true), '[null,"-Infinity"]');
});

test('what plain JSON is, it reads as JSON.parse does', () => {
  const texts = ['"\\u0041\\ud83d\\ude42"', '[[],{},""]', '{"a":{"b":[1.5]}}', '-0', '1E+2'];
  for (const text of texts) {
    assert.deepEqual(JSON.parse(exactText(parseExact(text), true)), JSON.parse(text), text);
  }
});

test('a string of any length, and of escapes alone', () => {
  const quotes = '\\"'.repeat(4_000_000);
  assert.equal((parseExact(`["${quotes}"]`) as readonly string[])[0]?.length, 4_000_000);
  assert.equal((parseExact(`"${'\\\\'.repeat(4_000_000)}"`) as string).length, 4_000_000);
  assert.throws(() => parseExact(`"${quotes}`), /expected a string at character 0/);
});

test('what is no JSON is refused with its place', () => {
  const bad: readonly (readonly [string, RegExp])[] = [
    ['', /expected a value at character 0/],
    ['[1,]', /expected a value at character 3/],
    ['[1 2]', /expected "," at character 3, got "2\]"/],
    ['{"a" 1}', /expected ":"/],
    ['{a:1}', /expected a string at character 1/],
    ['{"a":1,"a":2}', /expected one member "a"/],
    ['"a', /expected a string/],
    ['"a\u0001"', /expected a string/],
    ['"\\x"', /escapes/],
    ['01', /expected the end at character 1/],
    ['+1', /expected a value/],
    ['.5', /expected a value/],
    ['nul', /expected a value/],
    ['1 1', /expected the end/],
    ['['.repeat(100), /at most 64 levels/],
  ];
  for (const [text, why] of bad) {
    assert.throws(
      () => parseExact(text),
      (error: ServalError) => {
        assert.equal(error.code, ErrorCode.MalformedBody);
        assert.match(error.message, why);
        return true;
      },
    );
  }
});

test('a long text is read in one go', () => {
  const long = `"${'x\\n'.repeat(3_000_000)}"`;
  assert.equal((parseExact(long) as string).length, 6_000_000);
});
