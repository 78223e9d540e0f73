// Output of `serval bench`: a line for each measurement, and notes on them. Pure; control plane.
import { echo, visible } from '../../base/text.js';
import type { BenchPoint, BenchReport } from './types.js';

const HEADS = ['path', 'load', 'rows', 'requests/s', 'rows/s', 'p50', 'p90', 'p99', 'p99.9'];
const WIDTHS = [12, 13, 6, 11, 11, 9, 9, 9, 9];
const CORES = ['client', 'server'];
const CORES_WIDTH = 7;
/** Fraction of its time above which a sending thread counts as saturated. */
const BUSY = 0.9;
/** Fraction of the median latency of an open loop. */
const LATE_PART = 0.25;

export function tableHead(): string {
  const cells = HEADS.map((head, i) => padded(head, i));
  const cores = CORES.map((head) => head.padStart(CORES_WIDTH));
  return `${[...cells, ...cores].join(' ')}  failed\n`;
}

export function tableLine(point: BenchPoint): string {
  const { path, batch, requestsPerSecond, rowsPerSecond, latency, failed } = point;
  const times = [latency.p50, latency.p90, latency.p99, latency.p999].map(timeText);
  const cells = [
    path,
    loadText(point),
    batch === 0 ? '-' : String(batch),
    countText(requestsPerSecond),
    countText(rowsPerSecond),
    ...times,
  ].map(padded);
  const cores = [point.clientCores, point.serverCores].map((value) =>
    (value === undefined ? '-' : value.toFixed(2)).padStart(CORES_WIDTH),
  );
  return (
    `${[...cells, ...cores].join(' ')}  ${failed === 0 ? '' : countText(failed)}`.trimEnd() + '\n'
  );
}

/** Notes below the table. `threads`: number that sent. */
export function tableNotes({ points }: Pick<BenchReport, 'points'>, threads: number): string {
  const notes: string[] = [];
  const failing = points.find((one) => one.failed > 0);
  if (failing !== undefined) {
    const where = `${failing.path}, ${loadText(failing)}`;
    notes.push(`Some requests failed; the first (${where}): ${visible(failing.firstError ?? '')}`);
  }
  const busy = points.filter((one) => one.path !== 'engine' && isLimited(one, threads));
  if (busy.length > 0) {
    const paths = [...new Set(busy.map((one) => one.path))].join(', ');
    notes.push(
      `The load, not the server, was the limit in ${busy.length} measurements (${paths}): ` +
        'its threads were always busy; raise --load-threads.',
    );
  }
  const late = points.filter(
    ({ lateMicroseconds = 0, latency }) => lateMicroseconds > LATE_PART * latency.p50,
  );
  if (late.length > 0) {
    const most = Math.max(...late.map((one) => one.lateMicroseconds ?? 0));
    notes.push(
      `In ${late.length} open loops requests were sent late (half of them by ${timeText(most)} or ` +
        'more in the worst): the latencies include that.',
    );
  }
  return notes.map((note) => `${note}\n`).join('');
}

export function isLimited({ clientCores }: BenchPoint, threads: number): boolean {
  return clientCores >= BUSY * threads;
}

export function loadText({ loop, concurrency, rate }: BenchPoint | PointLoad): string {
  return loop === 'closed' ? `${concurrency} in flight` : `${countText(rate)}/s`;
}
type PointLoad = Pick<BenchPoint, 'loop' | 'concurrency' | 'rate'>;

const padded = (text: string, column: number): string => {
  const width = WIDTHS[column] ?? 0;
  return column < 2 ? text.padEnd(width) : text.padStart(width);
};

/** Microseconds: "85 us", "1.25 ms", "2.40 s". */
export function timeText(microseconds: number): string {
  if (microseconds < 10) return `${microseconds.toFixed(1)} us`;
  if (microseconds < 1000) return `${microseconds.toFixed(0)} us`;
  const ms = microseconds / 1000;
  if (ms < 1000) return `${ms < 100 ? ms.toFixed(2) : ms.toFixed(0)} ms`;
  return `${(ms / 1000).toFixed(2)} s`;
}

export function countText(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString('en-US');
  return Number(value.toPrecision(3)).toString();
}

/** The first lines: what is measured, and where. */
export function titleText({ model, server, machine }: Omit<BenchReport, 'points'>): string {
  const version = model.version === '' ? '' : `, version ${model.version}`;
  const platform = model.platform === '' ? '' : ` (${model.platform})`;
  const { cpu, cores } = machine;
  return (
    `${visible(`${model.name}${version}${platform}`)}, server: ${visible(server)}\n` +
    `${visible(cpu)}, ${cores} cores\n\n`
  );
}

/** Why a path was skipped. */
export const skippedText = (path: string, why: string): string =>
  `${path}: skipped:  ${visible(why.length > 500 ? echo(why) : why)}\n`;
