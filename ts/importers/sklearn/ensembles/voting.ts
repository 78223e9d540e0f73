// Votes of several models: means of their values or probabilities, or the class of most of them.
// Importer's worker thread; pure. Source: scikit-learn's ensemble/_voting.py.
import { call, type Column, columnRef, constant } from '../../plan/builder.js';
import { scoreCount, summed } from '../../plan/explain.js';
import type { Frame } from '../frame/frame.js';
import { severalClasses } from '../frame/labels.js';
import { assembled, derived, elementOf, greatestIndex } from '../frame/scores.js';
import type { Classified, Estimated, Explained, Result, Step } from '../frame/step.js';
import {
  isClass,
  meanOf,
  meanWeightsOf,
  memberPlace,
  membersOf,
  sumOf,
  weightsOf,
} from './members.js';

export function votingRegressor(step: Step, frame: Frame): Estimated {
  const voters = membersOf(step).map((voter, i) => {
    const result = step.lowering.lower(voter, frame, memberPlace(step, i));
    if (result.role === 'regressor' && result.values.size === 1) return result;
    throw voter.bad('expected a regressor of one output');
  });
  const weights = meanWeightsOf(step, voters.length);
  const values = voters.map(({ values: { column } }) => columnRef(column));
  const column = meanOf(step, values, weights);
  const explained = explainedMean(frame, voters, weights, 1);
  return { role: 'regressor', values: { column, size: 1 }, ...explained };
}

export function votingClassifier(step: Step, frame: Frame): Classified {
  const { item, lowering, place } = step;
  const voting = item.get('voting').text();
  if (voting !== 'soft' && voting !== 'hard') {
    throw item.bad(`voting: expected soft or hard, got '${voting}'`);
  }
  const classes = severalClasses(item);
  const count = classes.values.length;
  const voters = membersOf(step).map((voter, i) => {
    const result = lowering.lower(voter, frame, memberPlace(step, i));
    const fits = result.role === 'classifier' && result.classes.values.length === count;
    if (fits && (voting === 'hard' || result.probability !== undefined)) return result;
    const what = voting === 'hard' ? 'a classifier of' : 'a classifier with probabilities of';
    throw voter.bad(`expected ${what} ${count} classes`);
  });
  if (voting === 'hard') {
    const indexes = voters.map(({ index }) => index);
    return { role: 'classifier', classes, index: mostVotes(step, indexes, count) };
  }
  const weights = meanWeightsOf(step, voters.length);
  const means = classes.values.map((_, k) => {
    const values = voters.map(({ probability }) =>
      columnRef(elementOf(lowering.builder, probability as Column, k, place)),
    );
    return meanOf(step, values, weights);
  });
  const probability = assembled(lowering.builder, means, place);
  const index = greatestIndex(lowering.builder, probability, place);
  const isProbability = voters.every(({ explained }) => explained?.isProbability === true);
  const explained = isProbability ? explainedMean(frame, voters, weights, count) : {};
  return { role: 'classifier', classes, index, probability, ...explained };
}

/** The class with the greatest sum of weights. `indexes`: the class that each member predicts. */
function mostVotes(step: Step, indexes: readonly Column[], count: number): Column {
  const { lowering, place } = step;
  const weights = weightsOf(step, indexes.length);
  const isAnyNegative = weights?.some((weight) => weight < 0) === true;
  const sums = Array.from({ length: count }, (_, k) => {
    const votes = indexes.map((index) => isClass(index, k));
    const sum = sumOf(votes, weights);
    if (!isAnyNegative) return sum;
    // np.bincount() counts up to the last class that has a vote: later ones are not in it.
    const isCounted = indexes
      .map((index) => call('sql.greater_equal', columnRef(index), constant(k)))
      .reduce((before, each) => call('sql.or', before, each));
    return call('sql.case', isCounted, sum, constant(Number.NEGATIVE_INFINITY));
  });
  const columns = sums.map((sum) => derived(lowering.builder, 'votes', sum, place));
  return greatestIndex(lowering.builder, assembled(lowering.builder, columns, place), place);
}

/** The mean of the members' explanations; {}: one has none, or not of the ensemble's features. */
export function explainedMean(
  frame: Frame,
  members: readonly Extract<Result, { readonly role: 'regressor' | 'classifier' }>[],
  weights: Float64Array | undefined,
  scores: number,
): { readonly explained?: Explained } {
  const total = weights?.reduce((sum, each) => sum + each, 0) ?? members.length;
  const numbers = frame.map((_, feature) => feature);
  const parts = members.flatMap(({ explained }, i) => {
    const fits =
      explained !== undefined &&
      explained.frame === frame &&
      explained.isMargin !== true &&
      scoreCount(explained.by) === scores;
    const weight = (weights?.[i] ?? 1) / total;
    const places = Array.from({ length: scores }, (_, score) => score);
    return fits ? [{ of: explained.by, weight, features: numbers, scores: places }] : [];
  });
  if (parts.length < members.length) return {};
  const by = summed({ parts, features: frame.length, scores });
  const isProbability = members.every(({ role }) => role === 'classifier');
  return { explained: { frame, by, ...(isProbability ? { isProbability } : {}) } };
}
