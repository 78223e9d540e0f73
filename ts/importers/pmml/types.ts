// PMML's data types: how a plan keeps their values, and how their texts are read. Importer's worker
// thread; pure. Source: tabular.md 3.3
import { INT32_MAX } from '../../base/limits.js';
import type { Type, Value } from '../plan/generated/plan.js';
import { toNumber } from './arrays.js';

const DAY_MS = 86_400_000;

const PLAIN: Readonly<Record<string, Type>> = {
  string: 'string',
  integer: 'int32',
  float: 'float',
  double: 'double',
  boolean: 'bool',
  date: 'date',
  time: 'time',
  dateTime: 'timestamp',
  timeSeconds: 'int64',
};
const SINCE = /^(dateDaysSince|dateTimeSecondsSince)\[(1960|1970|1980|1990|2000|2010|2020)\]$/;

/** Older spellings of data types. */
const RENAMED: Readonly<Record<string, string>> = {
  int: 'integer',
  long: 'integer',
  real: 'double',
  number: 'double',
  bool: 'boolean',
  datetime: 'dateTime',
};

/**
 * Returns the current name of a data type: 'int' becomes 'integer', 'dateDaysSince1960' gets
 * brackets.
 */
export function normalDataType(said: string): string {
  const name = said.startsWith('x-') ? said.slice(2) : said; // JPMML's own years
  const since = /^(dateDaysSince|dateTimeSecondsSince)\[?(\d{4})\]?$/.exec(name);
  if (since !== null) return `${since[1]}[${since[2]}]`;
  return RENAMED[name] ?? name;
}

/** How a plan keeps values of a data type; undefined: not supported, such as dateDaysSince[0]. */
export function planType(dataType: string): Type | undefined {
  if (Object.hasOwn(PLAIN, dataType)) return PLAIN[dataType];
  return SINCE.test(dataType) ? 'int64' : undefined;
}

/**
 * The type in which requests send a field: a date, dateTime or time where PMML counts days or
 * seconds.
 */
export function requestType(dataType: string): Type | undefined {
  return planType(requestDataType(dataType));
}

/** The data type of a field's values in requests: see requestType. */
export function requestDataType(dataType: string): string {
  if (dataType.startsWith('dateDaysSince')) return 'date';
  if (dataType.startsWith('dateTimeSecondsSince')) return 'dateTime';
  return dataType === 'timeSeconds' ? 'time' : dataType;
}

/** Whether PMML counts the data type as a number. */
export function isNumeric(dataType: string): boolean {
  return dataType === 'integer' || dataType === 'float' || dataType === 'double';
}

function dateDays(text: string): number {
  const parts = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text);
  const [year, month, day] = (parts ?? []).slice(1).map(Number);
  if (year === undefined || month === undefined || day === undefined) {
    throw new RangeError(`${JSON.stringify(text)} is not a date (yyyy-mm-dd)`);
  }
  const ms = Date.UTC(year, month - 1, day);
  if (new Date(ms).toISOString().slice(0, 10) !== text) {
    throw new RangeError(`${JSON.stringify(text)} is not a calendar date`);
  }
  return ms / DAY_MS;
}

function timeSeconds(text: string): number {
  const parts = /^(\d{2}):(\d{2}):(\d{2})$/.exec(text);
  const [hours, minutes, seconds] = (parts ?? []).slice(1).map(Number);
  if (hours === undefined || minutes === undefined || seconds === undefined) {
    throw new RangeError(`${JSON.stringify(text)} is not a time (hh:mm:ss)`);
  }
  if (hours > 23 || minutes > 59 || seconds > 59) {
    throw new RangeError(`${JSON.stringify(text)} is not a time of day`);
  }
  return hours * 3600 + minutes * 60 + seconds;
}

function dateTimeSeconds(text: string): number {
  const [date, time] = text.split(/[T ]/);
  return dateDays(date ?? '') * 86_400 + timeSeconds(time ?? '');
}

function since(dataType: string): { readonly kind: string; readonly days: number } {
  const parts = SINCE.exec(dataType);
  return { kind: parts?.[1] ?? '', days: dateDays(`${parts?.[2] ?? '1970'}-01-01`) };
}

function integerOf(text: string): number {
  const value = toNumber(text, 'integer');
  if (!Number.isInteger(value)) throw new RangeError(`${JSON.stringify(text)} is not an integer`);
  if (Math.abs(value) > Number.MAX_SAFE_INTEGER) throw new RangeError(`${text} is too large`);
  return value;
}

function booleanOf(text: string): boolean {
  const lower = text.trim().toLowerCase();
  if (lower === 'true' || lower === '1' || lower === '1.0') return true;
  if (lower === 'false' || lower === '0' || lower === '0.0') return false;
  throw new RangeError(`${JSON.stringify(text)} is neither true nor false`);
}

/** A text as a value of a data type. Errors: RangeError if the text is not a value of the type. */
export function parseValue(text: string, dataType: string): Value {
  const type = planType(dataType);
  switch (dataType) {
    case 'string':
      return { type: 'string', text };
    case 'integer': {
      const value = integerOf(text);
      return { type: Math.abs(value) > INT32_MAX ? 'int64' : 'int32', integer: value };
    }
    case 'float':
      // Adding 0 turns -0 into 0, as JPMML-Evaluator reads it.
      return { type: 'float', real: Math.fround(toNumber(text, 'float')) + 0 };
    case 'double':
      return { type: 'double', real: toNumber(text, 'double') + 0 };
    case 'boolean':
      return { type: 'bool', integer: booleanOf(text) ? 1 : 0 };
    case 'date':
      return { type: 'date', integer: dateDays(text.trim()) };
    case 'time':
      return { type: 'time', integer: timeSeconds(text.trim()) };
    case 'dateTime':
      return { type: 'timestamp', integer: BigInt(dateTimeSeconds(text.trim())) * 1_000_000n };
    case 'timeSeconds':
      return { type: 'int64', integer: timeSeconds(text.trim()) };
    default:
  }
  if (type === undefined) throw new RangeError(`data type ${dataType} is not supported`);
  const { kind, days } = since(dataType);
  const value = kind === 'dateDaysSince' ? dateDays(text.trim()) - days : Number.NaN;
  return {
    type: 'int64',
    integer: Number.isNaN(value) ? dateTimeSeconds(text.trim()) - days * 86_400 : value,
  };
}

/** A value that is missing. */
export function missingValue(dataType: string): Value {
  return { type: planType(dataType) ?? 'double', missing: true };
}

/** The data type of a Constant without a dataType attribute, judged by its text. */
export function constantDataType(text: string): string {
  if (/^[+-]?\d+$/.test(text.trim())) return 'integer';
  if (/^[+-]?(\d+\.\d*|\.\d+)([eE][+-]?\d+)?$/.test(text.trim())) return 'double';
  return 'string';
}

/** The result type of an operation on two numeric data types. */
export function commonDataType(left: string, right: string): string {
  if (left === right) return left;
  for (const wider of ['double', 'float', 'integer']) {
    if (left === wider || right === wider) return wider;
  }
  return left;
}
