// Statements of SQLTransformer over columns of a request, for tests.
import type { Column } from '../../../../../ts/importers/plan/builder.js';
import { PlanBuilder } from '../../../../../ts/importers/plan/builder.js';
import type { Plan } from '../../../../../ts/importers/plan/generated/plan.js';
import { zoneOf } from '../../../../../ts/importers/plan/zones.js';
import { Problems } from '../../../../../ts/importers/plan/problems.js';
import { lowerSql, type SqlResult } from '../../../../../ts/importers/spark/sql/index.js';

export interface Statement {
  readonly plan: Plan;
  readonly result: SqlResult | undefined;
  /** "position: reason" */
  readonly problems: readonly string[];
}

export interface LoweredOptions {
  /** Columns that are not in `names` become fields of requests. */
  readonly open?: boolean;
  readonly timezone?: string;
  /** The version of Spark that saved the statement. */
  readonly major?: number;
  readonly ansi?: boolean;
}

/** `names`: the existing columns. */
export function lowered(
  statement: string,
  names: readonly string[],
  { open = false, timezone = '', major = 3, ansi = false }: LoweredOptions = {},
): Statement {
  const builder = new PlanBuilder('spark', 'a test');
  if (timezone !== '') {
    builder.useZone(zoneOf(timezone));
    builder.timezone = timezone;
  }
  const known = new Map<string, Column>();
  const add = (name: string): Column => {
    const column = builder.field({ name, type: 'double', any: true });
    known.set(name, column);
    return column;
  };
  names.forEach(add);
  const columns = {
    names: () => [...known.keys()],
    get: (name: string) => known.get(name) ?? add(name),
    missing: (name: string) => (open ? add(name) : undefined),
  };
  const problems = new Problems();
  const result = lowerSql(builder, statement, columns, problems, 'stage 0', { major, ansi });
  for (const { name, column } of result?.columns ?? []) {
    builder.output({ name, column, type: builder.typeOf(column) });
  }
  return {
    plan: builder.finish(),
    result,
    problems: problems.all.map(({ place, reason }) => `${place}: ${reason}`),
  };
}
