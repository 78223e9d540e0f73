// AdaBoost: votes of weighted classifiers, the weighted median of regressors. Importer's worker
// thread; pure. Source: scikit-learn's ensemble/_weight_boosting.py.
import { call, type Column, columnRef, constant, type Expression } from '../../plan/builder.js';
import { linearScores } from '../../plan/ops/linear.js';
import { elementsOf, type Frame, vectorOf } from '../frame/frame.js';
import { type Labels, labelsOf, severalClasses } from '../frame/labels.js';
import {
  assembled,
  derived,
  elementOf,
  greatestIndex,
  linked,
  signIndex,
} from '../frame/scores.js';
import type { Classified, Estimated, Scores, Step } from '../frame/step.js';
import type { Item } from '../read/item.js';
import { treeArrays } from '../models/nodes.js';
import { addTrees, checked, treeFeatures } from '../models/trees.js';
import { isClass, memberPlace, membersOf } from './members.js';

/** The features without missing values, which scikit-learn refuses whatever the members are. */
function complete({ lowering, place }: Step, frame: Frame): Frame {
  return elementsOf(vectorOf(lowering, frame, 'refuse', place), frame.length);
}

/** The weights of the members, and the sum of all that are stored. */
function weightsOf({ item }: Step, count: number): { readonly own: Float64Array; total: number } {
  const stored = item.get('estimator_weights_');
  const { reals } = stored.shapedReals([-1]);
  if (reals.length < count) {
    throw stored.bad(`expected ${count} weights or more, got ${reals.length}`);
  }
  return { own: reals.subarray(0, count), total: reals.reduce((sum, each) => sum + each, 0) };
}

/** By class of a member: its number among the ensemble's. */
function classesIn(
  member: Item,
  { values }: Labels,
  classes: readonly unknown[],
): readonly number[] {
  const found = values.map((value) => classes.indexOf(value));
  if (found.includes(-1)) throw member.bad('classes_: expected classes of the ensemble');
  return found;
}

/** The number that a member adds to a class. */
const share = (weight: number, isPredicted: boolean, classes: number): number =>
  isPredicted ? weight : (-1 / (classes - 1)) * weight;

export function adaBoostClassifier(step: Step, frame: Frame): Classified {
  const { item, lowering, place } = step;
  const { builder } = lowering;
  const algorithm = item.given('algorithm')?.plain();
  if (algorithm === 'SAMME.R') {
    throw item.bad(
      "algorithm='SAMME.R' of scikit-learn before 1.6 is not supported: train 'SAMME'",
    );
  }
  const classes = severalClasses(item);
  const count = classes.values.length;
  const members = membersOf(step);
  const { own, total } = weightsOf(step, members.length);
  if (!(total > 0)) throw item.bad('estimator_weights_: expected a sum above 0');
  const areTrees = members.every(({ className }) =>
    /^(Decision|Extra)TreeClassifier$/.test(className),
  );
  const sums = areTrees
    ? treeVotes(step, frame, members, classes.values, own)
    : votes(step, frame, members, classes.values, own);
  const shares = classes.values.map((_, k) =>
    call('sql.divide', columnRef(elementOf(builder, sums, k, place)), constant(total)),
  );
  if (count === 2) {
    const [first, second] = shares as [Expression, Expression];
    const value = call('sql.add', call('sql.negative', first), second);
    const column = derived(builder, 'decision', value, place);
    const index = signIndex(builder, column, place);
    const half = call('sql.divide', columnRef(column), constant(2));
    const pair = [call('sql.negative', half), half];
    return classified({ column, size: 1 }, index, pair);
  }
  const columns = shares.map((value) => derived(builder, 'decision', value, place));
  const column = assembled(builder, columns, place);
  const parts = columns.map((each) => call('sql.divide', columnRef(each), constant(count - 1)));
  return classified({ column, size: count }, greatestIndex(builder, column, place), parts);

  function classified(decision: Scores, index: Column, scores: readonly Expression[]): Classified {
    const raw = assembled(
      builder,
      scores.map((value) => derived(builder, 'score', value, place)),
      place,
    );
    const probability = linked(builder, raw, 'softmax', place);
    return { role: 'classifier', classes, index, probability, decision };
  }
}

/** The members' sums for each class: leaves have what their tree adds. */
function treeVotes(
  step: Step,
  frame: Frame,
  members: readonly Item[],
  classes: readonly unknown[],
  weights: Float64Array,
): Column {
  const width = classes.length;
  const trees = members.map((member, i) => {
    const known = classesIn(member, labelsOf(member.get('classes_')), classes);
    const tree = checked(member.get('tree_'), 1, known.length);
    return treeArrays(tree, (values, node, k) => {
      let best = 0;
      for (let c = 1; c < known.length; c += 1) {
        const at = node * known.length;
        if ((values[at + c] ?? 0) > (values[at + best] ?? 0)) best = c;
      }
      return share(weights[i] ?? 0, known[best] === k, width);
    });
  });
  const features = treeFeatures(step, frame, 'refuse');
  return addTrees(step, trees, features, frame.length, { width, sum: 'sum' }).column;
}

function votes(
  step: Step,
  frame: Frame,
  members: readonly Item[],
  classes: readonly unknown[],
  weights: Float64Array,
): Column {
  const { lowering, place } = step;
  const { builder } = lowering;
  const width = classes.length;
  const known = complete(step, frame);
  const predicted = members.flatMap((member, i) => {
    const result = lowering.lower(member, known, memberPlace(step, i));
    if (result.role !== 'classifier') throw member.bad('expected a classifier');
    const own = classesIn(member, result.classes, classes);
    return classes.map((_, k) =>
      derived(builder, 'vote', isClass(result.index, own.indexOf(k)), place),
    );
  });
  const features = assembled(builder, predicted, place);
  // A vote adds what it has above that of the other classes, which all have in any case.
  const coefficients = new Float64Array(width * predicted.length);
  const intercepts = new Float64Array(width);
  weights.forEach((weight, i) => {
    const other = share(weight, false, width);
    for (let k = 0; k < width; k += 1) {
      coefficients[k * predicted.length + i * width + k] = weight - other;
      intercepts[k] = (intercepts[k] ?? 0) + other;
    }
  });
  const scores = builder.column('votes', 'vector');
  linearScores(builder, { features, scores, coefficients, intercepts }, place);
  return scores;
}

/** The member's value at which half of the weights is reached. */
export function adaBoostRegressor(step: Step, frame: Frame): Estimated {
  const { lowering, place } = step;
  const { builder } = lowering;
  const members = membersOf(step);
  const { own } = weightsOf(step, members.length);
  const known = complete(step, frame);
  const values = members.map((member, i) => {
    const result = lowering.lower(member, known, memberPlace(step, i));
    if (result.role === 'regressor' && result.values.size === 1) return result.values.column;
    throw member.bad('expected a regressor of one output');
  });
  const column = builder.column('weighted median', 'double');
  const none = new Int32Array(values.length).fill(-1);
  const attributes = {
    method: 'weightedMedian',
    weights: Float64Array.from(own),
    mask_of: none,
    weight_of: none,
  } as const;
  builder.stage('pmml.combine', values, [column], attributes, place);
  return { role: 'regressor', values: { column, size: 1 } };
}
