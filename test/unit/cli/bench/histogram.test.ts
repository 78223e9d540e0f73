// Histograms of latencies: exact for small values, within one percent for large ones.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Histogram } from '../../../../ts/cli/bench/load/histogram.js';

test('quantiles are those of the sorted list, within a percent', () => {
  const histogram = new Histogram();
  const all = Array.from({ length: 10_000 }, (_, i) => 0.3 * 1.0017 ** i);
  for (const value of all) histogram.add(value);
  const { p50, p90, p99, p999, max, mean } = histogram.latency();
  for (const [got, part] of [
    [p50, 0.5],
    [p90, 0.9],
    [p99, 0.99],
    [p999, 0.999],
  ] as const) {
    const expected = all[Math.ceil(part * all.length) - 1] ?? 0;
    assert.ok(Math.abs(got - expected) / expected < 0.01, `${part}: ${got}, expected ${expected}`);
  }
  assert.equal(max, all.at(-1));
  const sum = all.reduce((total, value) => total + value, 0);
  assert.ok(Math.abs(mean - sum / all.length) < 1e-6 * mean);
});

test('each size has its place, from nothing to more than there is', () => {
  for (const value of [0, 0.01, 0.0625, 1, 7.99, 8, 15.9, 16, 127, 128, 1e6, 3.6e9, 1e15]) {
    const histogram = new Histogram();
    histogram.add(value);
    const got = histogram.quantile(0.5);
    const most = Math.max(0.0625, value * 0.008);
    assert.ok(value >= 2e11 || Math.abs(got - value) <= most, `${value}: ${got}`);
    assert.equal(histogram.latency().max, value);
  }
  const negative = new Histogram();
  negative.add(-5);
  assert.deepEqual(negative.latency(), { mean: 0, p50: 0, p90: 0, p99: 0, p999: 0, max: 0 });
});

test('parts of several threads are one; without any all is 0', () => {
  const [one, other, both] = [new Histogram(), new Histogram(), new Histogram()];
  for (let i = 1; i <= 100; i += 1) {
    (i % 2 === 0 ? one : other).add(i * 10);
    both.add(i * 10);
  }
  const merged = new Histogram();
  merged.merge(one.data());
  merged.merge(other.data());
  assert.deepEqual(merged.latency(), both.latency());
  assert.equal(merged.count, 100);
  const { p50, max } = new Histogram().latency();
  assert.deepEqual([p50, max], [0, 0]);
});
