// Naive Bayes, nearest centers, and votes of several models. Importer's worker thread; pure.
// Source: scikit-learn's naive_bayes.py, cluster/_kmeans.py, ensemble/_voting.py.
import { call, type Column, columnRef, constant } from '../../plan/builder.js';
import { linearScores } from '../../plan/ops/linear.js';
import { kMeans } from '../../plan/ops/learned.js';
import { binarizer } from '../../plan/ops/numbers.js';
import { type Frame, vectorOf } from '../frame/frame.js';
import { type Labels, labelsOf } from '../frame/labels.js';
import { assembled, derived, elementOf, greatestIndex, linked } from '../frame/scores.js';
import type { Classified, Clustered, Estimated, Step } from '../frame/step.js';
import type { Item } from '../read/item.js';

function severalClasses(item: Item): Labels {
  const classes = labelsOf(item.get('classes_'));
  if (classes.values.length > 1) return classes;
  throw item.bad('classes_: expected two classes or more, got 1');
}

/** Probabilities and the greatest of scores that are logarithms. */
function ofLogarithms({ lowering, item, place }: Step, scores: Column): Classified {
  const { builder } = lowering;
  const index = greatestIndex(builder, scores, place);
  const probability = linked(builder, scores, 'softmax', place);
  return { role: 'classifier', classes: severalClasses(item), index, probability };
}

export function gaussianBayes(step: Step, frame: Frame): Classified {
  const { item, lowering, place } = step;
  const count = severalClasses(item).values.length;
  const sigma = item.find('var_') ?? item.get('sigma_');
  const attributes = {
    pi: item.get('class_prior_').reals([count]).map(Math.log),
    theta: item.get('theta_').reals([count, frame.length]),
    sigma: sigma.reals([count, frame.length]),
  };
  const features = vectorOf(lowering, frame, 'refuse', place);
  const scores = lowering.builder.column('logarithms of likelihoods', 'vector');
  lowering.builder.stage('gaussian_bayes', [features], [scores], attributes, place);
  return ofLogarithms(step, scores);
}

/** MultinomialNB, ComplementNB (without priors) and BernoulliNB. */
export const discreteBayes =
  (kind: 'multinomial' | 'complement' | 'bernoulli') =>
  (step: Step, frame: Frame): Classified => {
    const { item, lowering, place } = step;
    const { builder } = lowering;
    const size = severalClasses(item).values.length;
    const width = frame.length;
    const logs = item.get('feature_log_prob_').reals([size, width]);
    const priors = item.get('class_log_prior_').reals([size]);
    let features = vectorOf(lowering, frame, 'refuse', place);
    let coefficients = logs;
    let intercepts = kind === 'complement' ? new Float64Array(size) : priors;
    if (kind === 'bernoulli') {
      const threshold = item.given('binarize')?.number();
      if (threshold !== undefined) {
        const output = builder.column('binarized', 'vector');
        binarizer(builder, { input: features, output, threshold, missingIsZero: false }, place);
        features = output;
      }
      const others = logs.map((log) => Math.log1p(-Math.exp(log)));
      coefficients = logs.map((log, i) => log - (others[i] ?? 0));
      intercepts = priors.map(
        (prior, k) =>
          prior + others.subarray(k * width, (k + 1) * width).reduce((sum, log) => sum + log, 0),
      );
    }
    const scores = builder.column('logarithms of likelihoods', 'vector');
    linearScores(builder, { features, scores, coefficients, intercepts }, place);
    return ofLogarithms(step, scores);
  };

export function centers({ item, lowering, place }: Step, frame: Frame): Clustered {
  const { reals, shape } = item.get('cluster_centers_').shapedReals([-1, frame.length]);
  const k = shape[0] ?? 0;
  if (k < 1) throw item.bad('cluster_centers_: expected one or more');
  const features = vectorOf(lowering, frame, 'refuse', place);
  const index = lowering.builder.column('cluster', 'int32');
  const model = { features, prediction: index, centers: reals, k };
  kMeans(lowering.builder, { ...model, distance: 'euclidean' }, place);
  return { role: 'clusterer', index };
}

/** The mean of columns, with the weights of a voting model. */
function weightedMean({ item, lowering, place }: Step, columns: readonly Column[]): Column {
  const given = item.given('weights')?.reals([columns.length]);
  const terms = columns.map((column, i) => {
    const value = columnRef(column);
    return given === undefined ? value : call('sql.multiply', value, constant(given[i] ?? 0));
  });
  const sum = terms.reduce((before, term) => call('sql.add', before, term));
  const total = given?.reduce((before, each) => before + each, 0) ?? columns.length;
  if (total === 0) throw item.bad('weights: expected a sum other than 0');
  return derived(lowering.builder, 'mean', call('sql.divide', sum, constant(total)), place);
}

const votersOf = ({ item }: Step): readonly Item[] => {
  const voters = item.get('estimators_').list();
  if (voters.length > 0) return voters;
  throw item.bad('estimators_: expected one or more');
};

const voterPlace = ({ item, place }: Step, i: number): string =>
  place === item.className ? `estimators_[${i}]` : `${place}, estimators_[${i}]`;

export function votingRegressor(step: Step, frame: Frame): Estimated {
  const columns = votersOf(step).map((voter, i) => {
    const result = step.lowering.lower(voter, frame, voterPlace(step, i));
    if (result.role === 'regressor' && result.values.size === 1) return result.values.column;
    throw voter.bad('expected a regressor of one output');
  });
  return { role: 'regressor', values: { column: weightedMean(step, columns), size: 1 } };
}

export function votingClassifier(step: Step, frame: Frame): Classified {
  const { item, lowering, place } = step;
  const voting = item.get('voting').text();
  if (voting !== 'soft') throw item.bad(`voting='${voting}' is not supported: expected 'soft'`);
  const classes = severalClasses(item);
  const count = classes.values.length;
  const voters = votersOf(step).map((voter, i) => {
    const result = lowering.lower(voter, frame, voterPlace(step, i));
    const fits = result.role === 'classifier' && result.classes.values.length === count;
    if (fits && result.probability !== undefined) return result.probability;
    throw voter.bad(`expected a classifier with probabilities of ${count} classes`);
  });
  const means = classes.values.map((_, k) =>
    weightedMean(
      step,
      voters.map((voter) => elementOf(lowering.builder, voter, k, place)),
    ),
  );
  const probability = assembled(lowering.builder, means, place);
  const index = greatestIndex(lowering.builder, probability, place);
  return { role: 'classifier', classes, index, probability };
}
