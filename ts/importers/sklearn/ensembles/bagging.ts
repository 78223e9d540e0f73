// Bagging: the mean of models of some of the features each. Trees are one stage `forest`.
// Importer's worker thread; pure. Source: scikit-learn's ensemble/_bagging.py.
import { type Column, columnRef, constant, type Expression } from '../../plan/builder.js';
import type { Frame } from '../frame/frame.js';
import { type Labels, labelsOf, severalClasses } from '../frame/labels.js';
import { assembled, elementOf, greatestIndex } from '../frame/scores.js';
import type { Classified, Estimated, Scores, Step } from '../frame/step.js';
import type { Item } from '../read/item.js';
import { type TreeArrays, treeArrays } from '../models/nodes.js';
import { addTrees, checked, explainedBy, missingOf, treeFeatures } from '../models/trees.js';
import { scoreColumns } from '../models/linear.js';
import { isClass, meanOf, memberPlace, membersOf } from './members.js';

const TREES = /^(DecisionTree|ExtraTree)(Classifier|Regressor)$/;

interface Member {
  readonly item: Item;
  /** The numbers of its features. */
  readonly features: readonly number[];
}

/** Errors: RangeError: features that do not exist. */
function baggedOf(step: Step, frame: Frame): readonly Member[] {
  const members = membersOf(step);
  const all = step.item.get('estimators_features_').list();
  if (all.length !== members.length) {
    throw step.item.bad(
      `estimators_features_: expected ${members.length} lists, got ${all.length}`,
    );
  }
  return members.map((item, i) => {
    const given = all[i] as Item;
    const features = Array.from(given.reals([-1]));
    const wrong = features.find((each) => !(Number.isInteger(each) && frame[each] !== undefined));
    if (wrong !== undefined) throw given.bad(`there is no feature ${wrong}`);
    return { item, features };
  });
}

const isTrees = (members: readonly Member[]): boolean =>
  members.every(({ item }) => TREES.test(item.className) && (outputsOf(item) ?? 1) === 1);

const outputsOf = (item: Item): number | undefined => item.find('n_outputs_')?.integer(1);

/** The tree, of the ensemble's features. */
function bagged({ item, features }: Member, made: TreeArrays): TreeArrays {
  const count = item.get('n_features_in_').integer(1);
  if (count !== features.length) {
    throw item.bad(`expected ${features.length} features (n_features_in_), got ${count}`);
  }
  const feature = made.feature.map((each, node) =>
    made.isLeaf(node) ? each : (features[each] ?? Number.NaN),
  );
  return { ...made, feature };
}

/** By class of a member: its number among the ensemble's. Members' classes are such numbers. */
function classesIn(item: Item, { values }: Labels, count: number): readonly number[] {
  if (values.length === count) return values.map((_, k) => k);
  const numbers = values.map(Number);
  const wrong = numbers.findIndex((each) => !(Number.isInteger(each) && each >= 0 && each < count));
  if (wrong < 0) return numbers;
  throw item.bad(`classes_: expected numbers of ${count} classes, got ${String(values[wrong])}`);
}

export function baggingClassifier(step: Step, frame: Frame): Classified {
  const { item, lowering, place } = step;
  const { builder } = lowering;
  const classes = severalClasses(item);
  const width = classes.values.length;
  const members = baggedOf(step, frame);
  if (isTrees(members)) {
    const trees = members.map((member) => {
      const known = classesIn(member.item, labelsOf(member.item.get('classes_')), width);
      const tree = checked(member.item.get('tree_'), 1, known.length);
      const places = classesAt(known, width);
      return bagged(
        member,
        treeArrays(tree, (values, node, k) => {
          const at = places[k] ?? -1;
          return at < 0 ? 0 : (values[node * known.length + at] ?? 0);
        }),
      );
    });
    const features = treeFeatures(step, frame, treesMissing(step, members));
    const forest = addTrees(step, trees, features, frame.length, { width, sum: 'mean' });
    const probability = forest.column;
    const index = greatestIndex(builder, probability, place);
    const explained = { ...explainedBy(frame, [forest], { scores: width }), isProbability: true };
    return { role: 'classifier', classes, index, probability, explained } as const;
  }
  const shares = members.map((member, i) => {
    const part = member.features.map((each) => frame[each] as Frame[number]);
    const result = lowering.lower(member.item, part, memberPlace(step, i));
    if (result.role !== 'classifier') throw member.item.bad('expected a classifier');
    const known = classesIn(member.item, result.classes, width);
    return { result, places: classesAt(known, width) };
  });
  const means = classes.values.map((_, k) => {
    const values = shares.flatMap(({ result: { probability, index }, places }) => {
      const at = places[k] ?? -1;
      if (at < 0) return [];
      if (probability === undefined) return [isClass(index, at)];
      return [columnRef(elementOf(builder, probability, at, place))];
    });
    return meanOf(step, [...values, ...unseen(members.length - values.length)], undefined);
  });
  const probability = assembled(builder, means, place);
  const index = greatestIndex(builder, probability, place);
  const decision = meanDecision(
    step,
    shares.map(({ result }) => result.decision),
  );
  return { role: 'classifier', classes, index, probability, ...decision };
}

/** The mean of the members' decisions; {}: one has none. */
function meanDecision(
  step: Step,
  decisions: readonly (Scores | undefined)[],
): { readonly decision?: Scores } {
  const known = decisions.filter((each) => each !== undefined);
  const [{ size } = { size: 0 }] = known;
  if (known.length < decisions.length || known.some((each) => each.size !== size)) return {};
  const columns = Array.from({ length: size }, (_, k) =>
    meanOf(
      step,
      known.map((each) => columnRef(scoreColumns(step, each)[k] as Column)),
      undefined,
    ),
  );
  const [only] = columns;
  if (only !== undefined && size === 1) return { decision: { column: only, size } };
  return { decision: { column: assembled(step.lowering.builder, columns, step.place), size } };
}

const unseen = (count: number): readonly Expression[] =>
  Array.from({ length: count }, () => constant(0));

/** By class of the ensemble: its place in the member; -1: the member has not seen it. */
const classesAt = (known: readonly number[], width: number): readonly number[] =>
  Array.from({ length: width }, (_, k) => known.indexOf(k));

export function baggingRegressor(step: Step, frame: Frame): Estimated {
  const members = baggedOf(step, frame);
  if (isTrees(members)) {
    const trees = members.map((member) =>
      bagged(
        member,
        treeArrays(checked(member.item.get('tree_'), 1, 1), (values, node) => values[node] ?? 0),
      ),
    );
    const features = treeFeatures(step, frame, treesMissing(step, members));
    const forest = addTrees(step, trees, features, frame.length, { width: 1, sum: 'mean' });
    const explained = explainedBy(frame, [forest], { scores: 1 });
    return { role: 'regressor', values: { column: forest.column, size: 1 }, explained };
  }
  const values = members.map(({ item, features }, i) => {
    const part = features.map((each) => frame[each] as Frame[number]);
    const result = step.lowering.lower(item, part, memberPlace(step, i));
    if (result.role === 'regressor' && result.values.size === 1) {
      return columnRef(result.values.column);
    }
    throw item.bad('expected a regressor of one output');
  });
  const column = meanOf(step, values, undefined);
  return { role: 'regressor', values: { column, size: 1 } };
}

/** Missing values are accepted if all trees do. */
const treesMissing = (step: Step, members: readonly Member[]): 'nodes' | 'refuse' =>
  members.every(({ item }) => missingOf({ ...step, item }) === 'nodes') ? 'nodes' : 'refuse';
