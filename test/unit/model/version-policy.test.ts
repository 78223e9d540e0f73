// Version numbers and which of them are served.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  chooseVersions,
  compareVersions,
  LATEST_ONE,
  parseSignedVersion,
  parseVersion,
} from '../../../ts/model/version-policy.js';

test('folder names to versions', () => {
  const cases: [string, string | undefined][] = [
    ['1', '1'],
    ['0', '0'],
    ['00000123', '123'],
    ['9223372036854775807', '9223372036854775807'],
    ['000000000000000000000000000000009', '9'],
    ['9223372036854775808', undefined],
    ['99999999999999999999', undefined],
    ['', undefined],
    ['-1', undefined],
    ['+1', undefined],
    ['1.0', undefined],
    ['1a', undefined],
    ['v1', undefined],
    [' 1', undefined],
    ['1\n', undefined],
    ['0x10', undefined],
    ['٣', undefined],
    ['1'.repeat(1_000_000), undefined],
  ];
  for (const [text, version] of cases) assert.equal(parseVersion(text), version, text.slice(0, 40));
});

test('accepts a sign in version numbers under a base path', () => {
  const cases: [string, string | undefined][] = [
    ['7', '7'],
    ['+007', '7'],
    ['-1', '-1'],
    ['-0', '0'],
    ['-9223372036854775808', '-9223372036854775808'],
    ['-9223372036854775809', undefined],
    ['+9223372036854775808', undefined],
    ['--1', undefined],
    ['+', undefined],
    ['1-', undefined],
    ['', undefined],
    ['-'.padEnd(300, '1'), undefined],
  ];
  for (const [text, version] of cases) assert.equal(parseSignedVersion(text), version, text);
  assert.ok(compareVersions('-2', '-1') < 0);
});

test('versions compare as 64-bit numbers', () => {
  assert.ok(compareVersions('9', '10') < 0);
  assert.ok(compareVersions('9223372036854775807', '9223372036854775806') > 0);
  assert.equal(compareVersions('7', '7'), 0);
});

test('latest, all, specific', () => {
  const present = ['9', '10', '9223372036854775806', '9223372036854775807'];
  assert.deepEqual(chooseVersions(LATEST_ONE, present), {
    versions: ['9223372036854775807'],
    missing: [],
  });
  assert.deepEqual(chooseVersions({ kind: 'latest', count: 0 }, ['1', '2']).versions, ['2']);
  assert.deepEqual(chooseVersions({ kind: 'latest', count: 3 }, present).versions, [
    '9223372036854775807',
    '9223372036854775806',
    '10',
  ]);
  assert.deepEqual(chooseVersions({ kind: 'all' }, ['1', '3', '2']).versions, ['3', '2', '1']);
  assert.deepEqual(chooseVersions({ kind: 'specific', versions: ['010', '4', '9'] }, present), {
    versions: ['10', '9'],
    missing: ['4'],
  });
  assert.deepEqual(chooseVersions(LATEST_ONE, []), { versions: [], missing: [] });
});
