// Which versions leave memory for one that must come.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { STAYS_MS } from '../../../../../ts/base/limits.js';
import { whoLeaves, type Resident } from '../../../../../ts/models/registry/demand/leaving.js';

const NOW_MS = 100_000;

const resident = (place: number, usedAgoMs: number, more: Partial<Resident> = {}): Resident => ({
  place,
  bytes: 10,
  loadedAtMs: 0,
  usedAtMs: NOW_MS - usedAgoMs,
  isBusy: false,
  pin: false,
  minIdleMs: 0,
  priority: 0,
  ...more,
});

const leaving = (residents: readonly Resident[], needs: number, limit = 40, held = 0) => {
  const { fits, leave, isHopeless } = whoLeaves(residents, { held, needs, limit }, NOW_MS);
  return [fits, leave.map(({ place }) => place), isHopeless];
};

test('the least recently used leave, as few as needed', () => {
  const residents = [resident(1, 10), resident(2, 3000), resident(3, 200)];
  assert.deepEqual(leaving(residents, 10), [true, [], false]);
  assert.deepEqual(leaving(residents, 11), [true, [2], false]);
  assert.deepEqual(leaving(residents, 25), [true, [2, 3], false]);
  assert.deepEqual(leaving(residents, 40), [true, [2, 3, 1], false]);
});

test('those of a lower priority leave first', () => {
  const residents = [resident(1, 3000, { priority: 2 }), resident(2, 10), resident(3, 5)];
  assert.deepEqual(leaving(residents, 11), [true, [2], false]);
  assert.deepEqual(leaving(residents, 25), [true, [2, 3], false]);
  assert.deepEqual(leaving(residents, 40), [true, [2, 3, 1], false]);
});

test('pinned, busy, new and recently used ones stay', () => {
  const stays: readonly (readonly [Partial<Resident>, boolean])[] = [
    [{ pin: true }, true],
    [{ isBusy: true }, false],
    [{ loadedAtMs: NOW_MS - STAYS_MS + 1 }, false],
    [{ minIdleMs: 5001 }, false],
  ];
  for (const [more, isHopeless] of stays) {
    const one = resident(1, 5000, more);
    assert.deepEqual(leaving([one], 40), [false, [], isHopeless], JSON.stringify(more));
    assert.deepEqual(leaving([one, resident(2, 1)], 30), [true, [2], false]);
  }
});

test('what can never fit is hopeless', () => {
  assert.deepEqual(leaving([], 41), [false, [], true]);
  assert.deepEqual(leaving([resident(1, 5)], 31, 40, 10), [false, [], true]);
  assert.deepEqual(leaving([resident(1, 5)], 30, 40, 10), [true, [1], false]);
});

test('loads under way take memory, but their models can leave later', () => {
  const memory = { held: 0, needs: 10, limit: 40 };
  const leaving = (coming: number, residents: readonly Resident[] = []) => {
    const { fits, isHopeless } = whoLeaves(residents, { ...memory, coming }, NOW_MS);
    return [fits, isHopeless];
  };
  assert.deepEqual(leaving(30), [true, false]);
  assert.deepEqual(leaving(31), [false, false]);
  assert.deepEqual(leaving(31, [resident(1, 5)]), [false, false]);
  assert.deepEqual(leaving(0, [resident(1, 5, { bytes: 31, pin: true })]), [false, true]);
});
