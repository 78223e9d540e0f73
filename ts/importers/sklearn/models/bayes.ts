// Naive Bayes and nearest centers. Importer's worker thread; pure. Source: scikit-learn's
// naive_bayes.py, cluster/_kmeans.py.
import type { Column } from '../../plan/builder.js';
import { linearScores } from '../../plan/ops/linear.js';
import { kMeans } from '../../plan/ops/learned.js';
import { binarizer } from '../../plan/ops/numbers.js';
import { type Frame, vectorOf } from '../frame/frame.js';
import { severalClasses } from '../frame/labels.js';
import { greatestIndex, linked } from '../frame/scores.js';
import type { Classified, Clustered, Step } from '../frame/step.js';

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
