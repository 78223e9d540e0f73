// Spark's SQLTransformer: a SELECT statement as columns of a plan. Importer's worker thread; pure.
// Source: tabular.md 5.3 and 10.
import type { Column, PlanBuilder } from '../../plan/builder.js';
import type { Problems } from '../../plan/problems.js';
import type { Sql } from './ast.js';
import { SqlFault } from './lexer.js';
import { lowerExpression } from './lower.js';
import { parseSelect } from './parser.js';
import { nameOf, type Naming, sqlText } from './print.js';

export { SQL_ALIASES, SQL_FUNCTIONS, type SqlFunction } from './functions.js';

/** Characters of an expression that an error names. */
const WRITTEN_MAX = 200;

/** The columns that a statement sees. */
export interface SqlColumns {
  /** In order. */
  names(): readonly string[];
  /** The column of one of names(). */
  get(name: string): Column;
  /** Handles an unknown name: returns a new request field, or undefined if there can be none. */
  missing(name: string): Column | undefined;
}

export interface SqlResult {
  /** The columns after the stage, in order, including those of `*`. */
  readonly columns: readonly { readonly name: string; readonly column: Column }[];
  /** The statement has `*`: unknown columns (fields of requests) pass through too. */
  readonly keepsAll: boolean;
}

/** Differences between versions of Spark. */
export interface SqlDialect {
  /** The version of Spark that saved the statement: names of columns without AS differ. */
  readonly major: number;
  /** spark.sql.ansi.enabled */
  readonly ansi: boolean;
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
  dialect: SqlDialect,
): SqlResult | undefined {
  try {
    return new Statement(builder, columns, problems, place, dialect).lower(statement);
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
  readonly #dialect: SqlDialect;
  readonly #naming: Naming;
  /** Aliases to the left, which expressions may name where no column has the name. */
  readonly #aliases = new Map<string, Column>();
  #isFine = true;

  constructor(
    builder: PlanBuilder,
    columns: SqlColumns,
    problems: Problems,
    place: string,
    dialect: SqlDialect,
  ) {
    this.#builder = builder;
    this.#columns = columns;
    this.#problems = problems;
    this.#place = place;
    this.#dialect = dialect;
    this.#naming = { major: dialect.major, isDate: (column) => this.#isDate(column) };
  }

  #isDate(name: string): boolean {
    const lower = name.toLowerCase();
    const found = this.#columns.names().find((each) => each.toLowerCase() === lower);
    const column = found === undefined ? this.#aliases.get(lower) : this.#columns.get(found);
    return column !== undefined && this.#builder.typeOf(column) === 'date';
  }

  lower(statement: string): SqlResult | undefined {
    const { items } = parseSelect(statement, this.#dialect.major);
    const found: { readonly name: string; readonly column: Column }[] = [];
    const all = this.#columns.names();
    for (const item of items) {
      const { value } = item;
      if (value === undefined) {
        for (const each of all) found.push({ name: each, column: this.#columns.get(each) });
      } else {
        const name = item.name ?? nameOf(value, this.#naming);
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
    return this.#builder.deriveSql(name, type, expression, this.#place, {
      written: sqlText(value, this.#naming).slice(0, WRITTEN_MAX),
      ansi: this.#dialect.ansi,
      element,
    });
  }

  /** Names are the same in upper and lower case, as they are by default in Spark. */
  #column(name: string, at: number): Column | undefined {
    const lower = name.toLowerCase();
    const [first, second] = this.#columns.names().filter((each) => each.toLowerCase() === lower);
    if (second !== undefined) {
      this.#problem(at, `'${name}' is ambiguous: it matches '${first}' and '${second}'`);
      return undefined;
    }
    if (first !== undefined) return this.#columns.get(first);
    const alias = this.#aliases.get(lower);
    if (alias !== undefined) return alias;
    const made = this.#columns.missing(name);
    if (made === undefined) this.#problem(at, `unknown column '${name}'`);
    return made;
  }

  #problem(at: number, reason: string): void {
    this.#isFine = false;
    this.#problems.add(this.#place, `statement, column ${at}: ${reason}`);
  }
}
