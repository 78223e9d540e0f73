// The cache of accepted credentials: what matches an entry, how many are kept, and that they are
// valid for one state of the keys only.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AcceptedKeys } from '../../../ts/access/accepted-keys.js';
import { INFERENCE, METADATA } from '../../../ts/access/groups.js';
import { digestOf } from '../../../ts/access/keys.js';
import { callAccess, judge, OPEN_POLICY, type Policy } from '../../../ts/access/policy.js';
import { ACCEPTED_KEYS_MAX, ACCEPTED_KEY_CHARS_MAX } from '../../../ts/base/limits.js';

const has = (keys: AcceptedKeys, check: number, text: string): boolean =>
  keys.find(check, text) !== undefined;
const TEXT = `Bearer ${'k'.repeat(43)}`;

describe('accepted keys', () => {
  it('are known by their check', () => {
    const keys = new AcceptedKeys();
    assert.equal(has(keys, 0, TEXT), false);
    keys.add(0, TEXT);
    assert.deepEqual([has(keys, 0, TEXT), has(keys, 1, TEXT)], [true, false]);
  });

  it('have their caller', () => {
    const keys = new AcceptedKeys();
    keys.add(0, TEXT, 7);
    keys.add(0, `${TEXT}2`);
    assert.deepEqual(
      [keys.find(0, TEXT), keys.find(0, `${TEXT}2`), keys.find(1, TEXT)],
      [7, 0, undefined],
    );
  });

  it('are whole: no prefix, no longer one, none with another character', () => {
    const keys = new AcceptedKeys();
    keys.add(0, TEXT);
    for (let i = 0; i < TEXT.length; i += 1) {
      for (const flip of [1, 128, 256]) {
        const other = String.fromCharCode(TEXT.charCodeAt(i) ^ flip);
        assert.equal(has(keys, 0, TEXT.slice(0, i) + other + TEXT.slice(i + 1)), false);
      }
      assert.equal(has(keys, 0, TEXT.slice(0, i)), false);
      assert.equal(has(keys, 0, TEXT.slice(i + 1)), false);
    }
    for (const more of ['\0', 'k', TEXT]) assert.equal(has(keys, 0, TEXT + more), false);
  });

  it('are kept up to a length, and up to a number, the oldest leaves', () => {
    const keys = new AcceptedKeys();
    for (let length = 1; length <= ACCEPTED_KEY_CHARS_MAX + 2; length += 1) {
      const text = 'k'.repeat(length);
      keys.add(0, text);
      assert.equal(has(keys, 0, text), length <= ACCEPTED_KEY_CHARS_MAX, String(length));
      assert.ok(keys.size <= ACCEPTED_KEYS_MAX);
    }
    assert.deepEqual([has(keys, 0, 'k'), keys.size], [false, ACCEPTED_KEYS_MAX]);
  });
});

const policyOf = (key: string, group: 'inference' | 'metadata'): Policy => ({
  ...OPEN_POLICY,
  keys: [{ name: 'a', digest: digestOf(key), groups: [group] }],
  keyHeader: 'x-key',
});
const caller = (headers: Readonly<Record<string, string>>) => ({
  header: (name: string) => headers[name] ?? '',
  isLocal: () => true,
});

describe('a verdict with accepted keys', () => {
  it('is the same the second time, in each header alone', () => {
    const access = callAccess(policyOf('key', 'inference'), INFERENCE, 'http');
    const accepted = new AcceptedKeys();
    const status = (headers: Readonly<Record<string, string>>) =>
      judge(access, caller(headers), accepted)?.http ?? 200;
    for (let i = 0; i < 3; i += 1) {
      assert.equal(status({ authorization: 'Bearer key' }), 200);
      assert.equal(status({ 'x-key': 'Bearer key' }), 401);
      assert.equal(status({ authorization: 'key' }), 401);
      assert.equal(status({ authorization: 'Bearer ke' }), 401);
      assert.equal(status({ authorization: 'Bearer keyy' }), 401);
      assert.equal(status({ authorization: 'x', 'x-key': 'key' }), 200);
    }
    assert.equal(accepted.size, 2);
  });

  it('keeps nobody who was refused', () => {
    const access = callAccess(policyOf('key', 'metadata'), INFERENCE, 'http');
    const accepted = new AcceptedKeys();
    const statuses = ['Bearer key', 'Bearer other'].map(
      (authorization) => judge(access, caller({ authorization }), accepted)?.http,
    );
    assert.deepEqual([statuses, accepted.size], [[403, 401], 0]);
    const metadata = callAccess(policyOf('key', 'metadata'), METADATA, 'http');
    assert.equal(judge(metadata, caller({ authorization: 'Bearer key' })), undefined);
  });
});
