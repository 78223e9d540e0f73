// Linear models. Importer's worker thread; pure. Source: scikit-learn's linear_model/_base.py,
// _logistic.py, _stochastic_gradient.py, _glm/glm.py, discriminant_analysis.py, svm/_classes.py.
import { call, type Column, columnRef, constant } from '../../plan/builder.js';
import { linearRegression, linearScores } from '../../plan/ops/linear.js';
import { type Frame, vectorOf } from '../frame/frame.js';
import { type Labels, labelsOf } from '../frame/labels.js';
import {
  derived,
  elementOf,
  greatestIndex,
  linked,
  signIndex,
  twoProbabilities,
} from '../frame/scores.js';
import type { Classified, Estimated, Explained, Scores, Step } from '../frame/step.js';
import type { Item } from '../read/item.js';

interface Coefficients {
  readonly coefficients: Float64Array;
  readonly intercepts: Float64Array;
  readonly size: number;
  /** Whether there is one row of coefficients rather than a list. */
  readonly isSingle: boolean;
}

/** Errors: RangeError: other shapes. */
export function coefficientsOf(item: Item, features: number): Coefficients {
  const coef = item.get('coef_');
  const { shape } = coef.array();
  const isSingle = shape.length === 1;
  const coefficients = coef.reals(isSingle ? [features] : [-1, features]);
  const size = isSingle ? 1 : (shape[0] ?? 0);
  if (size < 1) throw coef.bad('expected coefficients, got none');
  return { coefficients, intercepts: interceptsOf(item, size), size, isSingle };
}

/** A number for each score; models without intercepts have the number 0. */
function interceptsOf(item: Item, size: number): Float64Array {
  const intercept = item.get('intercept_');
  const one = intercept.plain();
  if (typeof one === 'number') return new Float64Array(size).fill(one);
  return intercept.reals([size]);
}

/** The scores of classes: a Double for two classes, else a Vector. */
export function linearDecision(
  { lowering: { builder }, item, place }: Step,
  features: Column,
  width: number,
  classes: number,
): Scores {
  const { coefficients, intercepts, size } = coefficientsOf(item, width);
  const expected = classes === 2 ? 1 : classes;
  if (size !== expected) {
    throw item.bad(`coef_: expected ${expected} rows for ${classes} classes, got ${size}`);
  }
  const column = builder.column('decision', size === 1 ? 'double' : 'vector');
  if (size === 1) {
    const intercept = intercepts[0] ?? 0;
    linearRegression(builder, { features, prediction: column, coefficients, intercept }, place);
  } else {
    linearScores(builder, { features, scores: column, coefficients, intercepts }, place);
  }
  return { column, size };
}

/** The explanation of the sums of a model. */
function explainedSums(
  { item }: Step,
  frame: Frame,
  vector: Column,
): { readonly explained: Explained } {
  const { coefficients, intercepts } = coefficientsOf(item, frame.length);
  return { explained: { frame, by: { features: { vector }, coefficients, intercepts } } };
}

type Probability = 'sigmoid' | 'softmax' | 'softmax_of_two' | 'none';

function classesOf(item: Item): Labels {
  const own = item.find('classes_');
  if (own !== undefined) return labelsOf(own);
  const binarizer = item.get('_label_binarizer');
  const kind = binarizer.get('y_type_').text();
  if (kind.startsWith('multilabel'))
    throw binarizer.bad(`labels of the kind ${kind} are not supported`);
  return labelsOf(binarizer.get('classes_'));
}

/** `probabilityOf`: how the model turns scores into probabilities. */
export const linearClassifier =
  (probabilityOf: (item: Item, classes: number) => Probability) =>
  (step: Step, frame: Frame): Classified => {
    const { lowering, item, place } = step;
    const { builder } = lowering;
    const classes = classesOf(item);
    const count = classes.values.length;
    if (count < 2) throw item.bad(`classes_: expected two classes or more, got ${count}`);
    const features = vectorOf(lowering, frame, 'refuse', place);
    const decision = linearDecision(step, features, frame.length, count);
    const { column, size } = decision;
    const index =
      size === 1 ? signIndex(builder, column, place) : greatestIndex(builder, column, place);
    const probability = probabilities(step, decision, probabilityOf(item, count));
    const shown = probability === undefined ? {} : { probability };
    const explained = explainedSums(step, frame, features);
    return { role: 'classifier', classes, index, decision, ...shown, ...explained };
  };

function probabilities(
  { lowering: { builder }, place }: Step,
  { column, size }: Scores,
  kind: Probability,
): Column | undefined {
  if (kind === 'none') return undefined;
  if (size === 1) {
    if (kind !== 'softmax_of_two') return twoProbabilities(builder, column, place);
    // The softmax of (-score, score).
    const twice = call('sql.multiply', constant(2), columnRef(column));
    return twoProbabilities(builder, derived(builder, 'score', twice, place), place);
  }
  if (kind !== 'sigmoid') return linked(builder, column, 'softmax', place);
  return linked(builder, linked(builder, column, 'sigmoid', place), 'normalize', place);
}

/** Before scikit-learn 1.8, models have `multi_class`. */
export function logisticProbability(item: Item, classes: number): Probability {
  const given = item.given('multi_class')?.text() ?? 'auto';
  const solver = item.given('solver')?.text() ?? '';
  if (classes === 2) return given === 'multinomial' ? 'softmax_of_two' : 'sigmoid';
  const isOvr = given === 'ovr' || given === 'warn' || solver === 'liblinear';
  return isOvr ? 'sigmoid' : 'softmax';
}

/** Losses of SGDClassifier that have probabilities. */
export function sgdProbability(item: Item): Probability {
  const loss = item.get('loss').text();
  return loss === 'log_loss' || loss === 'log' ? 'sigmoid' : 'none';
}

export const noProbability = (): Probability => 'none';

export const discriminantProbability = (_: Item, classes: number): Probability =>
  classes === 2 ? 'sigmoid' : 'softmax';

/** The function of the sums; `exponential`: the inverse of the link log. */
type Link = 'identity' | 'exponential';

export const linearRegressor =
  (linkOf: (item: Item) => Link = () => 'identity') =>
  (step: Step, frame: Frame): Estimated => {
    const { lowering, item, place } = step;
    const { builder } = lowering;
    const { coefficients, intercepts, size, isSingle } = coefficientsOf(item, frame.length);
    const features = vectorOf(lowering, frame, 'refuse', place);
    const isExponential = linkOf(item) === 'exponential';
    const sums = explainedSums(step, frame, features);
    const explained = { explained: { ...sums.explained, isMargin: isExponential } };
    if (size > 1) {
      const scores = builder.column('prediction', 'vector');
      linearScores(builder, { features, scores, coefficients, intercepts }, place);
      return { role: 'regressor', values: { column: scores, size, isMatrix: true }, ...explained };
    }
    const prediction = builder.column('prediction', 'double');
    const intercept = intercepts[0] ?? 0;
    linearRegression(builder, { features, prediction, coefficients, intercept }, place);
    const power = call('sql.exp', columnRef(prediction));
    const column = isExponential ? derived(builder, 'mean', power, place) : prediction;
    return { role: 'regressor', values: { column, size, isMatrix: !isSingle }, ...explained };
  };

export const logLink = (): Link => 'exponential';

/** Errors: RangeError: another link. */
export function tweedieLink(item: Item): Link {
  const link = item.get('link');
  const name = link.text();
  if (name === 'identity') return 'identity';
  if (name === 'log') return 'exponential';
  if (name !== 'auto') throw link.bad(`expected auto, identity or log, got '${name}'`);
  return item.get('power').number() <= 0 ? 'identity' : 'exponential';
}

/** Elements of a Vector of scores, or the one score. */
export const scoreColumns = (step: Step, { column, size }: Scores): readonly Column[] =>
  size === 1
    ? [column]
    : Array.from({ length: size }, (_, i) =>
        elementOf(step.lowering.builder, column, i, step.place),
      );
