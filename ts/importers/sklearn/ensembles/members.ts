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

/** The weights of an ensemble; undefined: they are equal. Errors: RangeError: a sum of 0. */
export function weightsOf({ item }: Step, count: number): Float64Array | undefined {
  const given = item.given('weights')?.reals([count]);
  const total = given?.reduce((before, each) => before + each, 0) ?? count;
  if (total === 0) throw item.bad('weights: expected a sum other than 0');
  return given;
}

/** The mean of values, added in their order. */
export function meanOf(
  { lowering, place }: Step,
  values: readonly Expression[],
  weights: Float64Array | undefined,
): Column {
  const terms = values.map((value, i) =>
    weights === undefined ? value : call('sql.multiply', value, constant(weights[i] ?? 0)),
  );
  const sum = terms.reduce((before, term) => call('sql.add', before, term));
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
