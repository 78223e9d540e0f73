// The console's numbers of the whole server: sums over models, GPUs, the slowest models, and points
// between two pages.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  serverNumbers,
  ServerSeries,
  SLOWEST_MAX,
} from '../../../../ts/server/console/page/metrics/server.js';
import { POINTS_MAX } from '../../../../ts/server/console/page/metrics/series.js';

interface Page {
  readonly answered?: number;
  readonly began?: number;
  readonly cpu?: number;
}

const bucketsOf = (model: string, fast: number, slow: number): string =>
  `serval_request_duration_seconds_bucket{model="${model}",version="1",le="1"} ${fast}
serval_request_duration_seconds_bucket{model="${model}",version="1",le="2"} ${fast + slow}
serval_request_duration_seconds_bucket{model="${model}",version="1",le="+Inf"} ${fast + slow}
`;

const pageOf = ({ answered = 10, began = 1000, cpu = 5 }: Page = {}): string =>
  `# TYPE nv_inference_request_success counter
nv_inference_request_success{model="a",version="1"} ${answered}
nv_inference_request_success{model="b",version="1"} 1
nv_inference_request_failure{model="a",version="1",reason="OTHER"} 2
nv_inference_request_failure{model="a",version="1",reason="BACKEND"} 3
serval_requests_refused_total{reason="not_found"} 4
serval_requests_refused_total{reason="access"} 5
${bucketsOf('a', answered, 0)}${bucketsOf('b', 0, 1)}process_resident_memory_bytes 1e6
process_start_time_seconds ${began}
process_cpu_seconds_total ${cpu}
serval_memory_used_bytes 7
serval_memory_limit_bytes 70
nv_gpu_utilization{gpu_uuid="GPU-1"} 0.5
nv_gpu_memory_used_bytes{gpu_uuid="GPU-1"} 10
nv_gpu_memory_total_bytes{gpu_uuid="GPU-1"} 20
nv_gpu_memory_used_bytes{gpu_uuid="GPU-2"} 11
nv_gpu_memory_total_bytes{gpu_uuid="GPU-2"} 20
`;

describe('serverNumbers', () => {
  it('adds up models, versions and reasons', () => {
    const { answered, failed, refused, latency, process } = serverNumbers(pageOf());
    assert.deepEqual([answered, failed, refused], [11, 5, 9]);
    assert.deepEqual(latency.counts, [10, 1, 0]);
    assert.deepEqual([process.resident, process.inFlight, process.limit], [1e6, 7, 70]);
  });

  it('lists GPUs, and does not invent a utilization', () => {
    assert.deepEqual(serverNumbers(pageOf()).gpus, [
      { id: 'GPU-1', utilization: 0.5, usedBytes: 10, totalBytes: 20 },
      { id: 'GPU-2', utilization: undefined, usedBytes: 11, totalBytes: 20 },
    ]);
  });

  it('has the slowest models first, and none that answered nothing', () => {
    const { slowest } = serverNumbers(
      `${pageOf()}nv_inference_request_success{model="idle",version="1"} 0\n`,
    );
    assert.deepEqual(
      slowest.map(({ name, answered, failed }) => [name, answered, failed]),
      [
        ['b', 1, 0],
        ['a', 10, 5],
      ],
    );
    assert.ok((slowest[0]?.p99 ?? 0) > 1);
    const many = Array.from({ length: SLOWEST_MAX + 5 }, (_, at) => bucketsOf(`m${at}`, at + 1, 0));
    assert.equal(serverNumbers(many.join('')).slowest.length, SLOWEST_MAX);
  });

  it('of a page without metrics are 0', () => {
    const { answered, slowest, gpus, latency } = serverNumbers('');
    assert.deepEqual([answered, slowest, gpus, latency.counts], [0, [], [], []]);
  });
});

describe('ServerSeries', () => {
  it('divides differences by the seconds between two pages', () => {
    const series = new ServerSeries();
    series.add(pageOf({ answered: 10, cpu: 5 }), 100);
    assert.equal(series.points.length, 0);
    series.add(pageOf({ answered: 30, cpu: 8 }), 102);
    const [point] = series.points;
    assert.deepEqual(
      [point?.answeredPerSecond, point?.cores, point?.failedPerSecond],
      [10, 1.5, 0],
    );
    assert.equal(point?.p50, 0.5, 'the latencies between the pages only');
  });

  it('has no point from one process to the next, and no negative rate', () => {
    const series = new ServerSeries();
    series.add(pageOf({ answered: 50 }), 0);
    series.add(pageOf({ answered: 3, began: 2000 }), 2);
    assert.equal(series.points.length, 0);
    series.add(pageOf({ answered: 1, began: 2000 }), 4);
    assert.equal(series.points[0]?.answeredPerSecond, 0);
  });

  it('keeps a limited number of points', () => {
    const series = new ServerSeries();
    for (let at = 0; at < POINTS_MAX + 20; at += 1) series.add(pageOf({ answered: at }), at * 2);
    assert.equal(series.points.length, POINTS_MAX);
  });
});
