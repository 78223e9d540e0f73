// Runs a report's measurements in sequence: for each path and batch size, closed loops with
// increasing concurrency, then open loops. Control plane.
import { ErrorCode, reasonOf, ServalError } from '../../base/errors.js';
import type { RateOption, SweepOptions } from './options.js';
import type { Bench } from './measure.js';
import type { BenchPath, BenchWorkload, BenchPoint } from './types.js';

/** Receives the progress. */
export interface SweepEvents {
  /** `index` of `count` begins. */
  readonly begins: (workload: BenchWorkload, index: number, count: number) => void;
  readonly measured: (point: BenchPoint) => void;
  /** A path that the model or the server does not support; it is skipped. */
  readonly skipped: (path: BenchPath, why: string) => void;
}

/** Errors: InvalidArgument: no path can be measured; the first path's error if none worked. */
export async function sweep(
  bench: Bench,
  options: SweepOptions,
  events: SweepEvents,
): Promise<readonly BenchPoint[]> {
  const { rates, concurrency, batchGiven } = options;
  const paths = pathsOf(bench, options);
  const batches = bench.hasRows || batchGiven ? options.batches : [0];
  const count = paths.length * batches.length * (concurrency.length + rates.length);
  const points: BenchPoint[] = [];
  let index = 0;
  let problem: unknown;
  const run = async (workload: BenchWorkload): Promise<BenchPoint> => {
    events.begins(workload, index++, count);
    const point = await bench.measure(workload);
    points.push(point);
    events.measured(point);
    return point;
  };
  for (const [i, path] of paths.entries()) {
    try {
      for (const batch of batches) await ofBatch(path, batch, options, run);
    } catch (error) {
      problem ??= error;
      events.skipped(path, reasonOf(error));
      index = (i + 1) * (count / paths.length);
    }
  }
  if (points.length === 0 && problem !== undefined) throw problem;
  return points;
}

function pathsOf({ paths, server }: Bench, { paths: wanted }: SweepOptions): readonly BenchPath[] {
  const missing = wanted?.find((one) => !paths.includes(one));
  if (missing !== undefined) {
    const text = `--paths: expected ${paths.join(', ')} of ${server}, got ${missing}`;
    throw new ServalError(ErrorCode.InvalidArgument, text);
  }
  return wanted ?? paths;
}

async function ofBatch(
  path: BenchPath,
  batch: number,
  { concurrency, rates, seconds, warmupSeconds }: SweepOptions,
  run: (workload: BenchWorkload) => Promise<BenchPoint>,
): Promise<void> {
  let best = 0;
  for (const inFlight of concurrency) {
    const workload = { loop: 'closed', concurrency: inFlight, rate: 0 } as const;
    const point = await run({ ...workload, path, batch, seconds, warmupSeconds });
    best = Math.max(best, point.requestsPerSecond);
  }
  for (const rate of rates) {
    const workload = { loop: 'open', concurrency: 0, rate: perSecond(rate, best) } as const;
    await run({ ...workload, path, batch, seconds, warmupSeconds });
  }
}

/** Rounded to two significant digits: 25,377.4 per second is not a useful rate. */
function perSecond(rate: RateOption, best: number): number {
  if (rate.kind === 'absolute') return rate.perSecond;
  return Math.max(0.1, Number((rate.part * best).toPrecision(2)));
}
