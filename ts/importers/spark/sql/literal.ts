// Constants and type names of SQL. Importer's worker thread; pure.
import { DECIMAL_PRECISION_MAX } from '../../../base/limits.js';
import type { Sql, SqlLiteral, SqlType, SqlTypeName } from './ast.js';
import { SqlFault, type Token } from './lexer.js';

export const NULL: SqlLiteral = { type: undefined, text: '' };

const plain = (name: SqlTypeName): SqlType => ({ name, precision: 0, scale: 0 });

export const typed = (text: string, name: SqlTypeName, at: number): Sql => ({
  kind: 'literal',
  literal: { type: plain(name), text },
  at,
});
export const textLiteral = (text: string, at: number): Sql => typed(text, 'string', at);

/** DATE 'text', TIMESTAMP 'text' and its like, by the word before. */
export function timeLiteral({ word, column }: Token, text: string): Sql {
  const type = plain(word === 'DATE' ? 'date' : 'timestamp');
  const literal = word === 'TIMESTAMP_NTZ' ? { type, text, zoneless: true } : { type, text };
  return { kind: 'literal', literal, at: column };
}

const NAMES: Readonly<Record<string, SqlTypeName>> = {
  BOOLEAN: 'boolean',
  TINYINT: 'tinyint',
  BYTE: 'tinyint',
  SMALLINT: 'smallint',
  SHORT: 'smallint',
  INT: 'int',
  INTEGER: 'int',
  BIGINT: 'bigint',
  LONG: 'bigint',
  FLOAT: 'float',
  REAL: 'float',
  DOUBLE: 'double',
  STRING: 'string',
  BINARY: 'binary',
  DATE: 'date',
  TIMESTAMP: 'timestamp',
  TIMESTAMP_LTZ: 'timestamp',
  TIMESTAMP_NTZ: 'timestamp',
};

/** undefined: no type of this subset. CHAR and VARCHAR are texts where values are cast to them. */
export function typeOfName(word: string, numbers: readonly number[]): SqlType | undefined {
  if (/^(DECIMAL|DEC|NUMERIC)$/.test(word)) {
    const [precision = 10, scale = 0] = numbers;
    const isFine =
      numbers.length <= 2 &&
      Number.isInteger(precision) &&
      Number.isInteger(scale) &&
      precision >= 1 &&
      precision <= DECIMAL_PRECISION_MAX &&
      scale >= 0 &&
      scale <= precision;
    return isFine ? { name: 'decimal', precision, scale } : undefined;
  }
  if (/^(VARCHAR|CHAR|CHARACTER)$/.test(word) && numbers.length === 1) return plain('string');
  if (numbers.length > 0) return undefined;
  const name = NAMES[word];
  return name === undefined ? undefined : plain(name);
}

const RANGES: Readonly<Record<string, readonly [SqlTypeName, bigint]>> = {
  y: ['tinyint', 2n ** 7n],
  s: ['smallint', 2n ** 15n],
  l: ['bigint', 2n ** 63n],
};

/** The smallest of INT, BIGINT and DECIMAL that has the number, or what its suffix says. */
export function integral(written: string, sign: '' | '-', at: number): Sql {
  const suffix = /[a-z]$/i.exec(written)?.[0].toLowerCase() ?? '';
  const digits = written.slice(0, written.length - suffix.length).replace(/^0+(?=\d)/, '');
  const value = BigInt(sign + digits);
  const ranges =
    suffix === ''
      ? ([
          ['int', 2n ** 31n],
          ['bigint', 2n ** 63n],
        ] as const)
      : [RANGES[suffix] ?? (['int', 0n] as const)];
  for (const [name, end] of ranges) {
    if (value >= -end && value < end) return typed(String(value), name, at);
  }
  if (suffix !== '') throw new SqlFault(at, `${sign}${written} is out of its type's range`);
  return decimal(sign + digits, digits.length, 0, at);
}

/** Without exponent a DECIMAL, with one a DOUBLE, or what its suffix says. */
export function fractional(written: string, sign: '' | '-', at: number): Sql {
  const suffix = /(?:bd|[dflsy])$/i.exec(written)?.[0].toLowerCase() ?? '';
  const text = sign + written.slice(0, written.length - suffix.length);
  if (/^[lsy]$/.test(suffix)) throw new SqlFault(at, `'${written}' is not a whole number`);
  if (suffix === 'd' || suffix === 'f') return typed(text, suffix === 'd' ? 'double' : 'float', at);
  const [mantissa = '', exponent] = text.toLowerCase().split('e');
  if (exponent !== undefined && suffix !== 'bd') return typed(text, 'double', at);
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.');
  const shift = Number(exponent ?? 0);
  const significant = (whole + fraction).replace(/^0+(?=\d)/, '');
  const scale = fraction.length - shift;
  if (scale < 0) {
    return decimal(
      sign + significant + '0'.repeat(Math.min(-scale, 99)),
      significant.length - scale,
      0,
      at,
    );
  }
  const padded = significant.padStart(scale + 1, '0');
  const point = padded.length - scale;
  const shownText = scale === 0 ? padded : `${padded.slice(0, point)}.${padded.slice(point)}`;
  return decimal(sign + shownText, Math.max(significant.length, scale), scale, at);
}

function decimal(text: string, precision: number, scale: number, at: number): Sql {
  if (precision > DECIMAL_PRECISION_MAX) {
    throw new SqlFault(at, `${text} has more than ${DECIMAL_PRECISION_MAX} digits`);
  }
  const type: SqlType = { name: 'decimal', precision: Math.max(precision, 1), scale };
  return { kind: 'literal', literal: { type, text }, at };
}
