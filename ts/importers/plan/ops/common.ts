// Shared parts of the operators of tabular models. An operator is a function that appends the
// stages of one step to a plan: the caller makes the output columns with builder.column(), and the
// operator fills them. Attribute names and stage kinds are those of
// native/tabular/{features,models}. Importer's worker thread; pure.
import type { Column, PlanBuilder } from '../builder.js';

/**
 * How a step handles a value that it cannot process. 'skip' (Spark drops the row) is 'error' here:
 * rows are never dropped. Source: tabular.md 2.1
 */
export type HandleInvalid = 'error' | 'skip' | 'keep';

/** The requested columns of `wanted`, and which ones they are: the attribute `roles`. */
export function chosen<Role extends string>(
  wanted: Readonly<Record<Role, Column | undefined>>,
): { readonly columns: readonly Column[]; readonly roles: readonly Role[] } {
  const columns: Column[] = [];
  const roles: Role[] = [];
  for (const role of Object.keys(wanted) as Role[]) {
    const column = wanted[role];
    if (column === undefined) continue;
    columns.push(column);
    roles.push(role);
  }
  return { columns, roles };
}

/** `given`, or a new column of vectors that nobody else sees. */
export function vectorColumn(
  builder: PlanBuilder,
  given: Column | undefined,
  name: string,
): Column {
  return given ?? builder.column(name, 'vector');
}

/** 1 / value, and 0 where that is not finite: how Spark scales a column that does not vary. */
export function inverseOrZero(values: Float64Array): Float64Array {
  return values.map((value) => (value === 0 ? 0 : 1 / value));
}
