// Reads a statement of Spark's SQLTransformer: one SELECT over its own rows, without anything that
// changes which rows there are. Importer's worker thread; pure.
// Source: tabular.md 5.3; the precedence of operators is that of Spark's SqlBaseParser.
import type { Select, SelectItem, Sql } from './ast.js';
import { SqlFault, tokens, type Token } from './lexer.js';
import { fractional, integral, NULL, textLiteral, typed, typeOfName } from './literal.js';
import { sqlText } from './print.js';

/** Characters of a statement, and expressions inside each other. */
const STATEMENT_MAX = 100_000;
const DEPTH_MAX = 200;

const CLAUSES = new Set(
  (
    'WHERE GROUP HAVING ORDER SORT CLUSTER DISTRIBUTE LIMIT OFFSET UNION INTERSECT EXCEPT MINUS ' +
    'JOIN INNER LEFT RIGHT FULL CROSS SEMI ANTI NATURAL LATERAL WINDOW PIVOT UNPIVOT TABLESAMPLE QUALIFY'
  ).split(' '),
);
const COMPARISONS: Readonly<Record<string, string>> = {
  '=': 'equal',
  '==': 'equal',
  '<=>': 'null_safe_equal',
  '<>': 'not_equal',
  '!=': 'not_equal',
  '<': 'less',
  '<=': 'less_equal',
  '>': 'greater',
  '>=': 'greater_equal',
};
/** By falling precedence; each level is left-associative. */
const LEVELS: readonly Readonly<Record<string, string>>[] = [
  { '*': 'multiply', '/': 'divide', '%': 'mod', DIV: 'div' },
  { '+': 'add', '-': 'subtract', '||': 'concat' },
  { '<<': 'shiftleft', '>>': 'shiftright' },
  { '&': 'bit_and' },
  { '^': 'bit_xor' },
  { '|': 'bit_or' },
  COMPARISONS,
];

/** Errors: SqlFault saying what is not supported, or expected, and where. */
export function parseSelect(statement: string): Select {
  if (statement.length > STATEMENT_MAX) {
    throw new SqlFault(1, `expected at most ${STATEMENT_MAX} characters, got ${statement.length}`);
  }
  return new Parser(tokens(statement)).select();
}

class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;

  constructor(all: readonly Token[]) {
    this.#tokens = all;
  }

  select(): Select {
    if (this.#isWord('WITH')) this.#unsupported('WITH');
    this.#expectWord('SELECT');
    if (this.#isWord('DISTINCT')) this.#unsupported('DISTINCT, which drops rows,');
    this.#takeWord('ALL');
    const items = [this.#item()];
    while (this.#take(',')) items.push(this.#item());
    this.#expectWord('FROM');
    this.#table();
    return { items: items.map((item) => this.#checkQualifiers(item)) };
  }

  readonly #qualifiers = new Set(['__this__']);
  readonly #qualified: { readonly qualifier: string; readonly at: number }[] = [];

  /** `__THIS__ [[AS] alias] [;]` and nothing else. */
  #table(): void {
    const table = this.#next();
    if (table.text !== '__THIS__') {
      throw new SqlFault(table.column, `expected FROM __THIS__, got ${shown(table)}`);
    }
    const isAs = this.#takeWord('AS');
    const token = this.#peek();
    if (token.kind === 'name' || (token.kind === 'word' && !CLAUSES.has(token.word))) {
      this.#qualifiers.add(this.#next().text.toLowerCase());
    } else if (isAs) {
      throw new SqlFault(token.column, `expected a name after AS, got ${shown(token)}`);
    }
    this.#take(';');
    const rest = this.#peek();
    if (rest.kind === 'end') return;
    if (CLAUSES.has(rest.word)) this.#unsupported(rest.word);
    if (rest.text === ',') this.#unsupported('a join');
    throw new SqlFault(rest.column, `expected the end of the statement, got ${shown(rest)}`);
  }

  #checkQualifiers(item: SelectItem): SelectItem {
    for (const { qualifier, at } of this.#qualified) {
      if (this.#qualifiers.has(qualifier.toLowerCase())) continue;
      throw new SqlFault(at, `'${qualifier}.': members of a structure are not supported`);
    }
    return item;
  }

  #item(): SelectItem {
    if (this.#take('*')) {
      if (this.#isWord('EXCEPT')) this.#unsupported('* EXCEPT');
      return { value: undefined, name: '*' };
    }
    const [name, dot, star] = [this.#peek(), this.#peek(1), this.#peek(2)];
    if (isName(name) && dot.text === '.' && star.kind === 'symbol' && star.text === '*') {
      this.#qualified.push({ qualifier: name.text, at: name.column });
      this.#at += 3;
      return { value: undefined, name: '*' };
    }
    const value = this.#expression();
    const isAs = this.#takeWord('AS');
    const alias = this.#peek();
    if (alias.kind === 'name' || (alias.kind === 'word' && (isAs || alias.word !== 'FROM'))) {
      return { value, name: this.#next().text };
    }
    if (isAs) throw new SqlFault(alias.column, `expected a name after AS, got ${shown(alias)}`);
    return { value, name: value.kind === 'column' ? value.name : sqlText(value) };
  }

  #expression(): Sql {
    this.#depth += 1;
    if (this.#depth > DEPTH_MAX) {
      throw new SqlFault(this.#peek().column, `expressions nest deeper than ${DEPTH_MAX}`);
    }
    let left = this.#and();
    while (this.#isWord('OR')) {
      const at = this.#next().column;
      left = call('or', at, left, this.#and());
    }
    this.#depth -= 1;
    return left;
  }

  #and(): Sql {
    let left = this.#not();
    while (this.#isWord('AND')) {
      const at = this.#next().column;
      left = call('and', at, left, this.#not());
    }
    return left;
  }

  #not(): Sql {
    const token = this.#peek();
    if (!this.#takeWord('NOT') && !this.#take('!')) return this.#predicate();
    this.#depth += 1;
    if (this.#depth > DEPTH_MAX) {
      throw new SqlFault(token.column, `expressions nest deeper than ${DEPTH_MAX}`);
    }
    const negated = call('not', token.column, this.#not());
    this.#depth -= 1;
    return negated;
  }

  #predicate(): Sql {
    const value = this.#level(LEVELS.length - 1);
    const isNegated =
      this.#isWord('NOT') && /^(BETWEEN|IN|LIKE|ILIKE|RLIKE|REGEXP)$/.test(this.#peek(1).word);
    if (isNegated) this.#next();
    const token = this.#peek();
    const tested = this.#tested(value, token);
    return isNegated && tested !== value ? call('not', token.column, tested) : tested;
  }

  #tested(value: Sql, token: Token): Sql {
    const at = token.column;
    if (this.#takeWord('BETWEEN')) {
      const low = this.#level(LEVELS.length - 2);
      this.#expectWord('AND');
      const high = this.#level(LEVELS.length - 2);
      return call(
        'and',
        at,
        call('greater_equal', at, value, low),
        call('less_equal', at, value, high),
      );
    }
    if (this.#takeWord('IN')) {
      this.#expect('(');
      if (this.#isWord('SELECT')) this.#unsupported('a subquery');
      const list = this.#list(')');
      if (list.length === 0) throw new SqlFault(at, 'IN with an empty list');
      return call('in', at, value, ...list);
    }
    if (this.#takeWord('LIKE') || this.#takeWord('ILIKE')) {
      const next = this.#peek();
      if (/^(ANY|SOME|ALL)$/.test(next.word)) this.#unsupported(`LIKE ${next.word}`);
      const pattern = this.#level(LEVELS.length - 2);
      const args = this.#takeWord('ESCAPE') ? [value, pattern, this.#primary()] : [value, pattern];
      return call(token.word.toLowerCase(), at, ...args);
    }
    if (this.#takeWord('RLIKE') || this.#takeWord('REGEXP')) {
      return call('rlike', at, value, this.#level(LEVELS.length - 2));
    }
    return this.#isWord('IS') ? this.#is(value) : value;
  }

  #is(value: Sql): Sql {
    const at = this.#next().column;
    const isNegated = this.#takeWord('NOT');
    const token = this.#next();
    const negate = (tested: Sql): Sql => (isNegated ? call('not', at, tested) : tested);
    switch (token.word) {
      case 'NULL':
        return call(isNegated ? 'isnotnull' : 'isnull', at, value);
      case 'TRUE':
      case 'FALSE':
        return negate(
          call('null_safe_equal', at, value, typed(token.word.toLowerCase(), 'boolean', at)),
        );
      case 'UNKNOWN':
        return call(isNegated ? 'isnotnull' : 'isnull', at, value);
      case 'DISTINCT': {
        this.#expectWord('FROM');
        const same = call('null_safe_equal', at, value, this.#level(LEVELS.length - 2));
        return isNegated ? same : call('not', at, same);
      }
      default:
        throw new SqlFault(
          token.column,
          `expected NULL, TRUE, FALSE or DISTINCT FROM, got ${shown(token)}`,
        );
    }
  }

  #level(level: number): Sql {
    const names = LEVELS[level];
    if (names === undefined) return this.#unary();
    let left = this.#level(level - 1);
    for (;;) {
      const token = this.#peek();
      const key = token.kind === 'symbol' ? token.text : token.word;
      const name = token.kind === 'symbol' || token.word === 'DIV' ? names[key] : undefined;
      if (name === undefined) return left;
      this.#next();
      left = call(name, token.column, left, this.#level(level - 1));
    }
  }

  #unary(): Sql {
    const token = this.#peek();
    if (token.kind !== 'symbol' || !/^[-+~]$/.test(token.text)) return this.#postfix();
    this.#next();
    this.#depth += 1;
    if (this.#depth > DEPTH_MAX) {
      throw new SqlFault(token.column, `expressions nest deeper than ${DEPTH_MAX}`);
    }
    const number = this.#peek();
    const isLiteral = token.text === '-' && number.kind === 'number';
    const value = isLiteral ? this.#number(this.#next(), '-') : this.#unary();
    this.#depth -= 1;
    if (isLiteral) return value;
    const names: Readonly<Record<string, string>> = {
      '-': 'negative',
      '+': 'positive',
      '~': 'bit_not',
    };
    return call(names[token.text] ?? '', token.column, value);
  }

  #postfix(): Sql {
    let value = this.#primary();
    for (;;) {
      const at = this.#peek().column;
      if (this.#take('::')) {
        value = { kind: 'cast', of: value, to: this.#type(), at };
      } else if (this.#take('[')) {
        const index = this.#expression();
        this.#expect(']');
        value = call('item', at, value, index);
      } else {
        return value;
      }
    }
  }

  #primary(): Sql {
    const token = this.#next();
    switch (token.kind) {
      case 'number':
        return this.#number(token, '');
      case 'text':
        return this.#text(token);
      case 'name':
        return this.#named(token);
      case 'word':
        return this.#word(token);
      default:
        break;
    }
    if (token.text === '(') {
      if (this.#isWord('SELECT')) this.#unsupported('a subquery');
      const value = this.#expression();
      if (this.#peek().text === ',') this.#unsupported('a list of values in parentheses');
      this.#expect(')');
      return value;
    }
    throw new SqlFault(token.column, `expected an expression, got ${shown(token)}`);
  }

  /** Texts that follow each other are one. */
  #text(token: Token): Sql {
    let text = token.text;
    while (this.#peek().kind === 'text') text += this.#next().text;
    return textLiteral(text, token.column);
  }

  #number(token: Token, sign: '' | '-'): Sql {
    return /^\d+[LlSsYy]?$/.test(token.text)
      ? integral(token.text, sign, token.column)
      : fractional(token.text, sign, token.column);
  }

  #word(token: Token): Sql {
    const next = this.#peek();
    switch (token.word) {
      case 'NULL':
        return { kind: 'literal', literal: NULL, at: token.column };
      case 'TRUE':
      case 'FALSE':
        return typed(token.word.toLowerCase(), 'boolean', token.column);
      case 'CASE':
        return this.#case(token);
      case 'DATE':
      case 'TIMESTAMP':
      case 'TIMESTAMP_LTZ':
      case 'TIMESTAMP_NTZ':
        if (next.kind !== 'text') break;
        return typed(this.#next().text, token.word === 'DATE' ? 'date' : 'timestamp', token.column);
      case 'INTERVAL':
        if (next.kind !== 'symbol' && next.kind !== 'end') this.#unsupported('INTERVAL');
        break;
      case 'EXISTS':
        if (next.text === '(') this.#unsupported('EXISTS');
        break;
      default:
        break;
    }
    return this.#named(token);
  }

  /** A column or a call. */
  #named(token: Token): Sql {
    if (this.#peek().text === '(' && token.kind === 'word') return this.#call(token);
    if (this.#peek().text === '.' && isName(this.#peek(1))) {
      this.#next();
      this.#qualified.push({ qualifier: token.text, at: token.column });
      const name = this.#next();
      if (this.#peek().text === '.') {
        throw new SqlFault(name.column, 'members of a structure are not supported');
      }
      return { kind: 'column', name: name.text, at: name.column };
    }
    return { kind: 'column', name: token.text, at: token.column };
  }

  #call(token: Token): Sql {
    const at = token.column;
    this.#expect('(');
    let made: Sql | undefined;
    if (token.word === 'CAST' || token.word === 'TRY_CAST') made = this.#cast(at);
    else if (token.word === 'EXTRACT') made = this.#extract(at);
    else if (token.word === 'TRIM') made = this.#trim(at);
    else if (token.word === 'POSITION') made = this.#position(at);
    else if (token.word === 'SUBSTRING' || token.word === 'SUBSTR') made = this.#substring(at);
    if (made === undefined) {
      if (this.#isWord('DISTINCT')) this.#unsupported('an aggregate of DISTINCT values');
      if (this.#peek().text === '*') {
        throw new SqlFault(at, `${token.text}(*): aggregates are not supported`);
      }
      const args = this.#list(')');
      // As functions these take the characters first, and the text then.
      const isTurned = /^[LR]TRIM$/.test(token.word) && args.length === 2;
      made = call(token.word.toLowerCase(), at, ...(isTurned ? [...args].reverse() : args));
    } else {
      this.#expect(')');
    }
    if (this.#isWord('OVER') || this.#isWord('FILTER')) this.#unsupported(this.#peek().word);
    return made;
  }

  #cast(at: number): Sql {
    const of = this.#expression();
    this.#expectWord('AS');
    return { kind: 'cast', of, to: this.#type(), at };
  }

  #extract(at: number): Sql | undefined {
    if (this.#peek(1).word !== 'FROM') return undefined;
    const part = this.#next();
    this.#next();
    return call('date_part', at, textLiteral(part.text, part.column), this.#expression());
  }

  #trim(at: number): Sql {
    const side = /^(BOTH|LEADING|TRAILING)$/.test(this.#peek().word) ? this.#next().word : '';
    const name = side === 'LEADING' ? 'ltrim' : side === 'TRAILING' ? 'rtrim' : 'btrim';
    if (side !== '' && this.#takeWord('FROM')) return call(name, at, this.#expression());
    const first = this.#expression();
    if (this.#takeWord('FROM')) return call(name, at, this.#expression(), first);
    const args = this.#take(',') ? [this.#expression(), first] : [first];
    return call(name, at, ...args);
  }

  #position(at: number): Sql {
    const what = this.#level(LEVELS.length - 2);
    if (this.#takeWord('IN')) return call('locate', at, what, this.#level(LEVELS.length - 2));
    const args = [what];
    while (this.#take(',')) args.push(this.#expression());
    return call('locate', at, ...args);
  }

  #substring(at: number): Sql {
    const args = [this.#expression()];
    if (this.#takeWord('FROM')) {
      args.push(this.#expression());
      if (this.#takeWord('FOR')) args.push(this.#expression());
    } else {
      while (this.#take(',')) args.push(this.#expression());
    }
    return call('substring', at, ...args);
  }

  /** As conditions and values, and at the end the value of ELSE where there is one. */
  #case(token: Token): Sql {
    const of = this.#isWord('WHEN') ? undefined : this.#expression();
    const args: Sql[] = [];
    while (this.#isWord('WHEN')) {
      const at = this.#next().column;
      const when = this.#expression();
      args.push(of === undefined ? when : call('equal', at, of, when));
      this.#expectWord('THEN');
      args.push(this.#expression());
    }
    if (args.length === 0) throw new SqlFault(token.column, 'CASE without WHEN');
    if (this.#takeWord('ELSE')) args.push(this.#expression());
    this.#expectWord('END');
    return call('case', token.column, ...args);
  }

  #type() {
    const token = this.#next();
    const numbers: number[] = [];
    if (this.#take('(')) {
      do numbers.push(Number(this.#next().text));
      while (this.#take(','));
      this.#expect(')');
    }
    const type = token.kind === 'word' ? typeOfName(token.word, numbers) : undefined;
    if (type !== undefined) return type;
    throw new SqlFault(token.column, `the type ${token.text} is not supported`);
  }

  #list(end: string): readonly Sql[] {
    const list: Sql[] = [];
    if (this.#take(end)) return list;
    do list.push(this.#expression());
    while (this.#take(','));
    this.#expect(end);
    return list;
  }

  #peek(ahead = 0): Token {
    const last = this.#tokens.length - 1;
    return this.#tokens[Math.min(this.#at + ahead, last)] as Token;
  }

  #next(): Token {
    const token = this.#peek();
    if (token.kind !== 'end') this.#at += 1;
    return token;
  }

  #isWord(word: string): boolean {
    return this.#peek().word === word;
  }

  #takeWord(word: string): boolean {
    const is = this.#isWord(word);
    if (is) this.#next();
    return is;
  }

  #take(symbol: string): boolean {
    const token = this.#peek();
    const is = token.kind === 'symbol' && token.text === symbol;
    if (is) this.#next();
    return is;
  }

  #expect(symbol: string): void {
    const token = this.#peek();
    if (!this.#take(symbol)) {
      throw new SqlFault(token.column, `expected '${symbol}', got ${shown(token)}`);
    }
  }

  #expectWord(word: string): void {
    const token = this.#peek();
    if (!this.#takeWord(word)) {
      throw new SqlFault(token.column, `expected ${word}, got ${shown(token)}`);
    }
  }

  #unsupported(what: string): never {
    throw new SqlFault(this.#peek().column, `${what} is not supported`);
  }
}

const call = (name: string, at: number, ...args: readonly Sql[]): Sql => ({
  kind: 'call',
  name,
  args,
  at,
});

const isName = (token: Token): boolean => token.kind === 'word' || token.kind === 'name';

function shown(token: Token): string {
  return token.kind === 'end' ? 'the end of the statement' : `'${token.text}'`;
}
