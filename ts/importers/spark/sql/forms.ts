// Calls with their own grammar, CASE, and names of types. Importer's worker thread; pure. Source:
// tabular.md 5.3; Spark's SqlBaseParser.
import { call, type Sql, type SqlType } from './ast.js';
import { INTERNAL_FUNCTIONS } from './tables/composite.js';
import { SqlFault, type Token } from './lexer.js';
import { textLiteral, typeOfName } from './literal.js';
import { unsupportedText } from './tables/refused.js';
import type { TokenReader } from './token-reader.js';

/** The parsers that a form reads its parts with. */
export interface Operands {
  readonly words: TokenReader;
  expression(): Sql;
  /** Parses an operand of a comparison. */
  operand(): Sql;
  primary(): Sql;
  /** Up to the symbol `end`, which it takes. */
  list(end: string): readonly Sql[];
}

/** A call of the function that `token` names, whose parenthesis is next. */
export function callForm(from: Operands, token: Token): Sql {
  const { words } = from;
  const at = token.column;
  words.expect('(');
  let made: Sql | undefined;
  if (token.word === 'CAST') made = castForm(from, at);
  else if (token.word === 'TRY_CAST') made = call('try_cast', at, castForm(from, at));
  else if (token.word === 'EXTRACT') made = extractForm(from, at);
  else if (token.word === 'TRIM') made = trimForm(from, at);
  else if (token.word === 'POSITION') made = positionForm(from, token);
  else if (token.word === 'SUBSTRING' || token.word === 'SUBSTR') made = substringForm(from, token);
  else if (token.word === 'OVERLAY') made = overlayForm(from, at);
  else if (UNIT_CALLS[token.word] !== undefined) made = unitForm(from, token);
  if (made === undefined) {
    if (words.isWord('DISTINCT')) words.unsupported('an aggregate of DISTINCT values');
    if (words.peek().text === '*') {
      throw new SqlFault(at, `${token.text}(*): aggregates are not supported`);
    }
    const args = from.list(')');
    // The function forms have the characters first and the text second.
    const isTurned = /^[LR]TRIM$/.test(token.word) && args.length === 2;
    if (INTERNAL_FUNCTIONS.has(token.word.toLowerCase())) {
      throw new SqlFault(at, unsupportedText(token.word.toLowerCase()));
    }
    made = call(token.word.toLowerCase(), at, ...(isTurned ? [...args].reverse() : args));
    if (/^(MOD|NEGATIVE|SHIFTLEFT|SHIFTRIGHT|SHIFTRIGHTUNSIGNED)$/.test(token.word))
      made = as(token, made);
  } else {
    words.expect(')');
  }
  if (words.isWord('OVER') || words.isWord('FILTER')) words.unsupported(words.peek().word);
  return made;
}

const as = (token: Token, made: Sql): Sql =>
  made.kind === 'call' ? { ...made, written: token.word.toLowerCase() } : made;

function castForm(from: Operands, at: number): Sql {
  const { words } = from;
  const of = from.expression();
  words.expectWord('AS');
  return { kind: 'cast', of, to: typeForm(words), at };
}

function extractForm(from: Operands, at: number): Sql | undefined {
  const { words } = from;
  if (words.peek(1).word !== 'FROM') return undefined;
  const part = words.next();
  words.next();
  return call('extract', at, textLiteral(part.text, part.column), from.expression());
}

function trimForm(from: Operands, at: number): Sql {
  const { words } = from;
  const side = /^(BOTH|LEADING|TRAILING)$/.test(words.peek().word) ? words.next().word : '';
  const name = side === 'LEADING' ? 'ltrim' : side === 'TRAILING' ? 'rtrim' : 'trim';
  if (side !== '' && words.takeWord('FROM')) return call(name, at, from.expression());
  const first = from.expression();
  if (words.takeWord('FROM')) return call(name, at, from.expression(), first);
  if (!words.take(',')) return call(name, at, first);
  return call(name, at, from.expression(), first);
}

function positionForm(from: Operands, token: Token): Sql {
  const { words } = from;
  const at = token.column;
  const what = from.operand();
  if (words.takeWord('IN')) return call('locate', at, what, from.operand());
  const args = [what];
  while (words.take(',')) args.push(from.expression());
  return as(token, call('locate', at, ...args));
}

function substringForm(from: Operands, token: Token): Sql {
  const { words } = from;
  const at = token.column;
  const args = [from.expression()];
  if (words.takeWord('FROM')) {
    args.push(from.expression());
    if (words.takeWord('FOR')) args.push(from.expression());
  } else {
    while (words.take(',')) args.push(from.expression());
    return as(token, call('substring', at, ...args));
  }
  return call('substring', at, ...args);
}

function overlayForm(from: Operands, at: number): Sql {
  const { words } = from;
  const args = [from.expression()];
  if (words.takeWord('PLACING')) {
    args.push(from.expression());
    words.expectWord('FROM');
    args.push(from.expression());
    if (words.takeWord('FOR')) args.push(from.expression());
  } else {
    while (words.take(',')) args.push(from.expression());
  }
  return call('overlay', at, ...args);
}

const UNIT_CALLS: Readonly<Record<string, string>> = {
  TIMESTAMPADD: 'timestampadd',
  DATEADD: 'timestampadd',
  DATE_ADD: 'timestampadd',
  TIMESTAMPDIFF: 'timestampdiff',
  DATEDIFF: 'timestampdiff',
  DATE_DIFF: 'timestampdiff',
};
const UNITS =
  /^(YEAR|QUARTER|MONTH|WEEK|DAY|DAYOFYEAR|HOUR|MINUTE|SECOND|MILLISECOND|MICROSECOND)$/;

/** DATEADD(DAY, 3, x), whose first argument is a unit; undefined where it is none. With two
 * arguments that is a column: date_add(day, 1). */
function unitForm(from: Operands, token: Token): Sql | undefined {
  const { words } = from;
  const unit = words.peek();
  if (!UNITS.test(unit.word) || words.peek(1).text !== ',') return undefined;
  words.next();
  const args: Sql[] = [];
  while (words.take(',')) args.push(from.expression());
  if (args.length < 2) {
    const column: Sql = { kind: 'column', name: unit.text, at: unit.column };
    return as(token, call(token.text.toLowerCase(), token.column, column, ...args));
  }
  const named = textLiteral(unit.word.toLowerCase(), unit.column);
  return call(UNIT_CALLS[token.word] ?? '', token.column, named, ...args);
}

/** CASE, after the keyword: conditions and values, then the value of ELSE if there is one. */
export function caseForm(from: Operands, token: Token): Sql {
  const { words } = from;
  const of = words.isWord('WHEN') ? undefined : from.expression();
  const args: Sql[] = [];
  while (words.isWord('WHEN')) {
    const at = words.next().column;
    const when = from.expression();
    args.push(of === undefined ? when : call('equal', at, of, when));
    words.expectWord('THEN');
    args.push(from.expression());
  }
  if (args.length === 0) throw new SqlFault(token.column, 'CASE without WHEN');
  if (words.takeWord('ELSE')) args.push(from.expression());
  words.expectWord('END');
  return call('case', token.column, ...args);
}

const TYPE_DEPTH_MAX = 16;

/** Types in angle brackets. */
function partsOfType(words: TokenReader, count: number, depth: number): readonly SqlType[] {
  words.expect('<');
  const parts: SqlType[] = [];
  for (let i = 0; i < count; i++) {
    if (i > 0) words.expect(',');
    parts.push(typeForm(words, depth + 1));
  }
  words.closeAngle();
  return parts;
}

/** The name of a type. */
export function typeForm(words: TokenReader, depth = 0): SqlType {
  const token = words.next();
  if (depth > TYPE_DEPTH_MAX) {
    throw new SqlFault(token.column, `types nest deeper than ${TYPE_DEPTH_MAX}`);
  }
  if (token.word === 'ARRAY' || token.word === 'MAP') {
    const parts = partsOfType(words, token.word === 'MAP' ? 2 : 1, depth);
    return { name: token.word === 'MAP' ? 'map' : 'array', precision: 0, scale: 0, parts };
  }
  const numbers: number[] = [];
  if (words.take('(')) {
    do numbers.push(Number(words.next().text));
    while (words.take(','));
    words.expect(')');
  }
  const type = token.kind === 'word' ? typeOfName(token.word, numbers) : undefined;
  if (type !== undefined) return type;
  throw new SqlFault(token.column, `the type ${token.text} is not supported`);
}
