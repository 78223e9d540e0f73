// The console's points over time, from one metrics page to the next.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { samplesOf, type Samples } from '../../../../ts/server/console/page/metrics/exposition.js';
import { POINTS_MAX, Series } from '../../../../ts/server/console/page/metrics/series.js';

interface Counts {
  readonly answered: number;
  readonly failed?: number;
  readonly rows?: number;
  readonly pending?: number;
  /** Latencies of at most 1 s, and of at most 2 s. */
  readonly fast?: number;
  readonly slow?: number;
}

function pageOf({ answered, failed = 0, rows = answered, pending = 0, ...took }: Counts): Samples {
  const { fast = 0, slow = 0 } = took;
  return samplesOf(
    `nv_inference_request_success{model="m"} ${answered}
nv_inference_request_failure{model="m"} ${failed}
nv_inference_count{model="m"} ${rows}
nv_inference_pending_request_count{model="m"} ${pending}
serval_request_duration_seconds_bucket{model="m",le="1"} ${fast}
serval_request_duration_seconds_bucket{model="m",le="2"} ${fast + slow}
serval_request_duration_seconds_bucket{model="m",le="+Inf"} ${fast + slow}
serval_batch_rows_bucket{model="m",le="8"} ${rows}
serval_batch_rows_bucket{model="m",le="+Inf"} ${rows}
`,
    'm',
  );
}

describe('Series', () => {
  it('has no point after the first page', () => {
    const series = new Series();
    series.add(pageOf({ answered: 5, failed: 2 }), 100);
    assert.equal(series.points.length, 0);
    assert.deepEqual([series.answered, series.failed], [5, 2]);
  });

  it('divides differences by the seconds between two pages', () => {
    const series = new Series();
    series.add(pageOf({ answered: 10, failed: 1, rows: 40 }), 100);
    series.add(pageOf({ answered: 20, failed: 2, rows: 80, pending: 3 }), 102);
    const [point] = series.points;
    assert.equal(point?.answeredPerSecond, 5);
    assert.equal(point?.failedPerSecond, 0.5);
    assert.equal(point?.rowsPerSecond, 20);
    assert.equal(point?.pending, 3);
  });

  it('takes the quantiles of a point from the latencies between two pages only', () => {
    const series = new Series();
    series.add(pageOf({ answered: 100, fast: 100 }), 0);
    series.add(pageOf({ answered: 110, fast: 100, slow: 10 }), 2);
    assert.equal(series.points[0]?.p50, 1.5);
    assert.deepEqual(series.latency.counts, [100, 10, 0], 'the histogram is since the start');
  });

  it('has undefined quantiles when nothing was answered', () => {
    const series = new Series();
    series.add(pageOf({ answered: 1, fast: 1 }), 0);
    series.add(pageOf({ answered: 1, fast: 1 }), 2);
    assert.equal(series.points[0]?.answeredPerSecond, 0);
    assert.equal(series.points[0]?.p99, undefined);
    assert.equal(series.points[0]?.queueP99, undefined);
  });

  it('starts over when the counters fall, because the server restarted', () => {
    const series = new Series();
    series.add(pageOf({ answered: 50, rows: 50 }), 0);
    series.add(pageOf({ answered: 3, rows: 3 }), 2);
    assert.equal(series.points.length, 0);
    assert.equal(series.answered, 3);
    series.add(pageOf({ answered: 7, rows: 7 }), 4);
    assert.equal(series.points[0]?.answeredPerSecond, 2);
    assert.deepEqual(series.batches.counts, [7, 0]);
  });

  it('keeps a limited number of points', () => {
    const series = new Series();
    for (let at = 0; at < POINTS_MAX + 20; at += 1) {
      series.add(pageOf({ answered: at, fast: at }), at * 2);
    }
    assert.equal(series.points.length, POINTS_MAX);
    assert.equal(series.latency.counts[0], POINTS_MAX + 19);
  });
});
