// Trace settings of all models and of single ones, as Triton keeps and returns them: a model uses
// its own settings, then those of all models; the latter can be reset to the values from startup.
// Control plane, main thread; pure. Source: Triton's extension_trace.md; server/src/tracer.cc,
// http_server.cc.
import {
  NO_TENSORS_IN_SPANS,
  type TraceConfig,
  type TraceLevel,
  type TraceValues,
} from '../../../config/observation/tracing.js';
import { ErrorCode, ServalError, invalidArgument } from '../../../base/errors.js';
import type { TraceRule } from '../../../base/generated/engine.js';
import { echo } from '../../../base/text.js';
import type { TraceSettings as TraceAnswer } from '../../../protocols/control.js';

export type { TraceAnswer };

/** A change: new values; null = no longer set. */
type Change = { readonly [Name in keyof TraceValues]?: TraceValues[Name] | null };
type Given = { readonly [Name in keyof TraceValues]?: TraceValues[Name] };

const RATE_MAX = 4_294_967_295;
const COUNT_MAX = 2_147_483_647;
const COUNT_MIN = -1;
const NAMES = 'trace_level, trace_rate, trace_count, log_frequency';

/** The engine's sampling rule, and the level as Triton writes it. */
const ruleOf = (model: string, { levels, rate, count }: TraceValues): TraceRule => ({
  model,
  own: true,
  on: levels.length > 0,
  rate,
  count,
  tensors: levels.includes('TENSORS'),
});

export class TraceSettings {
  readonly #start: TraceConfig;
  #all: Given = {};
  readonly #models = new Map<string, Given>();

  constructor(start: TraceConfig) {
    this.#start = start;
  }

  /** Settings of a model; "" = of all. */
  values(model: string): TraceValues {
    const given = this.#models.get(model);
    const { levels, rate, count, logFrequency } = this.#start;
    return { levels, rate, count, logFrequency, ...this.#all, ...given };
  }

  /** Whether any model may be traced. */
  get on(): boolean {
    return [...['', ...this.#models.keys()]].some((model) => this.values(model).levels.length > 0);
  }

  /** Rules for each model with separate settings, and ("") for all others. */
  rules(): TraceRule[] {
    return ['', ...this.#models.keys()].map((model) => ruleOf(model, this.values(model)));
  }

  /** The response for clients. `left`: the remaining count. */
  answer(model: string, left: number): TraceAnswer {
    const { levels, rate, logFrequency } = this.values(model);
    const { mode, file, otlp, options } = this.#start;
    const isFile = mode === 'triton';
    return {
      trace_level: levels.length > 0 ? levels : ['OFF'],
      trace_rate: String(rate),
      trace_count: String(left),
      ...(isFile && { log_frequency: String(logFrequency), trace_file: file }),
      trace_mode: isFile ? 'triton' : 'opentelemetry',
      ...(isFile ? {} : { ...options, url: otlp.url }),
    };
  }

  /**
   * Changes settings of a model; "" = of all. `left`: a model's remaining count, which continues
   * unless the change sets it. Returns the changed rules for the engine; applies the whole change
   * or nothing. Errors: InvalidArgument, Unimplemented (trace_file).
   */
  update(
    model: string,
    change: Readonly<Record<string, unknown>>,
    left: (model: string) => number,
  ): TraceRule[] {
    const changed = readChange(change);
    if (Object.keys(changed).length === 0) return [];
    const current = model === '' ? this.#all : (this.#models.get(model) ?? {});
    const after = applied(current, changed, left(model));
    const kept = { all: this.#all, one: this.#models.get(model) };
    if (model === '') this.#all = after;
    else if (Object.keys(after).length === 0) this.#models.delete(model);
    else this.#models.set(model, after);
    const values = this.values(model);
    const problem = problemOf(values, this.#start);
    if (problem !== undefined) {
      this.#all = kept.all;
      if (model !== '' && kept.one === undefined) this.#models.delete(model);
      else if (kept.one !== undefined) this.#models.set(model, kept.one);
      throw invalidArgument(`Attempting to set invalid trace setting :${problem}`);
    }
    if (model !== '' && !this.#models.has(model)) {
      return [{ ...ruleOf(model, values), own: false }];
    }
    // Models that use some of the global settings are updated too.
    const models = model === '' ? ['', ...this.#models.keys()] : [model];
    return models.map((one) => {
      const { count } = (one === '' ? this.#all : this.#models.get(one)) ?? {};
      const own = one === model || count === undefined ? this.values(one).count : left(one);
      return { ...ruleOf(one, this.values(one)), count: own };
    });
  }
}

/** Why the mode cannot write such traces. */
function problemOf({ levels }: TraceValues, { mode, file }: TraceConfig): string | undefined {
  if (levels.length === 0) return undefined;
  if (mode === 'triton') return file === '' ? 'trace file name is not given' : undefined;
  return levels.includes('TENSORS') ? NO_TENSORS_IN_SPANS : undefined;
}

function applied(current: Given, change: Change, left: number): Given {
  const kept = current.count === undefined ? current : { ...current, count: left };
  const entries = Object.entries({ ...kept, ...change }).filter(([, value]) => value !== null);
  return Object.fromEntries(entries) as Given;
}

/** Errors: InvalidArgument naming the setting; Unimplemented. */
function readChange(change: Readonly<Record<string, unknown>>): Change {
  const read: { -readonly [Name in keyof Change]: Change[Name] } = {};
  for (const [name, value] of Object.entries(change)) {
    const isCleared = value === null || (Array.isArray(value) && value.length === 0);
    switch (name) {
      case 'trace_level':
        read.levels = isCleared ? null : levelsValue(value);
        break;
      case 'trace_rate':
        read.rate = isCleared ? null : numberValue(name, value, 0, RATE_MAX);
        break;
      case 'trace_count':
        read.count = isCleared ? null : numberValue(name, value, COUNT_MIN, COUNT_MAX);
        break;
      case 'log_frequency':
        read.logFrequency = isCleared ? null : numberValue(name, value, 0, RATE_MAX);
        break;
      case 'trace_file':
        throw new ServalError(
          ErrorCode.Unimplemented,
          'trace file location can not be updated through network protocol',
        );
      default:
        throw invalidArgument(`trace setting ${echo(name)}: expected one of ${NAMES}`);
    }
  }
  return read;
}

function levelsValue(value: unknown): readonly TraceLevel[] {
  const words: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (words.includes('OFF') && words.length > 1) {
    throw invalidArgument("Expect only one trace level 'OFF' is specified");
  }
  const levels = new Set<TraceLevel>();
  for (const word of words) {
    if (word === 'TIMESTAMPS' || word === 'TENSORS') levels.add(word);
    else if (word !== 'OFF') {
      throw invalidArgument(`trace_level: expected OFF, TIMESTAMPS or TENSORS, got ${shown(word)}`);
    }
  }
  return [...levels];
}

function numberValue(name: string, value: unknown, least: number, most: number): number {
  const one: unknown = Array.isArray(value) ? value[0] : value;
  if (Array.isArray(value) && value.length > 1) {
    throw invalidArgument(`expect only 1 value for '${name}'`);
  }
  const text = typeof one === 'number' ? String(one) : one;
  if (typeof text !== 'string' || !/^-?\d{1,15}$/.test(text)) {
    throw invalidArgument(`Unable to parse '${name}', got: ${shown(one)}`);
  }
  const number = Number(text);
  if (number >= least && number <= most) return number;
  throw invalidArgument(
    `Unable to parse '${name}', value is out of range [ ${least}, ${most} ], got: ${shown(one)}`,
  );
}

const shown = (value: unknown): string =>
  echo(typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing'));
