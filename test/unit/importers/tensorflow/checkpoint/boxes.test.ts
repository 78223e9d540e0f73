// Slices as boxes: fitting, overlaps, and copying of runs, against an element-by-element version.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  boxOf,
  eachRun,
  findOverlap,
  intersection,
  volume,
  wholeBox,
} from '../../../../../ts/importers/tensorflow/checkpoint/boxes.js';
import type { Box } from '../../../../../ts/importers/tensorflow/checkpoint/boxes.js';
import { errorOf } from './support.js';
import { randomNumbers } from './random.js';

const box = (...sides: readonly (readonly [number, number])[]): Box => ({
  starts: sides.map(([start]) => start),
  lengths: sides.map(([, length]) => length),
});

test('a slice fits its tensor', () => {
  assert.deepEqual(
    boxOf(
      [
        { start: 0, length: undefined },
        { start: 1, length: 2 },
      ],
      [5, 3],
      't',
    ),
    box([0, 5], [1, 2]),
  );
  assert.deepEqual(boxOf([], [], 't'), box());
  for (const [start, length, said] of [
    [0, 6, '6 from 0 on'],
    [5, 1, '1 from 5 on'],
    [-1, 2, '2 from -1 on'],
    [1, undefined, '5 from'],
    [0, -1, '-1 from'],
    [0.5, 1, '1 from 0.5'],
    [2 ** 53, 1, '1 from 9007199254740992'],
    [0, NaN, 'NaN from'],
  ] as const) {
    const error = errorOf(() => boxOf([{ start, length }], [5], 't'));
    assert.ok(error.startsWith(`MODEL_INVALID: t: slice: dimension 0 of 5: ${said}`), error);
  }
  assert.equal(
    errorOf(() => boxOf([{ start: 0, length: 1 }], [5, 3], 't')),
    'MODEL_INVALID: t: slice: expected 2 dimensions, got 1',
  );
});

test('volumes', () => {
  assert.equal(volume([], 't'), 1);
  assert.equal(volume([3, 4], 't'), 12);
  assert.equal(volume([2 ** 40, 2 ** 40, 0], 't'), 0);
  assert.equal(
    errorOf(() => volume([2 ** 40, 2 ** 40], 't')),
    'MODEL_INVALID: t: shape ' + '[1099511627776,1099511627776] has more than 2^53 - 1 elements',
  );
});

test('overlaps are found whichever way the boxes are sorted', () => {
  const random = randomNumbers(3);
  for (let round = 0; round < 500; round += 1) {
    const rank = random(4);
    const boxes = Array.from({ length: random(6) }, () =>
      box(...Array.from({ length: rank }, () => [random(6), random(4)] as const)),
    );
    const expected = boxes.some((a, i) =>
      boxes.some((b, j) => j > i && intersection(a, b) !== undefined),
    );
    const found = findOverlap(boxes);
    assert.equal(found !== undefined, expected);
    if (found !== undefined) assert.notEqual(intersection(...found), undefined);
  }
});

/** Index in the box's row-major order; undefined if it is outside. */
function indexIn(within: Box, place: readonly number[]): number | undefined {
  let index = 0;
  for (const [axis, at] of place.entries()) {
    const inside = at - (within.starts[axis] ?? 0);
    if (inside < 0 || inside >= (within.lengths[axis] ?? 0)) return undefined;
    index = index * (within.lengths[axis] ?? 0) + inside;
  }
  return index;
}

function places(shape: readonly number[]): number[][] {
  return shape.reduce<number[][]>(
    (all, size) => all.flatMap((place) => Array.from({ length: size }, (_, i) => [...place, i])),
    [[]],
  );
}

test('runs copy each common element once', () => {
  const random = randomNumbers(4);
  for (let round = 0; round < 400; round += 1) {
    const shape = Array.from({ length: random(4) }, () => 1 + random(4));
    const part = (): Box =>
      random(4) === 0
        ? wholeBox(shape)
        : box(
            ...shape.map((size) => {
              const start = random(size);
              return [start, random(size - start + 1)] as const;
            }),
          );
    const [from, to] = [part(), part()];
    const expected: string[] = [];
    for (const place of places(shape)) {
      const [a, b] = [indexIn(from, place), indexIn(to, place)];
      if (a !== undefined && b !== undefined) expected.push(`${a} ${b}`);
    }
    const copied: string[] = [];
    eachRun(from, to, (a, b, count) => {
      for (let i = 0; i < count; i += 1) copied.push(`${a + i} ${b + i}`);
    });
    assert.deepEqual(copied, expected);
  }
});

test('whole rows are one run', () => {
  const runs: number[][] = [];
  eachRun(box([2, 3], [0, 4]), box([0, 10], [0, 4]), (...run) => runs.push(run));
  assert.deepEqual(runs, [[0, 8, 12]]);
});
