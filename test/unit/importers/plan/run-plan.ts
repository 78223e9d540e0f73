// Runs plans in C++ (test/native/tabular/run/tabular_run.cc) without a server, for tests of
// importers. The program is built on first use; SERVAL_TABULAR_RUN names another one.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodePlan } from '../../../../ts/importers/plan/builder.js';
import type { Plan, Type } from '../../../../ts/importers/plan/generated/plan.js';

/**
 * A request's column for a field whose type the plan leaves open, or that needs more information.
 */
export interface GivenColumn {
  readonly type?: Type;
  readonly element?: Type;
  readonly precision?: number;
  readonly scale?: number;
  readonly values: readonly unknown[];
}

export interface RunOptions {
  /** A row that a stage refuses is returned as missing and listed in `refused`. */
  readonly nullForInvalid?: boolean;
  /** The number of rows if `columns` is empty. */
  readonly rows?: number;
  /** Only these outputs; a lazy plan computes only what they need. */
  readonly outputs?: readonly string[];
}

export interface RunAnswer {
  /** By output: null if a value is missing. For Decimals and Dates see `values`. */
  readonly columns: Readonly<Record<string, readonly unknown[]>>;
  /** By output: the column's actual type. */
  readonly types: Readonly<Record<string, { type: string; element: string; scale: number }>>;
  readonly refused: readonly number[];
}

interface Printed {
  readonly error?: string;
  readonly code?: string;
  readonly outputs: readonly {
    readonly name: string;
    readonly type: string;
    readonly element: string;
    readonly scale: number;
    readonly values: readonly unknown[];
  }[];
  readonly refused: readonly number[];
}

/** The engine's error about the plan, or about a row. */
export class PlanError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

const BUILD = join(process.cwd(), 'build', 'native-plain');
let built: string | undefined;

// Tests run in parallel, so one builds and the others wait. Configured as in test/native/run.mjs.
function program(): string {
  const given = process.env['SERVAL_TABULAR_RUN'];
  if (given !== undefined) return given;
  if (built !== undefined) return built;
  mkdirSync(BUILD, { recursive: true });
  const script = join(process.cwd(), 'test', 'native', 'tabular', 'run', 'build.mjs');
  const lock = join(BUILD, '.tabular-run.lock');
  const { status, stdout, stderr } = spawnSync('flock', [lock, process.execPath, script], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`tabular_run was not built:\n${stdout}${stderr}`);
  built = join(BUILD, 'tabular_run');
  return built;
}

const MICROS_OF_DAY = 86_400_000_000n;

/** Days since 1970 of "2024-02-29". */
export function days(date: string): number {
  return Date.parse(`${date}T00:00:00Z`) / 86_400_000;
}

/** Microseconds since 1970 of "2024-02-29 12:34:56.000001", as text: exact. */
export function micros(timestamp: string): string {
  const [date = '', time = ''] = timestamp.split(/[ T]/);
  const [hours = '0', minutes = '0', seconds = '0'] = time.split(':');
  const [whole = '0', fraction = ''] = seconds.split('.');
  const clock = BigInt(hours) * 3600n + BigInt(minutes) * 60n + BigInt(whole);
  const part = BigInt(fraction.padEnd(6, '0').slice(0, 6));
  return String(BigInt(days(date)) * MICROS_OF_DAY + clock * 1_000_000n + part);
}

const capital = (type: string): string => `${type[0]?.toUpperCase()}${type.slice(1)}`;

/** NaN and infinities are strings in JSON, as are bigints; undefined is null. */
function plain(value: unknown): unknown {
  if (value === undefined) return null;
  if (typeof value === 'bigint') return value.toString();
  if (Object.is(value, -0)) return '-0.0';
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
  if (Array.isArray(value) || ArrayBuffer.isView(value)) {
    return Array.from(value as unknown as ArrayLike<unknown>, plain);
  }
  return value;
}

const NUMBERS: Readonly<Record<string, number>> = {
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  '-Infinity': Number.NEGATIVE_INFINITY,
};

function numbersOf(value: unknown, real: boolean): unknown {
  if (Array.isArray(value)) return value.map((one) => numbersOf(one, real));
  return real && typeof value === 'string' ? NUMBERS[value] : value;
}

function given(column: readonly unknown[] | GivenColumn): Record<string, unknown> {
  if (!('values' in column) || Array.isArray(column)) {
    return { values: (column as readonly unknown[]).map(plain) };
  }
  const { type, element, precision, scale, values } = column as GivenColumn;
  return {
    ...(type === undefined ? {} : { type: capital(type) }),
    ...(element === undefined ? {} : { element: capital(element) }),
    ...(precision === undefined ? {} : { precision }),
    ...(scale === undefined ? {} : { scale }),
    values: values.map(plain),
  };
}

/**
 * Returns all outputs whose fields are given, including extra ones, or those of `outputs`. A value
 * is a number (integers beyond 2^53: text), a string, or an array for a Vector or List; Bool is 0
 * or 1, Date a number of days, Timestamp of microseconds (see days() and micros()), Decimal the
 * unscaled integer's text. Errors: PlanError with the engine's code and text, about the plan or a
 * row.
 */
export function runPlan(
  plan: Plan,
  columns: Readonly<Record<string, readonly unknown[] | GivenColumn>>,
  { nullForInvalid = false, rows, outputs }: RunOptions = {},
): RunAnswer {
  const folder = mkdtempSync(join(tmpdir(), 'serval-plan-'));
  try {
    const path = join(folder, 'plan');
    writeFileSync(path, encodePlan(plan));
    const named = Object.entries(columns).map(([name, column]) => [name, given(column)] as const);
    const first = named[0]?.[1]['values'] as readonly unknown[] | undefined;
    const request = {
      rows: rows ?? first?.length ?? 0,
      null_for_invalid: nullForInvalid,
      ...(outputs === undefined ? {} : { outputs }),
      columns: Object.fromEntries(named),
    };
    const { status, stdout, stderr } = spawnSync(program(), [path], {
      input: JSON.stringify(request),
      encoding: 'utf8',
      maxBuffer: 1 << 30,
    });
    if (status !== 0) throw new Error(stderr || `tabular_run ended with ${status}`);
    return answerOf(JSON.parse(stdout) as Printed);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function answerOf({ error, code, outputs, refused }: Printed): RunAnswer {
  if (error !== undefined) throw new PlanError(code ?? '', error);
  const isReal = ({ type, element }: { type: string; element: string }) =>
    ['Float', 'Double', 'Vector'].includes(type === 'List' ? element : type);
  return {
    columns: Object.fromEntries(
      outputs.map((one) => [one.name, one.values.map((value) => numbersOf(value, isReal(one)))]),
    ),
    types: Object.fromEntries(
      outputs.map(({ name, type, element, scale }) => [name, { type, element, scale }]),
    ),
    refused,
  };
}
