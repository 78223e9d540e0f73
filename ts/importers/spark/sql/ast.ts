// A SELECT statement as data. Importer's worker thread; pure.

/** 'decimal' has precision and scale. */
export type SqlTypeName =
  | 'boolean'
  | 'tinyint'
  | 'smallint'
  | 'int'
  | 'bigint'
  | 'float'
  | 'double'
  | 'decimal'
  | 'string'
  | 'binary'
  | 'date'
  | 'timestamp'
  | 'array'
  | 'map';

export interface SqlType {
  readonly name: SqlTypeName;
  readonly precision: number;
  readonly scale: number;
  /** The items of an array, or the keys and values of a map. */
  readonly parts?: readonly SqlType[];
}

/** null: NULL. Numbers as text, exact. */
export interface SqlLiteral {
  readonly type: SqlType | undefined;
  readonly text: string;
  /** A TIMESTAMP_NTZ. */
  readonly zoneless?: boolean;
}

export type Sql =
  | { readonly kind: 'column'; readonly name: string; readonly at: number }
  | { readonly kind: 'literal'; readonly literal: SqlLiteral; readonly at: number }
  | {
      readonly kind: 'call';
      /** The function's name in lower case; operators have names too: 'add', 'and', 'in'. */
      readonly name: string;
      readonly args: readonly Sql[];
      readonly at: number;
      /** The function as it is written, where an operator or another function has the name. */
      readonly written?: string;
    }
  | { readonly kind: 'cast'; readonly of: Sql; readonly to: SqlType; readonly at: number };

export const call = (name: string, at: number, ...args: readonly Sql[]): Sql => ({
  kind: 'call',
  name,
  args,
  at,
});

export interface SelectItem {
  /** undefined: all columns. */
  readonly value: Sql | undefined;
  /** undefined: it has no AS. */
  readonly name: string | undefined;
}

export interface Select {
  readonly items: readonly SelectItem[];
}
