// Tests the arithmetic of the table: medians, pairs, targets.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { idealHits, zipfDraws } from '../workloads/control/zipf.mjs';
import {
  cpuValue,
  judge,
  median,
  medianSample,
  meets,
  pairValue,
  percentile,
  spread,
} from '../statistics.mjs';
import { optionsOf, pairSeconds } from '../runner.mjs';
import { rowCost, rowCostByCpu } from '../workloads/batching/index.mjs';
import { percentileRows } from '../workloads/grpc/open-loop.mjs';

test('median and percentile interpolate and do not reorder their input', () => {
  const values = [3, 1, 2, 10];
  assert.equal(median(values), 2.5);
  assert.equal(percentile(values, 0), 1);
  assert.equal(percentile(values, 100), 10);
  assert.equal(percentile([7], 99), 7);
  assert.deepEqual(values, [3, 1, 2, 10]);
  assert.deepEqual(spread(values), { min: 1, max: 10 });
});

test('an empty list is an error, not NaN', () => {
  assert.throws(() => median([]), RangeError);
  assert.throws(() => spread([]), RangeError);
});

test('a pair is Serval over the reference for rate and time, the difference for p50', () => {
  const reference = { perSecond: 100, usPerRequest: 10, p50Us: 60, cpuUs: 5 };
  const serval = { perSecond: 80, usPerRequest: 12.5, p50Us: 75, cpuUs: 8 };
  assert.equal(pairValue('rate', reference, serval), 0.8);
  assert.equal(pairValue('time', reference, serval), 1.25);
  assert.equal(pairValue('p50', reference, serval), 15);
  assert.equal(cpuValue('rate', reference, serval), 0.625);
  assert.equal(cpuValue('time', reference, serval), 1.6);
  assert.equal(cpuValue('p50', reference, serval), null);
  assert.equal(cpuValue('time', { perSecond: 1 }, serval), null);
  const tail = { p50Us: 30, p99Us: 100, p999Us: 400 };
  const other = { p50Us: 60, p99Us: 50, p999Us: 100 };
  const times = (metric) => pairValue(metric, tail, other);
  assert.deepEqual(['p50-times', 'p99-times', 'p999-times'].map(times), [2, 0.5, 0.25]);
  assert.equal(cpuValue('p99-times', { cpuUs: 1 }, { cpuUs: 2 }), null);
  assert.throws(() => pairValue('speed', reference, serval), /unknown metric 'speed'/);
});

test('targets are inclusive except for <; a row without a target is neither met nor missed', () => {
  assert.equal(meets({ relation: '>=', limit: 0.7 }, 0.7), true);
  assert.equal(meets({ relation: '>=', limit: 0.7 }, 0.699), false);
  assert.equal(meets({ relation: '<=', limit: 1.5 }, 1.5), true);
  assert.equal(meets({ relation: '<', limit: 0.3 }, 0.3), false);
  assert.equal(meets(null, 3), null);
  assert.throws(() => meets({ relation: '=', limit: 1 }, 1), /unknown relation '='/);
});

test('a row is judged by the median of the ratios, not the ratio of the medians', () => {
  const round = (reference, serval) => ({
    reference: { perSecond: reference, cpuUs: 1 },
    serval: { perSecond: serval, cpuUs: 2 },
  });
  const workload = {
    id: 'w',
    title: 'W',
    reference: 'r',
    metric: 'rate',
    target: { relation: '>=', limit: 0.7 },
  };
  const row = judge(workload, [round(100, 90), round(200, 120), round(50, 40)]);
  assert.equal(row.got, 0.8);
  assert.deepEqual(row.spread, { min: 0.6, max: 0.9 });
  assert.equal(row.gotByCpu, 0.5);
  assert.equal(row.ok, true);
  assert.equal(row.form, 'ratio');
  assert.equal(row.sides.reference.perSecond, 100);
  assert.equal(row.sides.serval.perSecond, 90);
});

test('medianSample omits members that a sample does not have', () => {
  assert.deepEqual(medianSample([{ a: 1 }, { a: 3, b: NaN }]), { a: 2 });
});

test('the cost of a row beyond the echo is a multiple of the cost of the model', () => {
  const round = {
    serval: { usPerRequest: 50, cpuUs: 40 },
    echo: { usPerRequest: 30, cpuUs: 25 },
    alone: { usPerRequest: 320 },
  };
  assert.equal(rowCost(round, 0), 2);
  assert.equal(rowCost(round, 4), 1.6);
  assert.equal(rowCostByCpu(round, 0), 1.5);
});

test('a workload that measures small differences runs more rounds', () => {
  const options = { seconds: 2, rounds: 3, limitSeconds: 9 };
  assert.deepEqual(optionsOf({ roundsTimes: 3 }, options), { ...options, rounds: 9 });
  assert.deepEqual(optionsOf({}, options), options);
  assert.equal(pairSeconds(optionsOf({ roundsTimes: 2 }, options)), 29);
});

test('one rate gives a row for each percentile; only p99 has a target', () => {
  const side = (times) => ({ p50Us: 10 * times, p99Us: 20 * times, p999Us: 30 });
  const rounds = [{ reference: side(2), serval: side(1) }];
  const rows = percentileRows({ id: 'o', title: 'O', reference: 'r', note: '' }, rounds);
  assert.deepEqual(
    rows.map(({ id, got, ok }) => [id, got, ok]),
    [
      ['o-p50', 0.5, null],
      ['o-p99', 0.5, true],
      ['o-p99.9', 1, null],
    ],
  );
});

test('draws are the same in each run, and follow the distribution', () => {
  const draws = zipfDraws(100, 20_000);
  assert.deepEqual(zipfDraws(100, 20_000), draws);
  assert.ok(draws.every((one) => Number.isInteger(one) && one >= 0 && one < 100));
  const counts = [0, 1, 9].map((wanted) => draws.filter((one) => one === wanted).length);
  const harmonic = 5.187;
  for (const [i, rank] of [1, 2, 10].entries()) {
    const expected = 20_000 / harmonic / rank;
    assert.ok(Math.abs(counts[i] - expected) < 0.15 * expected, `${rank}: ${counts[i]}`);
  }
});

test('an LRU drops what was used longest ago', () => {
  assert.equal(idealHits([1, 2, 1, 3, 2, 1], 2), 1);
  assert.equal(idealHits([1, 2, 1, 3, 1, 2], 3), 3);
  assert.equal(idealHits([], 3), 0);
});
