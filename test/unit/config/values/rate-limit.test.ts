// Counts of the rate limiter's resources.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rateLimitResources } from '../../../../ts/config/values/rate-limit.js';

test('reads counts for all devices and for one', () => {
  assert.equal(rateLimitResources([]), '');
  assert.equal(
    rateLimitResources(['R:4', 'r:1:0', 'two words:0:12']),
    '4 -1 R\n1 0 r\n0 12 two words',
  );
});

test('refuses other forms and a count that is there twice', () => {
  for (const text of [
    '',
    'R',
    'R:',
    ':4',
    'R:x',
    'R:-1',
    'R:1:x',
    'R:1:2:3',
    'R:4294967296',
    'a\nb:1',
  ]) {
    assert.throws(
      () => rateLimitResources([text]),
      /--rate-limit-resource: expected NAME:COUNT or/,
    );
  }
  assert.throws(() => rateLimitResources(['R:1', 'r:2']), /"r:2" sets a count for the second time/);
  assert.throws(() => rateLimitResources(['R:1:0', 'R:2:0']), /for the second time/);
});
