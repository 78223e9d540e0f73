// What Spark names a column that has no alias: its expression as text. Importer's worker thread;
// pure.
import type { Sql, SqlLiteral, SqlType } from './ast.js';
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

/** The name of a column without AS. A cast of a column keeps the column's name. */
export function nameOf(sql: Sql): string {
  if (sql.kind === 'cast' && sql.of.kind === 'column') return sql.of.name;
  if (sql.kind === 'call' && sql.args.length === 1 && sql.args[0]?.kind === 'column') {
    if (typeOfName(sql.name.toUpperCase(), []) !== undefined) return sql.args[0].name;
  }
  return sqlText(sql);
}

function literalText({ type, text }: SqlLiteral): string {
  switch (type?.name) {
    case undefined:
      return 'NULL';
    case 'double':
    case 'float':
      return javaNumber(Number(text));
    case 'date':
      return `DATE '${text}'`;
    case 'timestamp':
      return `TIMESTAMP '${text}'`;
    default:
      return text;
  }
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

export function sqlText(sql: Sql): string {
  switch (sql.kind) {
    case 'column':
      return sql.name;
    case 'literal':
      return literalText(sql.literal);
    case 'cast':
      return `CAST(${sqlText(sql.of)} AS ${typeText(sql.to)})`;
    default:
      return sql.written === undefined
        ? callText(sql.name, sql.args)
        : functionText(sql.written, sql.args.map(sqlText));
  }
}

function callText(name: string, args: readonly Sql[]): string {
  const texts = args.map(sqlText);
  const [first = '', second = ''] = texts;
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
    case 'like':
      return `${first} LIKE ${second}`;
    case 'item':
      return `${first}[${second}]`;
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

// Those that Spark prints in upper case.
const UPPER_CASE = new Set(
  (
    'ceil floor sqrt cbrt exp expm1 log log10 log2 log1p power signum sin cos tan cot asin acos ' +
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

function functionText(name: string, texts: readonly string[]): string {
  const all = [...texts];
  if (name === 'log' && all.length === 1) all.unshift('E()');
  for (const text of (LEFT_OUT[name] ?? []).slice(all.length)) {
    if (text !== undefined) all.push(text);
  }
  const shown = name === 'dateadd' ? 'date_add' : name;
  return `${UPPER_CASE.has(name) ? name.toUpperCase() : shown}(${all.join(', ')})`;
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
