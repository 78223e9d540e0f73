// `serval bench MODEL|URL`: measures how fast a model responds, alone and through each protocol.
// Control plane, main thread.
import { availableParallelism, cpus, totalmem } from 'node:os';
import { asUsage, UsageError } from '../usage.js';
import { parseFlags, type ParsedFlags } from '../../config/command-line.js';
import { textValue } from '../../config/values/values.js';
import { ErrorCode } from '../../base/errors.js';
import { servalVersion } from '../../base/version.js';
import { BENCH_FLAGS } from './flags.js';
import { measureOf, type Bench, type MeasureOptions } from './measure.js';
import { measureOptions, sweepOptions } from './options.js';
import { Progress } from './progress.js';
import { writeReport, type ReportFiles } from './report-files.js';
import { sweep } from './sweep.js';
import { skippedText, tableHead, tableLine, tableNotes, titleText } from './table.js';
import { CHILD } from './endpoint/endpoint.js';
import { isTuning } from './tune/flags.js';
import type { BenchMachine, BenchPoint, BenchReport } from './types.js';

const EXIT_INTERRUPTED = 130;
const EXIT_TERMINATED = 143;

/**
 * Returns the exit code: 1 if no request was answered. Errors: UsageError; those of measureOf().
 */
export async function benchCommand(args: readonly string[]): Promise<number> {
  const flags = await asUsage(() => parseFlags(args, process.cwd(), BENCH_FLAGS));
  const [target, ...others] = flags.positional;
  if (target === undefined || others.length > 0) {
    const message = `bench: expected one MODEL or URL, got ${flags.positional.length}`;
    throw new UsageError(ErrorCode.InvalidArgument, message);
  }
  const options = await asUsage(() => measureOptions(target, flags));
  const swept = await asUsage(() => sweepOptions(flags));
  const files = { json: fileOf(flags, 'json'), html: fileOf(flags, 'html') };
  if (await asUsage(() => isTuning(flags))) return tune(args, flags, options, files);
  // The started server ends with this process.
  process.once('SIGINT', () => process.exit(EXIT_INTERRUPTED));
  process.once('SIGTERM', () => process.exit(EXIT_TERMINATED));
  const bench = await measureOf(options);
  const progress = new Progress(process.stderr);
  const print = (text: string): void => {
    progress.clear();
    if (files.json !== '-') process.stdout.write(text);
  };
  const head = headOf(args, bench);
  try {
    print(titleText(head) + tableHead());
    const points = await sweep(bench, swept, {
      begins: (workload, index, count) => progress.begins(workload, index, count),
      measured: (point) => print(tableLine(point)),
      skipped: (path, why) => {
        progress.clear();
        process.stderr.write(skippedText(path, why));
      },
    });
    const report: BenchReport = { ...head, points };
    print(notesOf(points, options.threads));
    await writeReport(files, report);
    return points.some((one) => one.answered > 0) ? 0 : 1;
  } finally {
    progress.end();
    await bench.close();
  }
}

/** `--tune`: a search in place of the sweep; returns 1 if nothing kept the bound. */
async function tune(
  args: readonly string[],
  flags: ParsedFlags,
  options: MeasureOptions,
  files: ReportFiles,
): Promise<number> {
  const { tuneModel } = await import('./tune/tune-command.js');
  const machine = machineOf();
  const print = (text: string): void => {
    if (files.json !== '-') process.stdout.write(text);
  };
  const { points, report: tuned, model } = await tuneModel(options, flags, machine.cores, print);
  const head = headOf(args, { model, server: CHILD });
  await writeReport(files, { ...head, points, tuned });
  return tuned.best === undefined ? 1 : 0;
}

function notesOf(points: readonly BenchPoint[], threads: number): string {
  const text = tableNotes({ points }, Math.max(1, threads));
  return text === '' ? '' : `\n${text}`;
}

function fileOf({ settings }: ParsedFlags, name: string): string | undefined {
  const written = settings.get(name);
  return written && textValue(written);
}

function headOf(
  args: readonly string[],
  { model, server }: Pick<Bench, 'model' | 'server'>,
): Omit<BenchReport, 'points'> {
  return {
    format: 1,
    serval: servalVersion(),
    at: new Date().toISOString(),
    command: args,
    machine: machineOf(),
    model,
    server,
  };
}

/** This machine, which runs the load and the server of a MODEL. */
export function machineOf(): BenchMachine {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    node: process.version,
  };
}
