// Rows of the tables of SQL's functions. Importer's worker thread; constants.

/** The type of a call's values: one of the plan, or one that its arguments decide at run time. */
export type ResultType =
  | 'bool'
  | 'int32'
  | 'int64'
  | 'double'
  | 'string'
  | 'binary'
  | 'date'
  | 'timestamp'
  | 'strings' // a list of them
  | 'any';

export interface SqlFunction {
  /** Number of arguments; max -1: any number. */
  readonly min: number;
  readonly max: number;
  readonly result: ResultType;
  /** For the documentation's table. */
  readonly group: string;
  /** Arguments that must be constants, by position. */
  readonly constants?: readonly number[];
}

export const rows = (
  group: string,
  result: ResultType,
  table: Readonly<
    Record<string, readonly [min: number, max: number, constants?: readonly number[]]>
  >,
): [string, SqlFunction][] =>
  Object.entries(table).map(([name, [min, max, constants]]) => [
    name,
    { min, max, result, group, ...(constants === undefined ? {} : { constants }) },
  ]);
