// Reads a statement of Spark's SQLTransformer: one SELECT over its own rows, without anything that
// changes which rows there are. Importer's worker thread; pure.
// Source: tabular.md 5.3.
import type { Select, SelectItem } from './ast.js';
import { Expressions, type Qualified } from './expressions.js';
import { SqlFault } from './lexer.js';
import { isName, shown, TokenReader } from './token-reader.js';

/** Characters of a statement. */
const STATEMENT_MAX = 100_000;

const CLAUSES = new Set(
  (
    'WHERE GROUP HAVING ORDER SORT CLUSTER DISTRIBUTE LIMIT OFFSET UNION INTERSECT EXCEPT MINUS ' +
    'JOIN INNER LEFT RIGHT FULL CROSS SEMI ANTI NATURAL LATERAL WINDOW PIVOT UNPIVOT TABLESAMPLE QUALIFY'
  ).split(' '),
);

/** `major`: of the Spark that saved it: texts differ.
 * Errors: SqlFault saying what is not supported, or expected, and where. */
export function parseSelect(statement: string, major: number): Select {
  if (statement.length > STATEMENT_MAX) {
    throw new SqlFault(1, `expected at most ${STATEMENT_MAX} characters, got ${statement.length}`);
  }
  return new Parser(new TokenReader(statement, major)).select();
}

class Parser {
  readonly #words: TokenReader;
  readonly #qualifiers = new Set(['__this__']);
  readonly #qualified: Qualified[] = [];
  readonly #expressions: Expressions;

  constructor(words: TokenReader) {
    this.#words = words;
    this.#expressions = new Expressions(words, this.#qualified);
  }

  select(): Select {
    if (this.#words.isWord('WITH')) this.#words.unsupported('WITH');
    this.#words.expectWord('SELECT');
    if (this.#words.isWord('DISTINCT')) this.#words.unsupported('DISTINCT, which drops rows,');
    this.#words.takeWord('ALL');
    const items = [this.#item()];
    while (this.#words.take(',')) items.push(this.#item());
    this.#words.expectWord('FROM');
    this.#table();
    return { items: items.map((item) => this.#checkQualifiers(item)) };
  }

  /** `__THIS__ [[AS] alias] [;]` and nothing else. */
  #table(): void {
    const table = this.#words.next();
    if (table.text !== '__THIS__') {
      throw new SqlFault(table.column, `expected FROM __THIS__, got ${shown(table)}`);
    }
    const isAs = this.#words.takeWord('AS');
    const token = this.#words.peek();
    if (token.kind === 'name' || (token.kind === 'word' && !CLAUSES.has(token.word))) {
      this.#qualifiers.add(this.#words.next().text.toLowerCase());
    } else if (isAs) {
      throw new SqlFault(token.column, `expected a name after AS, got ${shown(token)}`);
    }
    this.#words.take(';');
    const rest = this.#words.peek();
    if (rest.kind === 'end') return;
    if (CLAUSES.has(rest.word)) this.#words.unsupported(rest.word);
    if (rest.text === ',') this.#words.unsupported('a join');
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
    if (this.#words.take('*')) {
      if (this.#words.isWord('EXCEPT')) this.#words.unsupported('* EXCEPT');
      return { value: undefined, name: undefined };
    }
    const [name, dot, star] = [this.#words.peek(), this.#words.peek(1), this.#words.peek(2)];
    if (isName(name) && dot.text === '.' && star.kind === 'symbol' && star.text === '*') {
      this.#qualified.push({ qualifier: name.text, at: name.column });
      for (let i = 0; i < 3; i++) this.#words.next();
      return { value: undefined, name: undefined };
    }
    const value = this.#expressions.expression();
    const isAs = this.#words.takeWord('AS');
    const alias = this.#words.peek();
    if (alias.kind === 'name' || (alias.kind === 'word' && (isAs || alias.word !== 'FROM'))) {
      return { value, name: this.#words.next().text };
    }
    if (isAs) throw new SqlFault(alias.column, `expected a name after AS, got ${shown(alias)}`);
    return { value, name: value.kind === 'column' ? value.name : undefined };
  }
}
