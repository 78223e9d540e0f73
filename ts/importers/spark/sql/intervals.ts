// INTERVAL literals: INTERVAL 2 DAYS, INTERVAL '1-2' YEAR TO MONTH, INTERVAL '1 day 2 hours'.
// Importer's worker thread; pure.
// Source: Spark's SqlBaseParser and IntervalUtils.
import { call, type Sql } from './ast.js';
import { SqlFault, type Token } from './lexer.js';
import { textLiteral, typed } from './literal.js';
import type { TokenReader } from './token-reader.js';

const MONTH_UNITS = ['year', 'month'];
const TIME_UNITS = ['day', 'hour', 'minute', 'second'];
const MICROS: Readonly<Record<string, bigint>> = {
  week: 604_800_000_000n,
  day: 86_400_000_000n,
  hour: 3_600_000_000n,
  minute: 60_000_000n,
  second: 1_000_000n,
  millisecond: 1000n,
  microsecond: 1n,
};
const INT_MAX = 2n ** 31n;
const LONG_MAX = 2n ** 63n;

/** "days" -> "day"; undefined where it is no unit. */
function unitOf(word: string): string | undefined {
  const unit = word.toLowerCase().replace(/s$/, '');
  return MONTH_UNITS.includes(unit) || MICROS[unit] !== undefined ? unit : undefined;
}

/** Whether an interval follows the word INTERVAL, which may be a column's name. */
export function isInterval(words: TokenReader): boolean {
  const [next, after] = [words.peek(), words.peek(1)];
  if (next.kind === 'text' || next.kind === 'number') return true;
  return /^[-+]$/.test(next.text) && /^(text|number)$/.test(after.kind);
}

interface Part {
  readonly count: string;
  readonly unit: string;
}

/** The word INTERVAL is read. */
export function intervalForm(words: TokenReader, token: Token): Sql {
  const at = token.column;
  const sign = readSign(words);
  const value = words.next();
  const unit = unitOf(words.peek().word);
  if (value.kind === 'text' && unit === undefined) {
    return ofParts(partsOfText(sign + value.text, at), at);
  }
  if (unit === undefined) {
    throw new SqlFault(words.peek().column, `expected a unit of time, got '${words.peek().text}'`);
  }
  if (value.kind === 'text' && words.peek(1).word === 'TO') {
    words.next();
    words.next();
    const last = unitOf(words.next().word) ?? '';
    return ofRange(sign, value.text, unit, last, at);
  }
  const parts: Part[] = [{ count: signed(sign, value.text), unit }];
  words.next();
  while (isInterval(words) && unitOf(unitAfter(words)) !== undefined) {
    const each = readSign(words);
    const count = signed(each, words.next().text);
    parts.push({ count, unit: unitOf(words.next().word) ?? '' });
  }
  return ofParts(parts, at);
}

/** The word after the next number, which may have a sign. */
function unitAfter(words: TokenReader): string {
  return words.peek(/^[-+]$/.test(words.peek().text) ? 2 : 1).word;
}

function readSign(words: TokenReader): string {
  if (words.take('-')) return '-';
  words.take('+');
  return '';
}

function signed(sign: string, text: string): string {
  const count = text.trim();
  if (sign === '') return count;
  return count.startsWith('-') ? count.slice(1) : `-${count.replace(/^\+/, '')}`;
}

function partsOfText(text: string, at: number): readonly Part[] {
  const words = text
    .trim()
    .replace(/^interval\s/i, '')
    .replace(/([-+])\s+/g, '$1')
    .split(/\s+/);
  const parts: Part[] = [];
  for (let i = 0; i < words.length; i += 2) {
    const unit = unitOf(words[i + 1] ?? '');
    if (unit === undefined) throw new SqlFault(at, `'${text}' is not an interval`);
    parts.push({ count: words[i] ?? '', unit });
  }
  return parts;
}

/** A count of units as months or micros; only seconds have a fraction. */
function amountOf({ count, unit }: Part, at: number): bigint {
  const pattern = unit === 'second' ? /^([-+]?)(\d*)(?:\.(\d{0,9}))?$/ : /^([-+]?)(\d+)$/;
  const found = pattern.exec(count);
  if (found === null || count === '' || /^[-+]?\.?$/.test(count)) {
    throw new SqlFault(at, `'${count}' is not a number of ${unit}s`);
  }
  const [, sign, whole = '', fraction = ''] = found;
  const size = BigInt(whole === '' ? '0' : whole);
  const scale = unit === 'year' ? 12n : (MICROS[unit] ?? 1n);
  const amount = size * scale + BigInt(fraction.padEnd(6, '0').slice(0, 6));
  return sign === '-' ? -amount : amount;
}

/** The unit of the type: weeks are days, and parts of seconds are seconds. */
function typeUnit(unit: string): string {
  if (unit === 'week') return 'day';
  return unit === 'millisecond' || unit === 'microsecond' ? 'second' : unit;
}

function ofParts(parts: readonly Part[], at: number): Sql {
  const units = parts.map(({ unit }) => typeUnit(unit));
  const isMonths = units.every((unit) => MONTH_UNITS.includes(unit));
  const all = isMonths ? MONTH_UNITS : TIME_UNITS;
  const places = units.map((unit) => all.indexOf(unit));
  if (places.includes(-1)) {
    throw new SqlFault(
      at,
      'an INTERVAL of both months and days is not supported: use make_interval()',
    );
  }
  const amount = parts.reduce((sum, part) => sum + amountOf(part, at), 0n);
  const [first = '', last = ''] = [all[Math.min(...places)], all[Math.max(...places)]];
  return literalOf(amount, first, last, at);
}

/** INTERVAL '1 2:03:04.5' DAY TO SECOND: the first unit has no limit. */
function ofRange(outer: string, text: string, first: string, last: string, at: number): Sql {
  const isMonths = MONTH_UNITS.includes(first);
  const all = isMonths ? MONTH_UNITS : TIME_UNITS;
  const units = all.slice(all.indexOf(first), all.indexOf(last) + 1);
  if (!all.includes(first) || units.length < 2) {
    throw new SqlFault(at, `there is no INTERVAL ${first} TO ${last}`.toUpperCase());
  }
  const pattern = units.reduce((left, unit, i) => {
    const separator = i === 0 ? '' : isMonths ? '-' : units[i - 1] === 'day' ? '\\s+' : ':';
    const digits =
      unit === 'second' ? '(\\d{1,2}(?:\\.\\d{0,9})?)' : i === 0 ? '(\\d+)' : '(\\d{1,2})';
    return left + separator + digits;
  }, '');
  const found = new RegExp(`^\\s*([-+]?)${pattern}\\s*$`).exec(text);
  if (found === null) throw new SqlFault(at, `'${text}' is not an INTERVAL ${first} TO ${last}`);
  const counts = found.slice(2);
  const limits: Readonly<Record<string, number>> = { month: 11, hour: 23, minute: 59, second: 59 };
  let amount = 0n;
  for (const [i, unit] of units.entries()) {
    const count = counts[i] ?? '';
    if (i > 0 && Math.floor(Number(count)) > (limits[unit] ?? 0)) {
      throw new SqlFault(at, `'${text}': ${count} is out of range for ${unit}s`);
    }
    amount += amountOf({ count, unit }, at);
  }
  const isNegative = (found[1] === '-') !== (outer === '-');
  return literalOf(isNegative ? -amount : amount, first, last, at);
}

function literalOf(amount: bigint, first: string, last: string, at: number): Sql {
  const isMonths = MONTH_UNITS.includes(first);
  const most = isMonths ? INT_MAX : LONG_MAX;
  if (amount >= most || amount < -most) throw new SqlFault(at, 'an INTERVAL out of range');
  return call(
    'interval_literal',
    at,
    typed(String(isMonths ? amount : 0n), 'int', at),
    typed(String(isMonths ? 0n : amount), 'bigint', at),
    textLiteral(first, at),
    textLiteral(last, at),
  );
}
