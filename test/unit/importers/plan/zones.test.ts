// Time zones in plans.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { zoneOf } from '../../../../ts/importers/plan/zones.js';

const seconds = (iso: string): number => Date.parse(iso) / 1000;

test('when clocks change, to the second, and how', () => {
  const { transitions, offsets } = zoneOf('Europe/Berlin');
  assert.equal(offsets.length, transitions.length + 1);
  const spring = transitions.indexOf(seconds('2024-03-31T01:00:00Z'));
  assert.deepEqual([...offsets.slice(spring, spring + 3)], [3600, 7200, 3600]);
  assert.equal(transitions[spring + 1], seconds('2024-10-27T01:00:00Z'));
  assert.equal(offsets[0], 3208, 'local mean time');
  assert.ok([...transitions].every((at, i) => i === 0 || at > (transitions[i - 1] ?? 0)));
  assert.ok((transitions.at(-1) ?? 0) > seconds('2499-01-01T00:00:00Z'));
});

test('zones without changes, offsets, old names', () => {
  const fixed = (name: string): readonly number[] => {
    const { transitions, offsets } = zoneOf(name);
    assert.equal(transitions.length, 0, name);
    return [...offsets];
  };
  assert.deepEqual(fixed('+05:45'), [20_700]);
  assert.deepEqual(fixed('-3'), [-10_800]);
  assert.deepEqual(fixed('GMT+01:30'), [5400]);
  assert.deepEqual(fixed('Z'), [0]);
  assert.deepEqual(fixed('UTC'), [0]);
  assert.deepEqual(fixed('EST'), [-18_000]);
  const pacific = zoneOf('PST');
  assert.deepEqual(pacific, { ...zoneOf('America/Los_Angeles'), name: 'PST' });
});

test('names that there are none of', () => {
  for (const name of ['', 'Europe/Nowhere', '+19:00', '25', 'UTC+', "'; --"]) {
    assert.throws(() => zoneOf(name), /unknown time zone '.*': expected a name/, name);
  }
});
