// A generated result of `--tune` for tests. Test time only.
import type { TuneReport, TuneTrial } from '../../../../ts/cli/bench/types.js';
import { closedPoint } from './reports.js';

/** The second of four is best; one exceeds the bound, one did not start. */
export function tunedReport(): TuneReport {
  const trial = (runUs: number, rest: Partial<TuneTrial>): TuneTrial => {
    const points = [1, 2, 4].map((concurrency) => closedPoint({ concurrency, runUs }));
    return { settings: {}, why: 'because', points, best: points[1], ...rest };
  };
  const trials = [
    trial(900, {}),
    trial(500, { settings: { instances: 2, threads: 1 } }),
    trial(5000, { settings: { maxBatchSize: 8 }, best: undefined }),
    trial(0, { settings: { instances: 9 }, points: [], best: undefined, problem: 'no memory' }),
  ];
  const steps = ['defaults: 1', 'two instances: 2'];
  const config = 'name: "resnet50"\ninstance_group [ { count: 2 } ]\n';
  return { latencyBound: 3000, trials, best: 1, steps, config };
}
