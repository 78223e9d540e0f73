// `serval bench MODEL --tune`: reads the search's flags, prints its progress, and prints and writes
// its result. Control plane, main thread.
import { asUsage, UsageError } from '../../usage.js';
import { modelPath } from '../../../config/values/model-path.js';
import type { ParsedFlags } from '../../../config/command-line.js';
import { configError, intValue, textValue } from '../../../config/values/values.js';
import { ErrorCode } from '../../../base/errors.js';
import { echo, visible } from '../../../base/text.js';
import { measureOf, type Bench, type MeasureOptions } from '../measure.js';
import { sweepOptions, type SweepOptions } from '../options.js';
import { ALL_PATHS } from '../paths.js';
import { Progress } from '../progress.js';
import { writeFileOf } from '../report-files.js';
import { startTunedOf } from '../tuned.js';
import type { BenchPath, BenchPoint, StartTuned, TuneReport } from '../types.js';
import { configText } from './config-text.js';
import { BATCHING_OUT, CONFIG_OUT, LATENCY_BOUND, TUNE_SECONDS } from './flags.js';
import { mergedConfig, ownConfig } from './own-config.js';
import { reportOf, trialTable } from './report.js';
import { search } from './search.js';

/** Maximum requests in flight without --concurrency. */
const CONCURRENCY_MAX = 64;
const UNITS: Readonly<Record<string, number>> = { us: 1, ms: 1000, s: 1_000_000 };
const EXIT_INTERRUPTED = 130;

export interface TuneSettings {
  /** undefined: gRPC, or what the model supports. */
  readonly path: BenchPath | undefined;
  readonly batch: number;
  readonly batchGiven: boolean;
  readonly concurrencyMax: number;
  readonly seconds: number;
  readonly warmupSeconds: number;
  readonly latencyBound: number | undefined;
  readonly budgetSeconds: number;
  readonly configFile: string | undefined;
  readonly batchingFile: string | undefined;
}

export interface Tuned {
  readonly model: Bench['model'];
  readonly report: TuneReport;
  /** Points of the best settings. */
  readonly points: readonly BenchPoint[];
}

/** Errors: InvalidArgument: flags that do not apply to a search, or that require it. */
export function tuneSettings({ settings }: ParsedFlags, sweep: SweepOptions): TuneSettings {
  const text = (name: string): string | undefined => {
    const written = settings.get(name);
    return written && textValue(written);
  };
  const one = <T>(name: string, values: readonly T[]): T | undefined => {
    if (values.length <= 1) return values[0];
    throw configError(`--${name}`, `expected one with --tune, got ${values.length}`);
  };
  if (settings.has('rate')) {
    throw configError('--rate', '--tune measures closed loops: expected --concurrency alone');
  }
  if (settings.has('signature')) {
    throw configError('--signature', "--tune measures only the model's default signature");
  }
  const path = one('paths', sweep.paths ?? []);
  if (path === 'engine') {
    throw configError(
      '--paths',
      `expected ${ALL_PATHS.slice(1).join(', ')} with --tune: ` +
        'the engine alone has no instances and batches',
    );
  }
  const budget = settings.get(TUNE_SECONDS.name);
  return {
    path,
    batch: one('batch', sweep.batches) ?? 1,
    batchGiven: sweep.batchGiven,
    concurrencyMax: settings.has('concurrency') ? Math.max(...sweep.concurrency) : CONCURRENCY_MAX,
    seconds: sweep.seconds,
    warmupSeconds: sweep.warmupSeconds,
    latencyBound: latencyBound(text(LATENCY_BOUND.name)),
    budgetSeconds:
      budget === undefined ? Number(TUNE_SECONDS.default) : intValue(TUNE_SECONDS, budget),
    configFile: text(CONFIG_OUT.name),
    batchingFile: text(BATCHING_OUT.name),
  };
}

/** Microseconds. */
function latencyBound(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const [, digits, unit = ''] = /^(\d{1,9}(?:\.\d{1,6})?)\s*(us|ms|s)$/.exec(text) ?? [];
  const value = Number(digits) * (UNITS[unit] ?? 0);
  if (value > 0) return value;
  throw configError(
    `--${LATENCY_BOUND.name}`,
    `expected a time such as 10ms, 500us or 1s, got ${echo(text)}`,
  );
}

/** Errors: UsageError; those of measureOf(), if the model is not served by its defaults. */
export async function tuneModel(
  options: MeasureOptions,
  flags: ParsedFlags,
  cores: number,
  print: (text: string) => void,
): Promise<Tuned> {
  const tuning = await asUsage(() => tuneSettings(flags, sweepOptions(flags)));
  if (/^[a-z][a-z\d+.-]*:\/\//i.test(options.target)) {
    const text = `--tune: expected a MODEL, got ${echo(options.target)}: it starts its own servers`;
    throw new UsageError(ErrorCode.InvalidArgument, text);
  }
  const { model, hasRows } = await known(options, tuning);
  const load = { ...tuning, path: tuning.path ?? 'grpc', batch: hasRows ? tuning.batch : 0 };
  const base = await ownConfig(modelPath(process.cwd(), options.target), options.model);
  const start = startTunedOf({ ...options, paths: [load.path] }, (settings, name) =>
    base === undefined ? configText(settings, name) : mergedConfig(base, settings),
  );
  const progress = new Progress(process.stderr);
  const stop = stopOnSignal();
  try {
    const found = await search({
      ...load,
      cores,
      canBatch: hasRows,
      start: withProgress(start, progress, load.seconds),
      say: (line) => {
        progress.clear();
        print(`${visible(line)}\n`);
      },
      isStopped: () => stop.isAsked(),
    });
    const { batchingFile, latencyBound: bound } = tuning;
    const hasBatchingParameters = batchingFile !== undefined;
    const named = { name: model.name, latencyBound: bound, cores, hasBatchingParameters, base };
    const report = reportOf(found, named);
    progress.clear();
    writeOut(report, tuning, print);
    const best = found.best === undefined ? undefined : found.trials[found.best];
    return { model, report, points: lastOfEach(best?.points ?? []) };
  } finally {
    progress.end();
    stop.end();
  }
}

/** Later measurements win: they ran for longer. */
function lastOfEach(points: readonly BenchPoint[]): readonly BenchPoint[] {
  const last = new Map(points.map((point) => [point.concurrency, point]));
  return [...last.values()].sort((a, b) => a.concurrency - b.concurrency);
}

/** Facts about the model, found in this process. */
async function known(
  options: MeasureOptions,
  tuning: TuneSettings,
): Promise<Pick<Bench, 'model' | 'hasRows'>> {
  const bench = await measureOf({ ...options, paths: ['engine'] });
  const { model, hasRows } = bench;
  await bench.close();
  if (!hasRows && tuning.batchGiven) {
    throw configError('--batch', `model '${model.name}' has no dynamic first dimension`);
  }
  return { model, hasRows };
}

/** The bar of each measurement; their number is not known in advance. */
function withProgress(start: StartTuned, progress: Progress, seconds: number): StartTuned {
  return async (settings) => {
    const server = await start(settings);
    return {
      measure: (workload) => {
        progress.begins(workload, 0, Math.max(1, Math.round(workload.seconds / seconds)));
        return server.measure(workload);
      },
      close: () => server.close(),
    };
  };
}

/** The first Ctrl-C ends the search with its current results, the second one the process. */
function stopOnSignal(): { isAsked(): boolean; end(): void } {
  let count = 0;
  const asked = (): void => {
    count += 1;
    if (count > 1) process.exit(EXIT_INTERRUPTED);
    process.stderr.write(
      'serval: stopping after this measurement; press Ctrl-C again to stop at once\n',
    );
  };
  process.on('SIGINT', asked);
  return { isAsked: () => count > 0, end: () => process.off('SIGINT', asked) };
}

function writeOut(report: TuneReport, tuning: TuneSettings, print: (text: string) => void): void {
  const { configFile, batchingFile } = tuning;
  print(`\n${trialTable(report).map(visible).join('\n')}\n\n`);
  if (report.best === undefined) {
    print('No settings kept the p99 bound; see the table for the fastest ones.\n');
    return;
  }
  print(`config.pbtxt:\n\n${report.config}`);
  if (configFile !== undefined) writeFileOf(CONFIG_OUT.name, configFile, report.config);
  if (batchingFile === undefined) return;
  if (report.batchingParameters === undefined) {
    print('\nThe best settings do not batch requests: no batching parameters are written.\n');
    return;
  }
  print(`\nbatching parameters:\n\n${report.batchingParameters}`);
  writeFileOf(BATCHING_OUT.name, batchingFile, report.batchingParameters);
}
