// The common parts of ensembles: their members with their places, and means of columns. Importer's
// worker thread; pure.
import { call, type Column, columnRef, constant, type Expression } from '../../plan/builder.js';
import { derived } from '../frame/scores.js';
import type { Step } from '../frame/step.js';
import type { Item } from '../read/item.js';

/** Errors: RangeError: there are none. */
export const membersOf = ({ item }: Step): readonly Item[] => {
  const members = item.get('estimators_').list();
  if (members.length > 0) return members;
  throw item.bad('estimators_: expected one or more');
};

/** The place of a part. */
export const partPlace = ({ item, place }: Step, part: string): string =>
  place === item.className ? part : `${place}, ${part}`;

export const memberPlace = (step: Step, i: number): string => partPlace(step, `estimators_[${i}]`);

/** The weights of the members that are not dropped; undefined: they are equal. */
export function weightsOf({ item }: Step, count: number): Float64Array | undefined {
  const given = item.given('weights');
  if (given === undefined) return undefined;
  const stored = given.reals([-1]);
  if (stored.length === count) return stored;
  const all = item.get('estimators').list();
  if (stored.length !== all.length) {
    throw given.bad(`expected ${all.length} weights, got ${stored.length}`);
  }
  const own = stored.filter((_, i) => all[i]?.list()[1]?.plain() !== 'drop');
  if (own.length === count) return own;
  throw given.bad(`expected weights of ${count} members, got ${own.length}`);
}

/** Same as weightsOf(), for means. Errors: RangeError: a sum of 0. */
export function meanWeightsOf(step: Step, count: number): Float64Array | undefined {
  const weights = weightsOf(step, count);
  const total = weights?.reduce((before, each) => before + each, 0) ?? count;
  if (total === 0) throw step.item.bad('weights: expected a sum other than 0');
  return weights;
}

/** The sum of values, added in their order. */
export function sumOf(
  values: readonly Expression[],
  weights: Float64Array | undefined,
): Expression {
  const terms = values.map((value, i) =>
    weights === undefined ? value : call('sql.multiply', value, constant(weights[i] ?? 0)),
  );
  return terms.reduce((before, term) => call('sql.add', before, term));
}

/** The mean of values, added in their order. */
export function meanOf(
  { lowering, place }: Step,
  values: readonly Expression[],
  weights: Float64Array | undefined,
): Column {
  const sum = sumOf(values, weights);
  const total = weights?.reduce((before, each) => before + each, 0) ?? values.length;
  return derived(lowering.builder, 'mean', call('sql.divide', sum, constant(total)), place);
}

/** 1 where the class has this position, else 0. */
export const isClass = (index: Column, position: number): Expression =>
  call(
    'sql.case',
    call('sql.equal', columnRef(index), constant(position)),
    constant(1),
    constant(0),
  );
