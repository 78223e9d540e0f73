// The class that a classifier answers with, as an additional output. Importer's worker thread;
// pure.
import { columnRef, type Expression, type PlanBuilder } from '../plan/builder.js';
import type { Type } from '../plan/generated/plan.js';
import { addPick } from '../plan/forest.js';
import type { Booster } from '../plan/xgboost/booster.js';
import { cast } from '../plan/xgboost/scores.js';
import { addOutput, LABEL } from '../plan/outputs.js';

/**
 * The labels that scikit-learn's interface of XGBoost stored before version 2; undefined: classes
 * are numbers from 0. Errors: RangeError: not a label for each class.
 */
export function classesOf(
  { attributes = {} }: Booster,
  count: number,
): readonly (string | number)[] | undefined {
  const stored = attributes['scikit_learn'];
  if (typeof stored !== 'string') return undefined;
  let parsed: unknown;
  try {
    parsed = JSON.parse(stored);
  } catch {
    return undefined;
  }
  const { classes_: classes } = (parsed ?? {}) as { readonly classes_?: unknown };
  if (!Array.isArray(classes)) return undefined;
  const isText = classes.every((one) => typeof one === 'string');
  const isNumber = classes.every(
    (one) => Number.isInteger(one) && Math.abs(one as number) < 2 ** 31,
  );
  if (!isText && !isNumber) return undefined;
  if (classes.length === count) return classes as readonly (string | number)[];
  throw new RangeError(`classes_: expected ${count} labels, got ${classes.length}`);
}

/** `number`: the class's number, from 0. */
export function addClassLabel(
  builder: PlanBuilder,
  number: Expression,
  classes: readonly (string | number)[] | undefined,
  place: string,
): void {
  const { type, value } = classColumn(builder, number, classes, place);
  addOutput(builder, LABEL, type, [value], { place, extra: true });
}

/** The class that has this number. */
export function classColumn(
  builder: PlanBuilder,
  number: Expression,
  classes: readonly (string | number)[] | undefined,
  place: string,
): { readonly type: Type; readonly value: Expression } {
  if (classes === undefined) return { type: 'int64', value: cast(number, 'bigint') };
  const index = builder.derive('number of the class', 'int32', cast(number, 'int'), place);
  const isText = classes.every((one) => typeof one === 'string');
  const column = builder.column(LABEL, isText ? 'string' : 'int32');
  const table = isText
    ? { texts: classes.map(String) }
    : { integers: Int32Array.from(classes, Number) };
  addPick(builder, index, table, column, place);
  return { type: builder.typeOf(column), value: columnRef(column) };
}
