// Rows of the tables of SQL's functions. Importer's worker thread; constants.

import { FUNCTIONS, type FunctionName } from '../../../plan/generated/functions.js';

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
  /** Its name in a plan. */
  readonly call: FunctionName;
  /** Number of arguments; max -1: any number. */
  readonly min: number;
  readonly max: number;
  readonly result: ResultType;
  /** For the documentation's table. */
  readonly group: string;
  /** Arguments that must be constants, by position. */
  readonly constants?: readonly number[];
}

/** The functions of SQL, without the dialect. */
export type SqlName = FunctionName extends infer Name
  ? Name extends `sql.${infer Plain}`
    ? Plain
    : never
  : never;

/** `table`: for each function the arguments that must be constants. */
export const rows = (
  group: string,
  result: ResultType,
  table: Readonly<Partial<Record<SqlName, readonly number[]>>>,
): [string, SqlFunction][] =>
  (Object.keys(table) as SqlName[]).map((name) => {
    const constants = table[name] ?? [];
    const [min, max] = FUNCTIONS[`sql.${name}`];
    const call = `sql.${name}` as const;
    const row = { call, min, max, result, group };
    return [name, constants.length === 0 ? row : { ...row, constants }];
  });
