// Reports of `serval bench` for tests, computed by a formula for a queue before a server with a
// number of cores. Test time only.
import type {
  BenchLatency,
  BenchPath,
  BenchPoint,
  BenchReport,
} from '../../../../ts/cli/bench/types.js';

export const latencyOf = (mean: number): BenchLatency => ({
  mean,
  p50: mean * 0.9,
  p90: mean * 1.3,
  p99: mean * 2,
  p999: mean * 3.5,
  max: mean * 6,
});

export interface PointOptions extends Partial<BenchPoint> {
  /** The microseconds of one run, and the number of requests that run at once. */
  readonly runUs?: number;
  readonly servers?: number;
}

/** A closed loop over a server with `servers` parallel runs of `runUs` each. */
export function closedPoint(options: PointOptions = {}): BenchPoint {
  const { runUs = 500, servers = 2, concurrency = 1, batch = 0, seconds = 2 } = options;
  const atOnce = Math.min(concurrency, servers);
  const requestsPerSecond = (atOnce * 1e6) / runUs;
  const rowsPerSecond = requestsPerSecond * Math.max(1, batch);
  return {
    path: 'grpc',
    loop: 'closed',
    concurrency,
    rate: 0,
    batch,
    seconds,
    warmupSeconds: 0.5,
    answered: Math.round(requestsPerSecond * seconds),
    failed: 0,
    requestsPerSecond,
    rowsPerSecond,
    latency: latencyOf((runUs * concurrency) / atOnce),
    clientCores: 0.2,
    serverCores: atOnce,
    ...options,
  };
}

/** Requests by the clock: latency grows as the rate approaches the server's capacity. */
export function openPoint(path: BenchPath, rate: number): BenchPoint {
  const most = 4000;
  const answered = Math.min(rate, most);
  const mean = 400 / Math.max(0.02, 1 - rate / (most * 1.05));
  const latency = latencyOf(mean);
  const rates = { answered: answered * 2, requestsPerSecond: answered, rowsPerSecond: answered };
  return closedPoint({ path, loop: 'open', concurrency: 0, rate, batch: 1, latency, ...rates });
}

const MACHINE = {
  cpu: 'Some Processor 9000',
  cores: 8,
  memoryBytes: 2 ** 34,
  node: 'v22.1.0',
};

export function reportOf(points: readonly BenchPoint[], rest: Partial<BenchReport> = {}) {
  const report: BenchReport = {
    format: 1,
    serval: '0.1.0',
    at: '2026-01-02T03:04:05.678Z',
    command: ['models/resnet50', '--paths', 'grpc,rest-json', '--html', 'my page.html'],
    machine: MACHINE,
    model: { name: 'resnet50', version: '1', platform: 'onnxruntime_onnx' },
    server: "this process' child",
    points,
    ...rest,
  };
  return report;
}

const COSTS: readonly (readonly [BenchPath, number])[] = [
  ['engine', 420],
  ['grpc', 520],
  ['rest-binary', 560],
  ['rest-json', 1300],
];

/** Four paths, closed loop. */
export const pathPoints = (batch = 1): readonly BenchPoint[] =>
  COSTS.flatMap(([path, runUs]) =>
    [1, 2, 4, 8, 16, 32].map((concurrency) =>
      closedPoint({ path, concurrency, batch, runUs: runUs * (1 + batch / 8), servers: 4 }),
    ),
  );
