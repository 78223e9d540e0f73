// Measures one server under one set of settings: increases the requests in flight until p99 exceeds
// the bound or throughput stops growing. Control plane; main thread.
import type { BenchPath, BenchWorkload, BenchPoint, Measure } from '../types.js';

/** Factor that counts as an improvement: less is noise. */
export const MARGIN = 1.03;
/** Consecutive doublings of the load that may bring nothing: one measurement may be disturbed. */
const CLIMB_PATIENCE = 1;
/** Fraction of the best's rows per second at equal concurrency: slower settings are abandoned. */
const FAR_BEHIND = 0.6;

export interface Load {
  readonly path: BenchPath;
  /** Rows of one request; 0: the model has no batch dimension. */
  readonly batch: number;
  readonly concurrencyMax: number;
  readonly seconds: number;
  readonly warmupSeconds: number;
  /** Bound of p99, in microseconds. */
  readonly latencyBound?: number | undefined;
}

export interface Measured {
  readonly points: readonly BenchPoint[];
  /** The point with the most rows per second that keeps the bound. */
  readonly best?: BenchPoint | undefined;
  /** Why it ended early. */
  readonly problem?: string | undefined;
}

/** Nothing failed and p99 is within the bound. */
export const keeps = (point: BenchPoint, bound: number | undefined): boolean =>
  point.answered > 0 && point.failed === 0 && (bound === undefined || point.latency.p99 <= bound);

/** Clearly more rows per second, or as many with a clearly lower p99. */
export function isBetter(point: BenchPoint, than: BenchPoint): boolean {
  if (point.rowsPerSecond > than.rowsPerSecond * MARGIN) return true;
  const isAsMuch = point.rowsPerSecond * MARGIN >= than.rowsPerSecond;
  return isAsMuch && point.latency.p99 < than.latency.p99 * 0.8;
}

export const workloadOf = (load: Load, concurrency: number): BenchWorkload => ({
  path: load.path,
  loop: 'closed',
  concurrency,
  rate: 0,
  batch: load.batch,
  seconds: load.seconds,
  warmupSeconds: load.warmupSeconds,
});

/** The best of some points: slightly more rows per second do not justify a much longer p99. */
export function bestOf(
  points: readonly BenchPoint[],
  bound: number | undefined,
): BenchPoint | undefined {
  return points
    .filter((point) => keeps(point, bound))
    .sort((a, b) => a.concurrency - b.concurrency)
    .reduce<BenchPoint | undefined>(
      (best, one) =>
        best === undefined || one.rowsPerSecond > best.rowsPerSecond * MARGIN ? one : best,
      undefined,
    );
}

class Climb {
  private readonly points: BenchPoint[] = [];

  constructor(
    private readonly measure: Measure,
    private readonly load: Load,
    private readonly isOver: () => boolean,
  ) {}

  async at(concurrency: number): Promise<BenchPoint> {
    const point = await this.measure(workloadOf(this.load, concurrency));
    this.points.push(point);
    return point;
  }

  private keeps(point: BenchPoint): boolean {
    return keeps(point, this.load.latencyBound);
  }

  /**
   * Doubles the requests in flight until that twice brings nothing, or p99 exceeds the bound; then
   * goes back halfway.
   */
  async up(from: BenchPoint): Promise<void> {
    let [point, most, idle] = [from, from.rowsPerSecond, 0];
    while (point.concurrency < this.load.concurrencyMax && !this.isOver()) {
      const next = await this.at(Math.min(point.concurrency * 2, this.load.concurrencyMax));
      const isMore = next.rowsPerSecond > most * MARGIN;
      if (!this.keeps(next)) {
        const between = Math.floor((point.concurrency + next.concurrency) / 2);
        if (isMore && between > point.concurrency && !this.isOver()) await this.at(between);
        return;
      }
      idle = isMore ? 0 : idle + 1;
      if (idle > CLIMB_PATIENCE) return;
      most = Math.max(most, next.rowsPerSecond);
      point = next;
    }
  }

  /** Halves the load until the bound is kept. */
  async down(from: BenchPoint, hopeless: (point: BenchPoint) => boolean): Promise<void> {
    let point = from;
    while (!this.keeps(point) && point.concurrency > 1 && !this.isOver()) {
      if (hopeless(point)) return;
      point = await this.at(Math.floor(point.concurrency / 2));
    }
  }

  ended(problem?: string): Measured {
    const best = bestOf(this.points, this.load.latencyBound);
    const failed = this.points.find((point) => point.failed > 0);
    const said =
      problem ??
      (best === undefined && failed !== undefined
        ? `${failed.failed} requests failed: ${failed.firstError ?? 'no response'}`
        : undefined);
    return { points: this.points, best, problem: said };
  }
}

/**
 * Begins with `from` requests in flight. `rival`: the best so far, used to abandon hopeless
 * settings early. `isOver`: whether time is up; one point is always measured. Rejects if `measure`
 * does.
 */
export async function measured(
  measure: Measure,
  load: Load,
  from: number,
  rival: { readonly best: BenchPoint; readonly points: readonly BenchPoint[] } | undefined,
  isOver: () => boolean,
): Promise<Measured> {
  const climb = new Climb(measure, load, isOver);
  const first = await climb.at(Math.min(from, load.concurrencyMax));
  const same = rival?.points.find((point) => point.concurrency === first.concurrency);
  const isBehind =
    same !== undefined &&
    first.rowsPerSecond < same.rowsPerSecond * FAR_BEHIND &&
    first.latency.p99 > same.latency.p99;
  if (isBehind) return climb.ended('far behind the best');
  if (keeps(first, load.latencyBound)) await climb.up(first);
  else {
    // Fewer requests in flight would hardly give more rows per second.
    const hopeless = (point: BenchPoint): boolean =>
      rival !== undefined && point.rowsPerSecond < rival.best.rowsPerSecond;
    await climb.down(first, hopeless);
  }
  return climb.ended();
}
