// What Spark names a column that has no alias: its expression as text. Importer's worker thread;
// pure.
import type { Sql, SqlType } from './ast.js';

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
  return type.name === 'decimal' ? `${name}(${type.precision},${type.scale})` : name;
}

export function sqlText(sql: Sql): string {
  switch (sql.kind) {
    case 'column':
      return sql.name;
    case 'literal':
      return sql.literal.type === undefined ? 'NULL' : sql.literal.text;
    case 'cast':
      return `CAST(${sqlText(sql.of)} AS ${typeText(sql.to)})`;
    default:
      return callText(sql.name, sql.args);
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
    case 'in':
      return `(${first} IN (${texts.slice(1).join(', ')}))`;
    case 'case':
      return caseText(texts);
    default:
      return `${name}(${texts.join(', ')})`;
  }
}

function caseText(texts: readonly string[]): string {
  const parts = ['CASE'];
  const whens = texts.length - (texts.length % 2);
  for (let i = 0; i < whens; i += 2) parts.push(`WHEN ${texts[i]} THEN ${texts[i + 1]}`);
  if (whens < texts.length) parts.push(`ELSE ${texts[whens]}`);
  return [...parts, 'END'].join(' ');
}
