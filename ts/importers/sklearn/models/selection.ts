// SelectFromModel: the features that are important to a model. Importer's worker thread; pure.
// Source: scikit-learn's feature_selection/_from_model.py, feature_selection/_base.py,
// tree/_tree.pyx, ensemble/_forest.py, ensemble/_gb.py.
import type { Frame } from '../frame/frame.js';
import type { Step, Transformed } from '../frame/step.js';
import type { Item } from '../read/item.js';
import { isSince } from './trees.js';

const TREE = /^(DecisionTree|ExtraTree)(Classifier|Regressor)$/;
const FOREST = /^(RandomForest|ExtraTrees)(Classifier|Regressor)$/;
const BOOSTING = /^GradientBoosting(Classifier|Regressor)$/;
/** The threshold of models whose penalty makes coefficients 0. */
const LEAST = 1e-5;
/** The distance from 1 of numbers that np.isclose() takes for 1. */
const CLOSE = 1e-8 + 1e-5;

export function selectFromModel({ item }: Step, frame: Frame): Transformed {
  const model = item.given('estimator_') ?? item.get('estimator');
  const getter = item.get('importance_getter');
  if (getter.plain() !== 'auto') throw getter.bad("expected importance_getter='auto'");
  const scores = importances(model, frame.length, item.get('norm_order').number());
  const threshold = thresholdOf(item, model, scores);
  const most = (item.find('max_features_') ?? item.get('max_features')).plain();
  const order = [...scores.keys()].sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0));
  const kept = new Set(typeof most === 'number' ? order.slice(0, most) : order);
  const isKept = (feature: number): boolean =>
    kept.has(feature) && !((scores[feature] ?? 0) < threshold);
  return { role: 'transformer', frame: frame.filter((_, feature) => isKept(feature)) };
}

/** coef_ or feature_importances_, a number for each feature. */
function importances(model: Item, width: number, norm: number): Float64Array {
  const coef = model.find('coef_');
  if (coef !== undefined) return norms(coef, width, norm);
  if (TREE.test(model.className)) return normalized(ofTree(model, width));
  if (FOREST.test(model.className)) {
    const trees = model.get('estimators_').list().filter(isSplit);
    return normalized(
      meanOf(
        trees.map((tree) => normalized(ofTree(tree, width))),
        width,
      ),
    );
  }
  if (BOOSTING.test(model.className)) {
    const { values } = model.get('estimators_').array();
    const trees = values.flatMap((value) => {
      if (typeof value !== 'object' || value === null) throw model.bad('expected trees');
      return isSplit(value) ? [value] : [];
    });
    return normalized(
      meanOf(
        trees.map((tree) => ofTree(tree, width)),
        width,
      ),
    );
  }
  throw model.bad(`${model.className}: expected a linear model, trees, a forest or boosted trees`);
}

function norms(coef: Item, width: number, norm: number): Float64Array {
  const isRow = coef.array().shape.length === 1;
  const reals = coef.reals(isRow ? [width] : [-1, width]);
  if (isRow) return reals.map(Math.abs);
  if (!(norm >= 1)) throw coef.bad(`norm_order: expected a number from 1, got ${norm}`);
  return Float64Array.from({ length: width }, (_, feature) => {
    const own = reals.filter((_value, i) => i % width === feature).map(Math.abs);
    if (norm === Number.POSITIVE_INFINITY) return own.reduce((a, b) => Math.max(a, b), 0);
    if (norm === 2) return Math.sqrt(own.reduce((total, each) => total + each * each, 0));
    const sum = own.reduce((total, each) => total + (norm === 1 ? each : each ** norm), 0);
    return norm === 1 ? sum : sum ** (1 / norm);
  });
}

const isSplit = (tree: Item): boolean => nodesOf(tree).left.length > 1;

interface Nodes {
  readonly left: Float64Array;
  readonly column: (name: string) => Float64Array;
}

function nodesOf(tree: Item): Nodes {
  const nodes = tree.get('tree_').get('nodes');
  const records = nodes.records();
  const column = (name: string): Float64Array => {
    const found = records.get(name);
    if (found === undefined) throw nodes.bad(`${name} is missing`);
    return found;
  };
  return { left: column('left_child'), column };
}

/** The impurity that the splits by each feature remove. */
function ofTree(tree: Item, width: number): Float64Array {
  const { left, column } = nodesOf(tree);
  const [right, features, impurity, weight] = [
    column('right_child'),
    column('feature'),
    column('impurity'),
    column('weighted_n_node_samples'),
  ];
  const of = (node: number): number =>
    (weight[node] ?? Number.NaN) * (impurity[node] ?? Number.NaN);
  const made = new Float64Array(width);
  left.forEach((child, node) => {
    if (child < 0) return;
    const feature = features[node] ?? -1;
    if (made[feature] === undefined) throw tree.bad(`node ${node}: there is no feature ${feature}`);
    made[feature] += of(node) - of(child) - of(right[node] ?? -1);
  });
  return made.map((each) => each / (weight[0] ?? Number.NaN));
}

function meanOf(parts: readonly Float64Array[], width: number): Float64Array {
  const made = new Float64Array(width);
  for (const part of parts) part.forEach((each, i) => (made[i] = (made[i] ?? 0) + each));
  return made.map((each) => each / Math.max(1, parts.length));
}

function normalized(values: Float64Array): Float64Array {
  const sum = pairwiseSum(values);
  return sum > 0 ? values.map((each) => each / sum) : values;
}

function thresholdOf(item: Item, model: Item, scores: Float64Array): number {
  const given = item.given('threshold');
  const plain = given?.plain();
  if (typeof plain === 'number') return plain;
  if (plain === undefined && isSparse(model)) return LEAST;
  const text = typeof plain === 'string' ? plain : 'mean';
  const [, factor, reference] = /^(?:\s*([\d.eE+-]+)\s*\*\s*)?(mean|median)\s*$/.exec(text) ?? [];
  const scale = Number(factor ?? 1);
  if (reference === undefined || Number.isNaN(scale)) {
    throw item.bad(`threshold: expected a number, mean or median, got '${text}'`);
  }
  const sorted = scores.toSorted();
  const half = sorted.length / 2;
  const median = ((sorted[Math.ceil(half) - 1] ?? 0) + (sorted[Math.floor(half)] ?? 0)) / 2;
  const mean = pairwiseSum(scores) / scores.length;
  return scale * (reference === 'mean' ? mean : median);
}

/** The longest part that NumPy adds in one loop. */
const BLOCK = 128;

/** The sum of consecutive numbers, in the order in which NumPy adds them. */
function pairwiseSum(values: Float64Array): number {
  const { length } = values;
  if (length < 8) return values.reduce((sum, each) => sum + each, 0);
  if (length > BLOCK) {
    const half = Math.floor(length / 2);
    const middle = half - (half % 8);
    return pairwiseSum(values.subarray(0, middle)) + pairwiseSum(values.subarray(middle));
  }
  const sums = Float64Array.from(values.subarray(0, 8));
  const end = length - (length % 8);
  for (let i = 8; i < end; i += 1) sums[i % 8] = (sums[i % 8] ?? 0) + (values[i] ?? 0);
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = sums;
  const sum = a + b + (c + d) + (e + f + (g + h));
  return values.subarray(end).reduce((total, each) => total + each, sum);
}

/** The first release whose rule for ElasticNet is not one for MultiTaskElasticNet, too. */
const ONE_TASK = [1, 7] as const;
/** The first release whose rules read the l1_ratio of logistic regressions. */
const LOGISTIC = [1, 8] as const;

/** Models whose penalty is l1, by the rules of the release that saved them. */
function isSparse(model: Item): boolean {
  const { className } = model;
  if (className.includes('Lasso') || model.find('penalty')?.plain() === 'l1') return true;
  const areOne = (name: string): boolean => {
    const ratio = model.given(name);
    if (ratio === undefined) return false;
    const plain = ratio.plain();
    const values: readonly unknown[] = plain === undefined ? ratio.array().values : [plain];
    return values.every((value) => typeof value === 'number' && Math.abs(value - 1) <= CLOSE);
  };
  if (!isSince(model, ONE_TASK)) {
    return className.includes('ElasticNet') && (areOne('l1_ratio_') || areOne('l1_ratio'));
  }
  if (className === 'ElasticNet') return areOne('l1_ratio');
  if (className === 'ElasticNetCV') return areOne('l1_ratio_');
  if (!isSince(model, LOGISTIC)) return false;
  if (className === 'LogisticRegression') return areOne('l1_ratio');
  return className === 'LogisticRegressionCV' && areOne('l1_ratio_');
}
