// Spark's SQLTransformer: a SELECT statement as columns of a plan. Importer's worker thread; pure.
// Source: tabular.md 5.3 and 10.
import type { Column, PlanBuilder } from '../../tabular/builder.js';
import type { Problems } from '../../tabular/problems.js';
import type { Sql } from './ast.js';
import { SqlFault } from './lexer.js';
import { lowerExpression } from './lower.js';
import { parseSelect } from './parser.js';

export { SQL_ALIASES, SQL_FUNCTIONS, type SqlFunction } from './functions.js';

/** The columns that a statement sees. */
export interface SqlColumns {
  /** In order. */
  names(): readonly string[];
  /** Of one of names(). */
  get(name: string): Column;
  /** Of a name that is not there: a new field of requests, or undefined where there can be none. */
  missing(name: string): Column | undefined;
}

export interface SqlResult {
  /** The columns behind the stage, in order, those of `*` included. */
  readonly columns: readonly { readonly name: string; readonly column: Column }[];
  /** The statement has `*`: columns that nobody knows of yet (fields of requests) go on too. */
  readonly keepsAll: boolean;
}

/**
 * Appends what computes the statement's columns. Problems are collected, with their place in the
 * statement; undefined where there were any.
 */
export function lowerSql(
  builder: PlanBuilder,
  statement: string,
  columns: SqlColumns,
  problems: Problems,
  place: string,
): SqlResult | undefined {
  try {
    return new Statement(builder, columns, problems, place).lower(statement);
  } catch (error) {
    if (error instanceof SqlFault) problems.add(place, error.message);
    else if (error instanceof RangeError) problems.add(place, `statement: ${error.message}`);
    else throw error;
    return undefined;
  }
}

class Statement {
  readonly #builder: PlanBuilder;
  readonly #columns: SqlColumns;
  readonly #problems: Problems;
  readonly #place: string;
  /** Aliases to the left, which expressions may name where no column has the name. */
  readonly #aliases = new Map<string, Column>();
  #isFine = true;

  constructor(builder: PlanBuilder, columns: SqlColumns, problems: Problems, place: string) {
    this.#builder = builder;
    this.#columns = columns;
    this.#problems = problems;
    this.#place = place;
  }

  lower(statement: string): SqlResult | undefined {
    const { items } = parseSelect(statement);
    const found: { readonly name: string; readonly column: Column }[] = [];
    const all = this.#columns.names();
    for (const { value, name } of items) {
      if (value === undefined) {
        for (const each of all) found.push({ name: each, column: this.#columns.get(each) });
      } else {
        const column = this.#item(value, name);
        found.push({ name, column });
        this.#aliases.set(name.toLowerCase(), column);
      }
    }
    const keepsAll = items.some(({ value }) => value === undefined);
    return this.#isFine ? { columns: found, keepsAll } : undefined;
  }

  /** A column that is only renamed is the same column. */
  #item(value: Sql, name: string): Column {
    if (value.kind === 'column') {
      const column = this.#column(value.name, value.at);
      return column ?? this.#builder.column(name, 'any');
    }
    const { expression, type, element } = lowerExpression(value, {
      builder: this.#builder,
      column: (each, at) => this.#column(each, at),
      problem: (at, reason) => this.#problem(at, reason),
    });
    return this.#builder.derive(name, type, expression, this.#place, element);
  }

  /** Names are the same in upper and lower case, as they are by default in Spark. */
  #column(name: string, at: number): Column | undefined {
    const lower = name.toLowerCase();
    const [first, second] = this.#columns.names().filter((each) => each.toLowerCase() === lower);
    if (second !== undefined) {
      this.#problem(at, `'${name}' may be '${first}' or '${second}'`);
      return undefined;
    }
    if (first !== undefined) return this.#columns.get(first);
    const alias = this.#aliases.get(lower);
    if (alias !== undefined) return alias;
    const made = this.#columns.missing(name);
    if (made === undefined) this.#problem(at, `there is no column '${name}'`);
    return made;
  }

  #problem(at: number, reason: string): void {
    this.#isFine = false;
    this.#problems.add(this.#place, `statement, column ${at}: ${reason}`);
  }
}
