// Parses and checks the flags of `serval bench`. Control plane.
import { headerOf } from '../header-flag.js';
import { resolve } from 'node:path';
import type { ParsedFlags } from '../../config/command-line.js';
import type { FlagRow } from '../../config/values/flag-row.js';
import {
  boolValue,
  choiceValue,
  configError,
  intValue,
  textValue,
  type Written,
} from '../../config/values/values.js';
import {
  BENCH_CONCURRENCY_MAX,
  BENCH_POINTS_MAX,
  BENCH_RATE_MAX,
  BENCH_SECONDS_MAX,
} from '../../base/limits.js';
import { echo, meant } from '../../base/text.js';
import {
  ARRIVALS,
  BATCH,
  CONCURRENCY,
  HANDED_ON,
  HTTP2,
  LOAD_THREADS,
  PATHS,
  RATE,
  SECONDS,
  SEED,
  WARMUP,
} from './flags.js';
import type { MeasureOptions } from './measure.js';
import { ALL_PATHS, USUAL_PATHS } from './paths.js';
import { readCa } from './endpoint/endpoint.js';
import type { BenchPath } from './types.js';

const BATCH_MAX = 1_000_000;
const SECONDS_MIN = 0.05;

/** Requests per second, or a fraction (0.6) of the rate of closed loops. */
export type RateOption =
  | { readonly kind: 'absolute'; readonly perSecond: number }
  | { readonly kind: 'part'; readonly part: number };

export interface SweepOptions {
  /** undefined: all that the target supports. */
  readonly paths: readonly BenchPath[] | undefined;
  readonly concurrency: readonly number[];
  readonly rates: readonly RateOption[];
  readonly batches: readonly number[];
  /** Whether --batch was given: otherwise a model without rows is measured without batches. */
  readonly batchGiven: boolean;
  readonly seconds: number;
  readonly warmupSeconds: number;
}

/** Target and settings from the flags. Errors: InvalidArgument. */
export function measureOptions(target: string, { settings }: ParsedFlags): MeasureOptions {
  const list = (name: string): readonly string[] => settings.get(name)?.texts ?? [];
  const text = (name: string): string | undefined => {
    const written = settings.get(name);
    return written && textValue(written);
  };
  const ca = settings.get('tls-ca');
  const handedOn = new Set(HANDED_ON.map((row) => row.name));
  return {
    target,
    model: text('model'),
    version: text('model-version'),
    headers: Object.fromEntries(list('header').map(headerOf)),
    tlsCa: ca === undefined ? '' : readCa(resolve(ca.folder, textValue(ca))),
    settings: new Map([...settings].filter(([name]) => handedOn.has(name))),
    signature: text('signature'),
    isHttp2: boolValue(given(settings, HTTP2)),
    paths: sweepPaths(settings),
    inputs: list('input'),
    shapes: list('shape'),
    seed: intValue(SEED, given(settings, SEED)),
    threads: intValue(LOAD_THREADS, given(settings, LOAD_THREADS)),
    arrivals: choiceValue(['poisson', 'constant'], given(settings, ARRIVALS)),
  };
}

/** The measurements, from the flags. Errors: InvalidArgument. */
export function sweepOptions({ settings }: ParsedFlags): SweepOptions {
  const sweep: SweepOptions = {
    paths: sweepPaths(settings),
    concurrency: numbers(given(settings, CONCURRENCY), BENCH_CONCURRENCY_MAX),
    rates: rates(given(settings, RATE)),
    batches: numbers(given(settings, BATCH), BATCH_MAX),
    batchGiven: settings.has(BATCH.name),
    seconds: seconds(given(settings, SECONDS), SECONDS_MIN),
    warmupSeconds: seconds(given(settings, WARMUP), 0),
  };
  const points =
    (sweep.paths ?? USUAL_PATHS).length *
    sweep.batches.length *
    (sweep.concurrency.length + sweep.rates.length);
  if (points > BENCH_POINTS_MAX) {
    throw configError('bench', `expected at most ${BENCH_POINTS_MAX} measurements, got ${points}`);
  }
  return sweep;
}

const given = (settings: ParsedFlags['settings'], row: FlagRow): Written =>
  settings.get(row.name) ?? { where: `--${row.name}`, texts: [row.default], folder: '' };

const itemsOf = (written: Written): readonly string[] =>
  textValue(written)
    .split(',')
    .map((text) => text.trim());

function sweepPaths(settings: ParsedFlags['settings']): readonly BenchPath[] | undefined {
  const written = settings.get(PATHS.name);
  if (written === undefined) return undefined;
  const paths = itemsOf(written).map((text) => {
    const path = ALL_PATHS.find((one) => one === text);
    if (path !== undefined) return path;
    const expected = `expected ${ALL_PATHS.join(', ')}, got ${echo(text)}`;
    throw configError(written.where, `${expected}${meant(text, ALL_PATHS)}`);
  });
  return [...new Set(paths)];
}

function numbers(written: Written, max: number): readonly number[] {
  const values = itemsOf(written).map((text) => {
    const value = Number(text);
    if (/^\d{1,9}$/.test(text) && value >= 1 && value <= max) return value;
    const expected = `expected whole numbers from 1 to ${max}, separated by commas`;
    throw configError(written.where, `${expected}, got ${echo(text)}`);
  });
  return [...new Set(values)];
}

function rates(written: Written): readonly RateOption[] {
  const texts = itemsOf(written);
  if (texts.length === 1 && texts[0] === 'none') return [];
  return texts.map((text): RateOption => {
    const [, digits = '', percent = ''] = /^(\d{1,9}(?:\.\d{1,6})?)(%?)$/.exec(text) ?? [];
    const value = Number(digits);
    if (digits !== '' && value > 0) {
      if (percent !== '' && value <= 1000) return { kind: 'part', part: value / 100 };
      if (percent === '' && value <= BENCH_RATE_MAX) return { kind: 'absolute', perSecond: value };
    }
    const expected = `expected requests per second (up to ${BENCH_RATE_MAX}), percentages such as 60%, or none`;
    throw configError(written.where, `${expected}, got ${echo(text)}`);
  });
}

function seconds(written: Written, min: number): number {
  const text = textValue(written);
  const value = Number(text);
  if (/^\d{1,5}(?:\.\d{1,6})?$/.test(text) && value >= min && value <= BENCH_SECONDS_MAX) {
    return value;
  }
  const expected = `expected seconds from ${min} to ${BENCH_SECONDS_MAX}`;
  throw configError(written.where, `${expected}, got ${echo(text)}`);
}
