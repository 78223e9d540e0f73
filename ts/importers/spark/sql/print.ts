// Spark's name for a column without an alias: its expression as text. Importer's worker thread;
// pure.
import type { Sql, SqlLiteral, SqlType } from './ast.js';
import { SQL_ALIASES, SQL_FUNCTIONS } from './functions.js';
import { typeOfName } from './literal.js';

const BINARY: Readonly<Record<string, string>> = {
  add: '+',
  subtract: '-',
  multiply: '*',
  divide: '/',
  mod: '%',
  div: 'div',
  bit_and: '&',
  bit_or: '|',
  bit_xor: '^',
  shiftleft: '<<',
  shiftright: '>>',
  shiftrightunsigned: '>>>',
  equal: '=',
  null_safe_equal: '<=>',
  less: '<',
  less_equal: '<=',
  greater: '>',
  greater_equal: '>=',
  and: 'AND',
  or: 'OR',
};

export function typeText(type: SqlType): string {
  const name = type.name.toUpperCase();
  if (type.parts !== undefined) {
    return `${name}<${type.parts.map(typeText).join(type.name === 'map' ? ', ' : ',')}>`;
  }
  return type.name === 'decimal' ? `${name}(${type.precision},${type.scale})` : name;
}

/** Everything that names depend on. */
export interface Naming {
  /** The version of Spark that gives the names. */
  readonly major: number;
  /** Whether a column has dates: + and - are functions then. */
  isDate(column: string): boolean;
}

/** The name of a column without AS. A cast of a column keeps the column's name. */
export function nameOf(sql: Sql, naming: Naming): string {
  const isTry = sql.kind === 'call' && sql.name === 'try_cast';
  const cast = isTry ? sql.args[0] : sql;
  if (cast?.kind === 'cast' && cast.of.kind === 'column') return cast.of.name;
  return sqlText(sql, naming);
}

/** Calls with the type of their arguments. */
const ANY_DATE = /^(add|subtract|coalesce|nvl|nvl2|ifnull|if|case|greatest|least)$/;

function isDate(sql: Sql | undefined, naming: Naming): boolean {
  if (sql === undefined) return false;
  switch (sql.kind) {
    case 'column':
      return naming.isDate(sql.name);
    case 'literal':
      return sql.literal.type?.name === 'date';
    case 'cast':
      return sql.to.name === 'date';
    default:
      if (sql.name === 'date') return true;
      if (ANY_DATE.test(sql.name)) return sql.args.some((each) => isDate(each, naming));
      return SQL_FUNCTIONS.get(SQL_ALIASES[sql.name] ?? sql.name)?.result === 'date';
  }
}

function literalText({ type, text, zoneless }: SqlLiteral): string {
  switch (type?.name) {
    case undefined:
      return 'NULL';
    case 'double':
    case 'float':
      return javaNumber(Number(text));
    case 'date':
      return `DATE '${dateText(text)}'`;
    case 'timestamp':
      return `${zoneless === true ? 'TIMESTAMP_NTZ' : 'TIMESTAMP'} '${timestampText(text)}'`;
    default:
      return text;
  }
}

const TIME =
  /^(?<date>[^T ]+)(?:[T ](?<hour>\d\d?)(?::(?<minute>\d\d?)(?::(?<second>\d\d?)(?<rest>\.\d+)?)?)?)?$/;

/** With two digits of month and day, as Spark shows dates. */
function dateText(text: string): string {
  const [year = '', month = '1', day = '1'] = text.trim().split('-');
  const isPlain = [year, month, day].every((part) => /^\d+$/.test(part));
  return isPlain ? `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}` : text;
}

function timestampText(text: string): string {
  const parts = TIME.exec(text.trim())?.groups;
  if (parts === undefined) return text;
  const { date = '', hour = '0', minute = '0', second = '0', rest = '' } = parts;
  const clock = [hour, minute, second].map((part) => part.padStart(2, '0')).join(':');
  return `${dateText(date)} ${clock}${rest.replace(/\.?0+$/, '')}`;
}

/** Double.toString(). */
function javaNumber(value: number): string {
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e7 || size < 1e-3)) {
    const [mantissa = '', exponent = ''] = value.toExponential().split('e');
    const whole = mantissa.includes('.') ? mantissa : `${mantissa}.0`;
    return `${whole}E${exponent.replace('+', '')}`;
  }
  return Number.isInteger(value) ? `${value}.0` : String(value);
}

export function sqlText(sql: Sql, naming: Naming): string {
  switch (sql.kind) {
    case 'column':
      return sql.name;
    case 'literal':
      return literalText(sql.literal);
    case 'cast':
      return `CAST(${sqlText(sql.of, naming)} AS ${typeText(sql.to)})`;
    default: {
      const texts = sql.args.map((arg) => sqlText(arg, naming));
      return sql.written === undefined
        ? callText(sql, texts, naming)
        : functionText(sql.written, texts);
    }
  }
}

type Call = Extract<Sql, { kind: 'call' }>;

function callText({ name, args }: Call, texts: readonly string[], naming: Naming): string {
  const { major } = naming;
  const [first = '', second = ''] = texts;
  if ((name === 'add' || name === 'subtract') && args.length === 2) {
    const shown = name === 'add' ? 'date_add' : 'date_sub';
    if (isDate(args[0], naming) && !isDate(args[1], naming)) return `${shown}(${first}, ${second})`;
    if (name === 'add' && isDate(args[1], naming)) return `${shown}(${second}, ${first})`;
  }
  const operator = BINARY[name];
  if (operator !== undefined && args.length === 2) return `(${first} ${operator} ${second})`;
  switch (name) {
    case 'not':
      return `(NOT ${first})`;
    case 'not_equal':
      return `(NOT (${first} = ${second}))`;
    case 'isnull':
      return `(${first} IS NULL)`;
    case 'isnotnull':
      return `(${first} IS NOT NULL)`;
    case 'negative':
      return `(- ${first})`;
    case 'positive':
      return `(+ ${first})`;
    case 'bit_not':
      return `~${first}`;
    case 'if':
      return `(IF(${texts.join(', ')}))`;
    case 'between':
      return major < 4
        ? `((${first} >= ${second}) AND (${first} <= ${texts[2]}))`
        : `between(${texts.join(', ')})`;
    case 'like':
      return `${first} LIKE ${second}${escapeText(args[2], major)}`;
    case 'ilike':
      return `ilike(${first}, ${second})`;
    case 'try_cast':
      return `TRY_${first}`;
    case 'item':
      return `${first}[${second}]`;
    case 'extract':
      return `extract(${first} FROM ${second})`;
    case 'interval_literal':
      return intervalText(texts);
    case 'in':
      return `(${first} IN (${texts.slice(1).join(', ')}))`;
    case 'case':
      return caseText(texts);
    default:
      return functionText(name, texts);
  }
}

/** Spark 4 names an escape character that is not the usual one. */
function escapeText(escape: Sql | undefined, major: number): string {
  if (major < 4 || escape?.kind !== 'literal' || escape.literal.text === '\\') return '';
  return ` ESCAPE '${escape.literal.text}'`;
}

// Those that Spark prints in upper case.
const UPPER_CASE = new Set(
  (
    'ceil floor sec csc sqrt cbrt exp expm1 log log10 log2 log1p power signum sin cos tan cot asin acos ' +
    'atan atan2 sinh cosh tanh asinh acosh atanh hypot degrees radians pi e rlike regexp regexp_like'
  ).split(' '),
);
// Arguments that Spark prints where they are left out: from how many arguments on.
const SECONDS = 'yyyy-MM-dd HH:mm:ss';
const LEFT_OUT: Readonly<Record<string, readonly (string | undefined)[]>> = {
  round: [undefined, '0'],
  bround: [undefined, '0'],
  substring: [undefined, undefined, '2147483647'],
  substr: [undefined, undefined, '2147483647'],
  lpad: [undefined, undefined, ' '],
  rpad: [undefined, undefined, ' '],
  replace: [undefined, undefined, ''],
  regexp_replace: [undefined, undefined, undefined, '1'],
  regexp_extract: [undefined, undefined, '1'],
  split: [undefined, undefined, '-1'],
  locate: [undefined, undefined, '1'],
  position: [undefined, undefined, '1'],
  months_between: [undefined, undefined, 'true'],
  unix_timestamp: [undefined, SECONDS],
  to_unix_timestamp: [undefined, SECONDS],
  from_unixtime: [undefined, SECONDS],
};

/** By their functions, which have the text first. */
const TRIMS: Readonly<Record<string, string>> = {
  trim: 'BOTH',
  ltrim: 'LEADING',
  rtrim: 'TRAILING',
};

function functionText(name: string, texts: readonly string[]): string {
  const all = [...texts];
  const [first = '', second = ''] = all;
  // A type's name as a function: a cast, which is not shown.
  if (all.length === 1 && typeOfName(name.toUpperCase(), []) !== undefined) return first;
  const side = TRIMS[name];
  if (side !== undefined && all.length === 2) return `TRIM(${side} ${second} FROM ${first})`;
  if (name === 'datepart') return `datepart(${first} FROM ${second})`;
  if (name === 'log' && all.length === 1) all.unshift('E()');
  for (const text of (LEFT_OUT[name] ?? []).slice(all.length)) {
    if (text !== undefined) all.push(text);
  }
  const shown = name === 'dateadd' ? 'date_add' : name;
  const isUpper = UPPER_CASE.has(name) && !(all.length === 2 && /^(ceil|floor)$/.test(name));
  return `${isUpper ? name.toUpperCase() : shown}(${all.join(', ')})`;
}

function caseText(texts: readonly string[]): string {
  const parts = ['CASE'];
  const whens = texts.length - (texts.length % 2);
  for (let i = 0; i < whens; i += 2) parts.push(`WHEN ${texts[i]} THEN ${texts[i + 1]}`);
  if (whens < texts.length) parts.push(`ELSE ${texts[whens]}`);
  return [...parts, 'END'].join(' ');
}

/** Months, micros, the first and the last unit as Spark writes them: INTERVAL '1' DAY. */
function intervalText([months = '0', micros = '0', first = '', last = '']: readonly string[]) {
  const isMonths = first === 'year' || first === 'month';
  const amount = BigInt(isMonths ? months : micros);
  const sign = amount < 0n ? '-' : '';
  let left = amount < 0n ? -amount : amount;
  let text = '';
  let from = false;
  for (const [unit, size, before] of isMonths ? MONTH_SIZES : TIME_SIZES) {
    const isFirst = unit === first;
    from ||= isFirst;
    if (!from) continue;
    const count = left / size;
    left %= size;
    const digits =
      isMonths || (isFirst && unit === 'day') ? String(count) : String(count).padStart(2, '0');
    text += (isFirst ? '' : before) + digits;
    if (unit === 'second' && left > 0n) {
      text += `.${String(left).padStart(6, '0').replace(/0+$/, '')}`;
    }
    if (unit === last) break;
  }
  const units = first === last ? first : `${first} to ${last}`;
  return `INTERVAL '${sign}${text}' ${units.toUpperCase()}`;
}

const MONTH_SIZES = [
  ['year', 12n, ''],
  ['month', 1n, '-'],
] as const;
const TIME_SIZES = [
  ['day', 86_400_000_000n, ''],
  ['hour', 3_600_000_000n, ' '],
  ['minute', 60_000_000n, ':'],
  ['second', 1_000_000n, ':'],
] as const;
