// Gradient boosting: sums of regression trees. Importer's worker thread; pure. Source:
// scikit-learn's ensemble/_gb.py, ensemble/_hist_gradient_boosting/gradient_boosting.py,
// _loss/link.py, _loss/loss.py.
import { call, type Column, columnRef, constant } from '../../plan/builder.js';
import type { Frame } from '../frame/frame.js';
import { labelsOf } from '../frame/labels.js';
import {
  assembled,
  derived,
  greatestIndex,
  linked,
  signIndex,
  twoProbabilities,
} from '../frame/scores.js';
import type { Classified, Estimated, Explained, Scores, Step } from '../frame/step.js';
import type { Item } from '../read/item.js';
import { frameOf } from './compose.js';
import { histogramTree, type TreeArrays, treeArrays } from './nodes.js';
import { addTrees, checked, explainedBy, treeFeatures } from './trees.js';

/** The trees of each score. */
type Rounds = readonly (readonly TreeArrays[])[];

/** Trees by score, from trees by round. */
function byScore<T>(rounds: readonly (readonly T[])[], count: number, item: Item): readonly T[][] {
  const wrong = rounds.findIndex((round) => round.length !== count);
  if (wrong >= 0) throw item.bad(`round ${wrong}: expected ${count} trees`);
  return Array.from({ length: count }, (_, k) => rounds.map((round) => round[k] as T));
}

/** One score as a Double, several as a Vector. */
function joinedScores(step: Step, columns: readonly Column[]): Scores {
  const [only] = columns;
  if (only !== undefined && columns.length === 1) return { column: only, size: 1 };
  const column = assembled(step.lowering.builder, columns, step.place);
  return { column, size: columns.length };
}

interface Boosted {
  readonly decision: Scores;
  readonly explained: Explained;
}

/** Errors: RangeError: a broken tree. */
function sums(
  step: Step,
  frame: Frame,
  rounds: Rounds,
  base: readonly number[],
  areFloats: boolean,
): Boosted {
  const features = treeFeatures(step, frame, areFloats ? 'refuse' : 'nodes');
  const forests = rounds.map((trees, score) => ({
    ...addTrees(step, trees, features, frame.length, {
      width: 1,
      sum: 'sum',
      base: Float64Array.of(base[score] ?? 0),
      areFloats,
    }),
    score,
    order: trees.map((_, round) => round * rounds.length + score),
  }));
  const columns = forests.map(({ column }) => column);
  const explained = explainedBy(frame, forests, { scores: rounds.length });
  return { decision: joinedScores(step, columns), explained };
}

/** Scores of GradientBoosting. `count`: of trees in a round. */
function gradientScores(step: Step, frame: Frame, count: number): Boosted {
  const { item } = step;
  const rate = item.get('learning_rate').number();
  const estimators = item.get('estimators_');
  const { shape, values } = estimators.array();
  if (shape.length !== 2 || shape[1] !== count) {
    throw estimators.bad(`expected an array of shape [n, ${count}], got [${shape.join(', ')}]`);
  }
  const trees = values.map((value) => {
    if (typeof value !== 'object' || value === null) throw estimators.bad('expected trees');
    const tree = checked(value.get('tree_'), 1, 1);
    return treeArrays(tree, (numbers, node) => rate * (numbers[node] ?? 0));
  });
  const rounds = Array.from({ length: trees.length / count }, (_, i) =>
    trees.slice(i * count, (i + 1) * count),
  );
  return sums(step, frame, byScore(rounds, count, item), initialScores(item, count), true);
}

const EPSILON = Number.EPSILON;
const within = (share: number): number => Math.min(Math.max(share, EPSILON), 1 - EPSILON);
const logit = (share: number): number => Math.log(share / (1 - share));

/** The scores before the first round. */
function initialScores(item: Item, count: number): readonly number[] {
  const init = item.get('init_');
  if (init.plain() === 'zero') return new Array<number>(count).fill(0);
  if (init.className === 'DummyRegressor') {
    return Array.from(init.get('constant_').reals([1, count]));
  }
  if (init.className !== 'DummyClassifier') {
    throw init.bad(`init=${init.className} is not supported: expected None or 'zero'`);
  }
  const strategy = init.get('strategy').text();
  if (strategy !== 'prior') {
    throw init.bad(`init: the strategy '${strategy}' is not supported: expected 'prior'`);
  }
  const shares = Array.from(init.get('class_prior_').reals([count === 1 ? 2 : count]), within);
  if (count === 1) {
    const score = logit(shares[1] ?? 0);
    return [isExponential(item) ? score / 2 : score];
  }
  const logs = shares.map(Math.log);
  const mean = logs.reduce((sum, each) => sum + each, 0) / count;
  return logs.map((each) => each - mean);
}

const isExponential = (item: Item): boolean => item.get('loss').text() === 'exponential';

export function gradientRegressor(step: Step, frame: Frame): Estimated {
  const { decision, explained } = gradientScores(step, frame, 1);
  return { role: 'regressor', values: decision, explained };
}

export function gradientClassifier(step: Step, frame: Frame): Classified {
  const { item, lowering, place } = step;
  const { builder } = lowering;
  const classes = labelsOf(item.get('classes_'));
  const count = classes.values.length;
  const { decision, explained } = gradientScores(step, frame, count === 2 ? 1 : count);
  const { column } = decision;
  if (count > 2) {
    const index = greatestIndex(builder, column, place);
    const probability = linked(builder, column, 'softmax', place);
    return { role: 'classifier', classes, index, probability, decision, explained };
  }
  const index = signIndex(builder, column, place, 'sql.greater_equal');
  const twice = call('sql.multiply', constant(2), columnRef(column));
  const score = isExponential(item) ? derived(builder, 'score', twice, place) : column;
  const probability = twoProbabilities(builder, score, place);
  return { role: 'classifier', classes, index, probability, decision, explained };
}

/** Scores of HistGradientBoosting, and the columns that its preprocessor makes. */
function histogramScores(step: Step, frame: Frame, count: number): Boosted {
  const { item, lowering, place } = step;
  const preprocessor = item.given('_preprocessor');
  const categorical = item.given('is_categorical_')?.array().values ?? [];
  if (preprocessor === undefined && categorical.some((flag) => flag === true)) {
    throw item.bad('categorical features of scikit-learn before 1.4: save it with a newer version');
  }
  const at = `${place}, categories`;
  const given =
    preprocessor === undefined
      ? frame
      : frameOf(lowering.lower(preprocessor, frame, at), preprocessor, at);
  const rounds = item
    .get('_predictors')
    .list()
    .map((round) => round.list().map(histogramTree));
  const base = item.get('_baseline_prediction');
  const bases = base.array().shape.length === 2 ? base.reals([1, count]) : base.reals([count]);
  const made = sums(step, given, byScore(rounds, count, item), Array.from(bases), false);
  if (preprocessor === undefined) return made;
  // It moves the categorical features to the front.
  const positions = [...categorical.keys()];
  const isFirst = (feature: number): boolean => categorical[feature] === true;
  const sources = [
    ...positions.filter(isFirst),
    ...positions.filter((feature) => !isFirst(feature)),
  ].map((feature) => [feature]);
  return { ...made, explained: movedTo(frame, made.explained, sources) };
}

/** The explanation by the elements of `frame`, from which the trees' features come. */
function movedTo(
  frame: Frame,
  { by }: Explained,
  sources: readonly (readonly number[])[],
): Explained {
  if (!('forests' in by)) return { frame, by };
  return { frame, by: { ...by, forests: by.forests.map((each) => ({ ...each, sources })) } };
}

export function histogramClassifier(step: Step, frame: Frame): Classified {
  const { item, lowering, place } = step;
  const { builder } = lowering;
  const classes = labelsOf(item.get('classes_'));
  const count = classes.values.length;
  const { decision, explained } = histogramScores(step, frame, count === 2 ? 1 : count);
  const { column } = decision;
  if (count > 2) {
    const index = greatestIndex(builder, column, place);
    const probability = linked(builder, column, 'softmax', place);
    return { role: 'classifier', classes, index, probability, decision, explained };
  }
  const index = signIndex(builder, column, place);
  const probability = twoProbabilities(builder, column, place);
  return { role: 'classifier', classes, index, probability, decision, explained };
}

/** Losses whose link is the logarithm. */
const LOG_LOSSES: readonly string[] = ['poisson', 'gamma'];

export function histogramRegressor(step: Step, frame: Frame): Estimated {
  const { item, lowering, place } = step;
  const { decision, explained } = histogramScores(step, frame, 1);
  const isSum = !LOG_LOSSES.includes(item.get('loss').text());
  if (isSum) return { role: 'regressor', values: decision, explained };
  const power = call('sql.exp', columnRef(decision.column));
  const column = derived(lowering.builder, 'mean', power, place);
  const margin = { ...explained, isMargin: true };
  return { role: 'regressor', values: { column, size: 1 }, explained: margin };
}
