// Axes: round ticks that cover all values, in order and inside the drawing.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { doubling, fitting, linear, logarithmic } from '../../../../../ts/cli/bench/page/scale.js';
import {
  bytes,
  change,
  count,
  duration,
  grouped,
} from '../../../../../ts/cli/bench/page/numbers.js';

const inside = (place: number): boolean => place >= 10 - 1e-9 && place <= 110 + 1e-9;

describe('scales', () => {
  it('end at a round number above all values', () => {
    assert.deepEqual(linear([3, 87], 10, 110).ticks, [0, 20, 40, 60, 80, 100]);
    assert.deepEqual(linear([0.3], 10, 110).ticks, [0, 0.1, 0.2, 0.3]);
    assert.deepEqual(linear([], 10, 110).ticks, [0, 0.2, 0.4, 0.6, 0.8, 1]);
    assert.equal(linear([100], 10, 110).at(50), 60);
  });

  it('hold any values, from 1e-9 to 1e12', () => {
    for (let power = -9; power <= 12; power += 1) {
      for (const factor of [1, 1.7, 3.3, 9.99]) {
        const value = factor * 10 ** power;
        for (const scale of [
          linear([value / 3, value], 10, 110),
          logarithmic([value, value * 700], 10, 110),
          logarithmic([value], 10, 110),
          fitting([value, value * 2], 10, 110),
          fitting([value, value * 5000], 10, 110),
        ]) {
          assert.ok(inside(scale.at(value)), `${value}`);
          assert.ok(scale.ticks.length >= 2 && scale.ticks.length <= 16, `${scale.ticks}`);
          assert.ok(scale.ticks.every((tick) => inside(scale.at(tick))));
          assert.deepEqual(
            [...scale.ticks].sort((a, b) => a - b),
            scale.ticks,
          );
        }
      }
    }
  });

  it('name each count, in the middle where there is one', () => {
    const scale = doubling([1, 2, 4, 8, 2], 10, 110);
    assert.deepEqual(scale.ticks, [1, 2, 4, 8]);
    assert.deepEqual(scale.ticks.map(scale.at).map(Math.round), [10, 43, 77, 110]);
    assert.equal(doubling([5], 10, 110).at(5), 60);
    const many = Array.from({ length: 40 }, (_, i) => i + 1);
    assert.ok(doubling(many, 10, 110).ticks.length <= 10);
  });
});

describe('numbers', () => {
  it('have units and three digits', () => {
    assert.equal(duration(0.52), '0.52 µs');
    assert.equal(duration(999.7), '1 ms');
    assert.equal(duration(12_345), '12.3 ms');
    assert.equal(duration(999_700), '1 s');
    assert.equal(count(9_876), '9,876');
    assert.equal(count(12_345), '12.3 k');
    assert.equal(count(2_500_000), '2.5 M');
    assert.equal(grouped(1_234_567.8), '1,234,568');
    assert.equal(bytes(2 ** 34), '16 GiB');
    assert.equal(change(100, 158), '+58 %');
    assert.equal(change(100, 90), '−10 %');
    assert.equal(change(100, 250), '2.5 ×');
    assert.equal(change(0, 5), '');
  });
});
