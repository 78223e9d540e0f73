// The sums of weighted features that oblique conditions compare, in floats. Importer's worker
// thread; pure. Source: YDF's serving/decision_forest/decision_forest_serving.cc (EvalCondition).
import {
  call,
  type Column,
  columnRef,
  type Expression,
  type PlanBuilder,
} from '../../plan/builder.js';
import { float } from '../../plan/xgboost/scores.js';
import { isNumerical } from '../../ydf/messages.js';
import type { Feature } from './fields.js';
import { checkOblique, type ObliqueTest } from '../../ydf/nodes.js';

const PLACE = 'oblique splits';
/** Sums of one model: each is a column, which all rows compute. */
const SUMS_MAX = 65_536;

/**
 * Returns a function that makes the column of a condition's sum; equal sums share it. Errors of the
 * function: RangeError: lists of different lengths, a feature that is not numerical, too many sums.
 */
export function projections(
  builder: PlanBuilder,
  features: ReadonlyMap<number, Feature>,
): (test: ObliqueTest) => Column {
  const sums = new Map<string, Column>();
  const filled = new Map<string, Column>();
  const valueOf = (attribute: number, replacement: number | undefined): Expression => {
    const feature = features.get(attribute);
    if (feature === undefined || !isNumerical(feature.spec)) {
      throw new RangeError(`column ${attribute} of an oblique condition is no numerical feature`);
    }
    const value = columnRef(feature.column);
    if (replacement === undefined) return value;
    const key = `${attribute} ${replacement}`;
    const known = filled.get(key);
    if (known !== undefined) return columnRef(known);
    const number = call('sql.coalesce', value, float(Number.NaN));
    const full = call('sql.case', call('sql.isnan', number), float(replacement), number);
    const name = `filled ${feature.spec.name}`;
    const column = builder.derive(name, 'float', full, PLACE);
    filled.set(key, column);
    return columnRef(column);
  };
  return (test) => {
    checkOblique(test);
    const { attributes, weights, replacements } = test;
    const key = JSON.stringify([attributes, weights, replacements]);
    const known = sums.get(key);
    if (known !== undefined) return known;
    if (sums.size >= SUMS_MAX) {
      throw new RangeError(`expected at most ${SUMS_MAX} oblique conditions, got more`);
    }
    const products = attributes.map((attribute, i) =>
      call('sql.multiply', float(weights[i] ?? 0), valueOf(attribute, replacements[i])),
    );
    const sum = products.reduce((before, product) => call('sql.add', before, product));
    const column = builder.derive(`sum ${sums.size}`, 'float', sum, PLACE);
    sums.set(key, column);
    return column;
  };
}
