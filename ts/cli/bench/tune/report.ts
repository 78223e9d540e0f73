// The result of a search for printing, files and plots: a table of the tried settings and the
// configuration of the best. Control plane; pure.
import { change, grouped } from '../page/numbers.js';
import type { TuneReport, TuneTrial } from '../types.js';
import { batchingParametersText, configText } from './config-text.js';
import { mergedConfig } from './own-config.js';
import type { Found } from './search.js';
import { pointWords, settingsWords, time } from './words.js';

export interface ReportOptions {
  /** The model's name for config.pbtxt. */
  readonly name: string;
  readonly latencyBound?: number | undefined;
  /** Whether TensorFlow Serving's batching parameters are requested too. */
  readonly hasBatchingParameters: boolean;
  readonly cores: number;
  /** The text of the model's own config.pbtxt; undefined: it has none. */
  readonly base?: string | undefined;
}

export function reportOf(found: Found, options: ReportOptions): TuneReport {
  const { latencyBound } = options;
  const best = found.best === undefined ? undefined : found.trials[found.best];
  const settings = best?.settings ?? {};
  const batching = options.hasBatchingParameters
    ? batchingParametersText(settings, options.cores)
    : undefined;
  const said = notes(found, best, latencyBound);
  return {
    latencyBound,
    trials: found.trials,
    best: found.best,
    steps: found.steps,
    config:
      options.base === undefined
        ? configText(settings, options.name, said)
        : mergedConfig(options.base, settings, said),
    batchingParameters: batching,
  };
}

/** Comments above a configuration. */
function notes(
  { trials }: Found,
  best: TuneTrial | undefined,
  latencyBound: number | undefined,
): readonly string[] {
  const bound = latencyBound === undefined ? '' : `, p99 below ${time(latencyBound)}`;
  const lines = [`serval bench --tune, ${trials.length} settings tried${bound}`];
  if (best?.best === undefined)
    return [...lines, 'no settings kept the bound; these are the defaults'];
  const before = trials[0]?.best;
  const isDefault = best === trials[0];
  return [
    ...lines,
    `${isDefault ? 'the defaults are best' : settingsWords(best.settings)}: ${pointWords(best.best)}`,
    ...(isDefault || before === undefined ? [] : [`defaults: ${pointWords(before)}`]),
  ];
}

/** Lines of a table: the trials, fastest first, the best one marked. */
export function trialTable(report: TuneReport): readonly string[] {
  const { trials, best } = report;
  const base = trials[0]?.best?.rowsPerSecond;
  const order = trials
    .map((trial, index) => ({ trial, index }))
    .sort((a, b) => (b.trial.best?.rowsPerSecond ?? 0) - (a.trial.best?.rowsPerSecond ?? 0));
  const rows = order.map(({ trial, index }) => {
    const mark = index === best ? '*' : ' ';
    return [`${mark} ${settingsWords(trial.settings)}`, ...cells(trial, base)];
  });
  const head = ['  settings', 'rows/s', 'to defaults', 'p50', 'p99', 'in flight'];
  return aligned([head, ...rows]);
}

function cells({ best, points, problem }: TuneTrial, base: number | undefined): readonly string[] {
  const point = best ?? points.at(-1);
  if (point === undefined) return ['-', problem ?? 'not measured'];
  const rows = [
    grouped(point.rowsPerSecond),
    base === undefined ? '' : change(base, point.rowsPerSecond),
    time(point.latency.p50),
    time(point.latency.p99),
    String(point.concurrency),
  ];
  return best === undefined ? [...rows, problem ?? 'above the bound'] : rows;
}

/** Aligns the first column left, the others right; cells after the last heading are plain text. */
function aligned(rows: readonly (readonly string[])[]): readonly string[] {
  const columns = rows[0]?.length ?? 0;
  const full = rows.filter((row) => row.length >= columns);
  const widths = Array.from({ length: columns }, (_, i) =>
    Math.max(...(i === 0 ? rows : full).map((row) => (row[i] ?? '').length)),
  );
  return rows.map((row) =>
    row
      .map((cell, i) => {
        const isText = i === 0 || i >= columns || row.length < columns;
        return isText ? cell.padEnd(i === 0 ? (widths[0] ?? 0) : 0) : cell.padStart(widths[i] ?? 0);
      })
      .join('  ')
      .trimEnd(),
  );
}
