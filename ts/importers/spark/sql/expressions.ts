// Expressions of SQL: operators by their precedence, predicates, columns, calls. Importer's worker
// thread; pure.
// Source: tabular.md 5.3; the precedence of operators is that of Spark's SqlBaseParser.
import { call, type Sql } from './ast.js';
import { intervalForm, isInterval } from './intervals.js';
import { callForm, caseForm, type Operands, typeForm } from './forms.js';
import { SqlFault, type Token } from './lexer.js';
import { fractional, integral, NULL, textLiteral, timeLiteral, typed } from './literal.js';
import { isName, shown, type TokenReader } from './token-reader.js';

/** Expressions inside each other. */
const DEPTH_MAX = 200;

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
  { '<<': 'shiftleft', '>>': 'shiftright', '>>>': 'shiftrightunsigned' },
  { '&': 'bit_and' },
  { '^': 'bit_xor' },
  { '|': 'bit_or' },
  COMPARISONS,
];

/** A column with a table's name before it. */
export interface Qualified {
  readonly qualifier: string;
  readonly at: number;
}

/** A pattern that is NULL makes the answer NULL. */
const likeCall = (token: Token, value: Sql, pattern: Sql): Sql =>
  pattern.kind === 'literal' && pattern.literal.type === undefined
    ? {
        kind: 'cast',
        of: pattern,
        to: { name: 'boolean', precision: 0, scale: 0 },
        at: token.column,
      }
    : call(token.word.toLowerCase(), token.column, value, pattern);

/** Errors of all: SqlFault saying what is not supported, or expected, and where. */
export class Expressions implements Operands {
  readonly words: TokenReader;
  readonly #qualified: Qualified[];
  #depth = 0;

  /** `qualified`: gets those that are read. */
  constructor(words: TokenReader, qualified: Qualified[]) {
    this.words = words;
    this.#qualified = qualified;
  }

  expression(): Sql {
    this.#depth += 1;
    if (this.#depth > DEPTH_MAX) {
      throw new SqlFault(this.words.peek().column, `expressions nest deeper than ${DEPTH_MAX}`);
    }
    let left = this.#and();
    while (this.words.isWord('OR')) {
      const at = this.words.next().column;
      left = call('or', at, left, this.#and());
    }
    this.#depth -= 1;
    return left;
  }

  #and(): Sql {
    let left = this.#not();
    while (this.words.isWord('AND')) {
      const at = this.words.next().column;
      left = call('and', at, left, this.#not());
    }
    return left;
  }

  #not(): Sql {
    const token = this.words.peek();
    if (!this.words.takeWord('NOT') && !this.words.take('!')) return this.#predicate();
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
      this.words.isWord('NOT') &&
      /^(BETWEEN|IN|LIKE|ILIKE|RLIKE|REGEXP)$/.test(this.words.peek(1).word);
    if (isNegated) this.words.next();
    const token = this.words.peek();
    const isList = /^(ANY|SOME|ALL)$/.test(this.words.peek(1).word);
    const tested = this.#tested(value, token, isNegated);
    return isNegated && tested !== value && !(isList && /LIKE$/.test(token.word))
      ? call('not', token.column, tested)
      : tested;
  }

  /** LIKE ANY (...), LIKE ALL (...): NOT is about each pattern. */
  #likes(value: Sql, token: Token, isNegated: boolean): Sql {
    const all = this.words.next().word === 'ALL';
    this.words.next();
    const patterns = this.list(')');
    const [first, ...others] = patterns.map((pattern) => {
      const like = likeCall(token, value, pattern);
      return isNegated ? call('not', token.column, like) : like;
    });
    if (first === undefined) throw new SqlFault(token.column, `${token.word} with an empty list`);
    return others.reduce(
      (left, right) => call(all ? 'and' : 'or', token.column, left, right),
      first,
    );
  }

  #tested(value: Sql, token: Token, isNegated: boolean): Sql {
    const at = token.column;
    if (this.words.takeWord('BETWEEN')) {
      const low = this.operand();
      this.words.expectWord('AND');
      const high = this.operand();
      return call('between', at, value, low, high);
    }
    if (this.words.takeWord('IN')) {
      this.words.expect('(');
      if (this.words.isWord('SELECT')) this.words.unsupported('a subquery');
      const list = this.list(')');
      if (list.length === 0) throw new SqlFault(at, 'IN with an empty list');
      return call('in', at, value, ...list);
    }
    if (this.words.takeWord('LIKE') || this.words.takeWord('ILIKE')) {
      const next = this.words.peek();
      if (/^(ANY|SOME|ALL)$/.test(next.word) && this.words.peek(1).text === '(') {
        return this.#likes(value, token, isNegated);
      }
      const pattern = this.operand();
      const args = this.words.takeWord('ESCAPE')
        ? [value, pattern, this.primary()]
        : [value, pattern];
      return call(token.word.toLowerCase(), at, ...args);
    }
    if (this.words.takeWord('RLIKE') || this.words.takeWord('REGEXP')) {
      return call('rlike', at, value, this.operand());
    }
    return this.words.isWord('IS') ? this.#is(value) : value;
  }

  #is(value: Sql): Sql {
    const at = this.words.next().column;
    const isNegated = this.words.takeWord('NOT');
    const token = this.words.next();
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
        this.words.expectWord('FROM');
        const same = call('null_safe_equal', at, value, this.operand());
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
      const token = this.words.peek();
      const key = token.kind === 'symbol' ? token.text : token.word;
      const name = token.kind === 'symbol' || token.word === 'DIV' ? names[key] : undefined;
      if (name === undefined) return left;
      this.words.next();
      left = call(name, token.column, left, this.#level(level - 1));
    }
  }

  #unary(): Sql {
    const token = this.words.peek();
    if (token.kind !== 'symbol' || !/^[-+~]$/.test(token.text)) return this.#postfix();
    this.words.next();
    this.#depth += 1;
    if (this.#depth > DEPTH_MAX) {
      throw new SqlFault(token.column, `expressions nest deeper than ${DEPTH_MAX}`);
    }
    const number = this.words.peek();
    const isLiteral = token.text === '-' && number.kind === 'number';
    const value = isLiteral ? this.#number(this.words.next(), '-') : this.#unary();
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
    let value = this.primary();
    for (;;) {
      const at = this.words.peek().column;
      if (this.words.take('::')) {
        value = { kind: 'cast', of: value, to: typeForm(this.words), at };
      } else if (this.words.take('[')) {
        const index = this.expression();
        this.words.expect(']');
        value = call('item', at, value, index);
      } else if (
        value.kind !== 'column' &&
        this.words.peek().text === '.' &&
        isName(this.words.peek(1))
      ) {
        this.words.next();
        const name = this.words.next();
        value = call('item', at, value, textLiteral(name.text, name.column));
      } else {
        return value;
      }
    }
  }

  primary(): Sql {
    const token = this.words.next();
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
      if (this.words.isWord('SELECT')) this.words.unsupported('a subquery');
      const value = this.expression();
      if (this.words.peek().text === ',') this.words.unsupported('a list of values in parentheses');
      this.words.expect(')');
      return value;
    }
    throw new SqlFault(token.column, `expected an expression, got ${shown(token)}`);
  }

  /** Texts that follow each other are one. */
  #text(token: Token): Sql {
    let text = token.text;
    while (this.words.peek().kind === 'text') text += this.words.next().text;
    return textLiteral(text, token.column);
  }

  #number(token: Token, sign: '' | '-'): Sql {
    return /^\d+[LlSsYy]?$/.test(token.text)
      ? integral(token.text, sign, token.column)
      : fractional(token.text, sign, token.column);
  }

  #word(token: Token): Sql {
    const next = this.words.peek();
    switch (token.word) {
      case 'NULL':
        return { kind: 'literal', literal: NULL, at: token.column };
      case 'TRUE':
      case 'FALSE':
        return typed(token.word.toLowerCase(), 'boolean', token.column);
      case 'CASE':
        return caseForm(this, token);
      case 'DATE':
      case 'TIMESTAMP':
      case 'TIMESTAMP_LTZ':
      case 'TIMESTAMP_NTZ':
        if (next.kind !== 'text') break;
        return timeLiteral(token, this.words.next().text);
      case 'INTERVAL':
        if (isInterval(this.words)) return intervalForm(this.words, token);
        break;
      case 'EXISTS':
        if (next.text === '(') this.words.unsupported('EXISTS');
        break;
      default:
        break;
    }
    return this.#named(token);
  }

  /** A column or a call. */
  #named(token: Token): Sql {
    if (this.words.peek().text === '(' && token.kind === 'word') return callForm(this, token);
    if (this.words.peek().text === '.' && isName(this.words.peek(1))) {
      this.words.next();
      this.#qualified.push({ qualifier: token.text, at: token.column });
      const name = this.words.next();
      if (this.words.peek().text === '.') {
        throw new SqlFault(name.column, 'members of a structure are not supported');
      }
      return { kind: 'column', name: name.text, at: name.column };
    }
    return { kind: 'column', name: token.text, at: token.column };
  }

  /** Parses an operand of a comparison. */
  operand(): Sql {
    return this.#level(LEVELS.length - 2);
  }

  list(end: string): readonly Sql[] {
    const list: Sql[] = [];
    if (this.words.take(end)) return list;
    do list.push(this.expression());
    while (this.words.take(','));
    this.words.expect(end);
    return list;
  }
}
