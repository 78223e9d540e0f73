// Decision trees and averages of them. Importer's worker thread; pure. Source: scikit-learn's
// tree/_classes.py, ensemble/_forest.py, ensemble/_iforest.py.
import { call, columnRef, constant } from '../../plan/builder.js';
import type { ExplainedForest, Explanation } from '../../plan/explain.js';
import { addForest, type ForestOptions } from '../../plan/forest.js';
import { type Frame, numbersOf, vectorOf } from '../frame/frame.js';
import { labelsOf } from '../frame/labels.js';
import { derived, greatestIndex } from '../frame/scores.js';
import type { Classified, Detected, Estimated, Explained, Step } from '../frame/step.js';
import type { Item } from '../read/item.js';
import { joinTrees, type TreeArrays, treeArrays } from './nodes.js';

/** Whether missing values go the way that each node says, or are refused. */
export type Missing = 'nodes' | 'refuse';

/** The columns that trees read. */
export function treeFeatures(
  { lowering, place }: Step,
  frame: Frame,
  missing: Missing,
): ForestOptions['features'] {
  const isScalar = frame.every((element) => !('vector' in element));
  if (isScalar && missing === 'nodes') return numbersOf(lowering, frame, place);
  const nan = missing === 'nodes' ? 'nan' : 'refuse';
  return { vector: vectorOf(lowering, frame, nan, place), size: frame.length };
}

interface SumOptions {
  readonly width: number;
  readonly sum: 'sum' | 'mean';
  readonly base?: Float64Array;
  /** Features are floats, as in all trees but those of HistGradientBoosting. */
  readonly areFloats?: boolean;
}

/** Fills a Double, or a Vector if the leaves have several numbers. */
export function addTrees(
  step: Step,
  trees: readonly TreeArrays[],
  features: ForestOptions['features'],
  count: number,
  { width, sum, base, areFloats = true }: SumOptions,
): ExplainedForest {
  const {
    lowering: { builder },
    place,
  } = step;
  const values = builder.column('sum of the trees', width === 1 ? 'double' : 'vector');
  const { covers, leafIds, ...joined } = joinTrees(trees, width, count);
  const options = { features, ...joined, sum, roundToFloat: areFloats, values };
  addForest(builder, base === undefined ? options : { ...options, base }, place);
  return { options, column: values, covers, leafIds };
}

/** The explanation of what the forests fill. */
export const explainedBy = (
  frame: Frame,
  forests: readonly ExplainedForest[],
  more: Pick<Explanation, 'scores' | 'scale'>,
): Explained => ({
  frame,
  by: { forests, features: frame.length, coversName: 'weighted_n_node_samples', ...more },
});

/** The trees of a forest, or the only one. */
const treesOf = (item: Item): readonly Item[] =>
  (item.find('estimators_')?.list() ?? [item]).map((tree) => tree.get('tree_'));

/** The release whose trees of absolute errors may have missing values. */
const ABSOLUTE = [1, 9] as const;

/** Criteria whose trees may have missing values. */
export function missingOf({ item }: Pick<Step, 'item'>): Missing {
  const criterion = item.given('criterion')?.text() ?? '';
  if (criterion === 'absolute_error') return isSince(item, ABSOLUTE) ? 'nodes' : 'refuse';
  return /^(gini|entropy|log_loss|squared_error|friedman_mse|poisson)$/.test(criterion)
    ? 'nodes'
    : 'refuse';
}

/** Whether this release of scikit-learn or a newer one saved the estimator. */
export function isSince(item: Item, [major, minor]: readonly [number, number]): boolean {
  const version = item.find('_sklearn_version')?.plain();
  const [own = 0, second = 0] = String(version ?? '')
    .split('.')
    .map(Number);
  return own > major || (own === major && second >= minor);
}

function outputsOf(item: Item): number {
  return item.find('n_outputs_')?.integer(1) ?? 1;
}

export function treeClassifier(step: Step, frame: Frame): Classified {
  const { item, lowering, place } = step;
  if (outputsOf(item) !== 1) throw item.bad('classifiers of several outputs are not supported');
  const classes = labelsOf(item.get('classes_'));
  const width = classes.values.length;
  if (width < 2) throw item.bad(`classes_: expected two classes or more, got ${width}`);
  const trees = treesOf(item).map((tree) =>
    treeArrays(checked(tree, 1, width), (values, node, k) => values[node * width + k] ?? 0),
  );
  const features = treeFeatures(step, frame, missingOf(step));
  const forest = addTrees(step, trees, features, frame.length, { width, sum: 'mean' });
  const probability = forest.column;
  const index = greatestIndex(lowering.builder, probability, place);
  const explained = { ...explainedBy(frame, [forest], { scores: width }), isProbability: true };
  return { role: 'classifier', classes, index, probability, explained };
}

export function treeRegressor(step: Step, frame: Frame): Estimated {
  const { item } = step;
  const width = outputsOf(item);
  const trees = treesOf(item).map((tree) =>
    treeArrays(checked(tree, width, 1), (values, node, k) => values[node * width + k] ?? 0),
  );
  const features = treeFeatures(step, frame, missingOf(step));
  const forest = addTrees(step, trees, features, frame.length, { width, sum: 'mean' });
  const explained = explainedBy(frame, [forest], { scores: width });
  return { role: 'regressor', values: { column: forest.column, size: width }, explained };
}

/** The tree, if its values have this form. */
export function checked(tree: Item, outputs: number, classes: number): Item {
  tree.get('values').shapedReals([-1, outputs, classes]);
  return tree;
}

const EULER_GAMMA = 0.577_215_664_901_532_9;

/** The mean depth of a search that fails in a tree of `rows` rows. */
function averagePathLength(rows: number): number {
  if (rows <= 1) return 0;
  if (rows === 2) return 1;
  return 2 * (Math.log(rows - 1) + EULER_GAMMA) - (2 * (rows - 1)) / rows;
}

export function isolationForest(step: Step, frame: Frame): Detected {
  const { item, lowering, place } = step;
  const { builder } = lowering;
  const subsets = item.get('estimators_features_').list();
  const trees = treesOf(item).map((tree, i) => {
    const subset = subsets[i];
    if (subset === undefined) throw item.bad(`estimators_features_[${i}] is missing`);
    return isolationTree(tree, subset.reals([-1]));
  });
  const rows = (item.find('_max_samples') ?? item.get('max_samples_')).number();
  const features = treeFeatures(step, frame, 'nodes');
  const forest = addTrees(step, trees, features, frame.length, { width: 1, sum: 'sum' });
  const expected = trees.length * averagePathLength(rows);
  if (!(expected > 0)) throw item.bad('expected trees of two rows or more');
  const exponent = call(
    'sql.divide',
    call('sql.negative', columnRef(forest.column)),
    constant(expected),
  );
  const score = call('sql.negative', call('sql.pow', constant(2), exponent));
  const samples = derived(builder, 'score of the sample', score, place);
  const offset = item.get('offset_').number();
  const above = call('sql.subtract', columnRef(samples), constant(offset));
  const decision = derived(builder, 'decision', above, place);
  // The mean of the depths is explained, as by shap: the score is no sum.
  const explained = explainedBy(frame, [forest], { scale: 1 / trees.length });
  return { role: 'detector', decision, samples, explained };
}

/** A leaf has the depth at which its rows would be alone. */
function isolationTree(tree: Item, subset: Float64Array): TreeArrays {
  const made = treeArrays(tree, () => 0);
  const rows = tree.get('nodes').records().get('n_node_samples') ?? new Float64Array(0);
  const nodes = made.left.length;
  const lengths = new Float64Array(nodes).fill(1);
  for (let node = 0; node < nodes; node += 1) {
    if (made.isLeaf(node)) continue;
    for (const child of [made.left[node] ?? 0, made.right[node] ?? 0]) {
      if (child > node && child < nodes) lengths[child] = (lengths[node] ?? 0) + 1;
    }
  }
  const feature = made.feature.map((each, node) =>
    made.isLeaf(node) ? each : (subset[each] ?? Number.NaN),
  );
  const valueOf = (node: number): number =>
    (lengths[node] ?? 0) + averagePathLength(rows[node] ?? 0) - 1;
  return { ...made, feature, valueOf };
}
