// The limits in a key's line, and patterns of model names.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CALL_GROUPS } from '../../../ts/access/groups.js';
import { limitValue, readKeyLimits } from '../../../ts/access/key-limits.js';
import { digestOf, parseKeys } from '../../../ts/access/keys.js';
import { matchesPattern, mayUse } from '../../../ts/access/model-patterns.js';

const HEX = digestOf('secret');
const parsed = (rest: string): object => parseKeys(`ci sha256:${HEX} ${rest}`, 'keys.txt')[0] ?? {};

test('limits follow the groups in any order', () => {
  const limits = { maxInFlight: 8, requestsPerSecond: 0.5, rowsPerSecond: 1000 };
  assert.deepEqual(
    parsed(
      'inference, health rows_per_second=1000 models=a*,b max_in_flight=8 requests_per_second=0.5 # x',
    ),
    { name: 'ci', digest: HEX, groups: ['inference', 'health'], limits, models: ['a*', 'b'] },
  );
  assert.deepEqual(parsed('all'), parseKeys(`ci sha256:${HEX} all`, 'x')[0]);
  assert.equal('limits' in parsed('all models=m'), false);
  assert.deepEqual(parsed('all weight=300'), {
    name: 'ci',
    digest: HEX,
    groups: [...CALL_GROUPS],
    weight: 300,
  });
});

test('errors name the word, its place, what was expected and what was found', () => {
  const refuses = (rest: string, message: RegExp): void => {
    assert.throws(() => parsed(rest), message, rest);
  };
  refuses(
    'all max_in_flight=0',
    /keys\.txt:1: max_in_flight: expected a whole number from 1 to 1000000, got "0"$/,
  );
  for (const text of ['', '-1', '1.5', '1e3', '1000001', '0x10', '99999999999']) {
    refuses(`all max_in_flight=${text}`, /max_in_flight: expected a whole number/);
  }
  for (const text of [
    '',
    '0',
    '0.0001',
    '-1',
    '1e3',
    'many',
    '1000000001',
    '1.',
    'Infinity',
    'NaN',
  ]) {
    refuses(
      `all requests_per_second=${text}`,
      /requests_per_second: expected a number from 0\.001/,
    );
  }
  for (const text of ['', '0', '1001', '1.5', '-1', '1e2']) {
    refuses(`all weight=${text}`, /weight: expected a whole number from 1 to 1000, got/);
  }
  refuses('all rows_per_second=1 rows_per_second=1', /rows_per_second is there twice$/);
  refuses(
    'all rate=1',
    /expected NAME=VALUE of max_in_flight, .*, models after the groups, got "rate=1"$/,
  );
  refuses('all models=a, b', /models: expected names of models or patterns .*, got ""$/);
  refuses('all models=a b', /after the groups, got "b"$/);
  refuses('all models=', /models: expected names/);
  refuses(`all models=${'m'.repeat(257)}`, /models: expected names/);
  refuses(
    `all models=${Array.from({ length: 257 }, () => 'm').join(',')}`,
    /at most 256 patterns, got 257$/,
  );
  refuses('all constructor=1', /got "constructor=1"$/);
  refuses('max_in_flight=1', /got no group$/);
});

test('values are numbers in plain notation', () => {
  assert.equal(limitValue('max_in_flight', '1000000'), 1_000_000);
  assert.equal(limitValue('requests_per_second', '0.001'), 0.001);
  assert.equal(limitValue('rows_per_second', '1000000000'), 1e9);
  assert.deepEqual(readKeyLimits([], 'x'), {});
});

test('patterns match whole names', () => {
  const yes = [
    ['m', 'm'],
    ['*', ''],
    ['a*', 'a'],
    ['a*b*c', 'a-b-b-c'],
    ['a?c', 'aäc'],
    ['a?c', 'a😀c'],
    ['**?', 'x'],
    ['*.v1', 'x.v1.v1'],
    ['a.c', 'a.c'],
    ['[a]', '[a]'],
  ];
  const no = [
    ['m', 'mm'],
    ['m', ''],
    ['', 'm'],
    ['?', ''],
    ['a*b', 'ac'],
    ['a?c', 'ac'],
    ['a?c', 'abbc'],
    ['M', 'm'],
    ['*?', ''],
    ['a.c', 'abc'],
    ['[a]', 'a'],
  ];
  for (const [pattern = '', text = ''] of yes)
    assert.ok(matchesPattern(pattern, text), `${pattern} ${text}`);
  for (const [pattern = '', text = ''] of no)
    assert.ok(!matchesPattern(pattern, text), `${pattern} ${text}`);
  assert.ok(!matchesPattern('*a*a*a*a*a*a*a*a*a*b', 'a'.repeat(2000)));
  assert.ok(mayUse(undefined, 'any'));
  assert.ok(!mayUse([], 'any'));
  assert.ok(mayUse(['x', 'a*'], 'any'));
});
