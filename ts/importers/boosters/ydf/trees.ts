// The trees of Yggdrasil Decision Forests as the arrays of the stage `forest`. Importer's worker
// thread; pure. Source: YDF's model/decision_tree/decision_tree.cc (EvalCondition),
// serving/decision_forest/decision_forest_serving.cc.
import { COLUMN_TYPE } from '../../../protobuf/generated/yggdrasil-fields.js';
import type { Column } from '../../plan/builder.js';
import { type ForestOptions, TreeMissing, TreeTest } from '../../plan/forest.js';
import { elementsOf } from '../../ydf/ensemble.js';
import { isNumerical } from '../../ydf/messages.js';
import type { GrownTrees, NodeCondition, ObliqueTest } from '../../ydf/nodes.js';
import type { Feature } from './fields.js';

export interface ForestParts
  extends Pick<ForestOptions, 'categories' | 'nodes' | 'sets' | 'roundToFloat'> {
  readonly features: readonly Column[];
  /** By feature of the stage: the column of the data that it is. */
  readonly attributes: readonly number[];
}

/** A node of the stage: rows of which the test is true go left. */
interface NodeTest {
  readonly column: number;
  readonly threshold: number;
  readonly test: TreeTest;
  /** Rows that pass the condition go left, rather than right. */
  readonly passesLeft: boolean;
}

/** The columns that thresholds are compared with: features, and sums of several. */
interface ReadColumns {
  readonly columns: Column[];
  readonly categories: Map<number, readonly string[]>;
  readonly known: Map<Column, number>;
  readonly attributes: number[];
}

interface Sets {
  readonly offsets: number[];
  readonly members: number[];
}

/**
 * `project`: a column of the sum that an oblique condition compares. Errors: RangeError: a
 * condition does not fit its feature.
 */
export function forestParts(
  { conditions, passed, failed }: GrownTrees,
  features: ReadonlyMap<number, Feature>,
  project: (test: ObliqueTest) => Column,
): ForestParts {
  const count = conditions.length;
  const nodes = {
    feature: new Int32Array(count),
    threshold: new Float64Array(count),
    left: new Int32Array(count),
    right: new Int32Array(count),
    test: new Uint8Array(count),
    missing: new Uint8Array(count),
  };
  const read: ReadColumns = {
    columns: [],
    categories: new Map(),
    known: new Map(),
    attributes: [],
  };
  const sets: Sets = { offsets: [0], members: [] };
  conditions.forEach((condition, at) => {
    const made = testOf(condition, { features, read, sets, project });
    nodes.feature[at] = made.column;
    nodes.threshold[at] = made.threshold;
    nodes.test[at] = made.test;
    const [yes, no] = [passed[at] ?? 0, failed[at] ?? 0];
    nodes.left[at] = made.passesLeft ? yes : no;
    nodes.right[at] = made.passesLeft ? no : yes;
    const isLeft = condition.passesMissing === made.passesLeft;
    nodes.missing[at] = isLeft ? TreeMissing.Left : TreeMissing.Right;
  });
  const made = {
    features: read.columns,
    attributes: read.attributes,
    nodes,
    roundToFloat: true,
    ...(read.categories.size === 0 ? {} : { categories: read.categories }),
  };
  if (sets.offsets.length === 1) return made;
  const offsets = Int32Array.from(sets.offsets);
  return { ...made, sets: { offsets, members: Int32Array.from(sets.members) } };
}

interface Context {
  readonly features: ReadonlyMap<number, Feature>;
  readonly read: ReadColumns;
  readonly sets: Sets;
  readonly project: (test: ObliqueTest) => Column;
}

function testOf({ attribute, test }: NodeCondition, context: Context): NodeTest {
  const feature = context.features.get(attribute);
  if (feature === undefined) throw new RangeError(`column ${attribute} is no feature`);
  const { spec } = feature;
  const fits = (isFit: boolean): void => {
    if (isFit) return;
    throw new RangeError(`feature '${spec.name}': a condition of kind '${test.kind}' does not fit`);
  };
  const number = (of: Column): number => numberOf(context.read, of, attribute);
  const column = (): number => columnOf(context.read, feature, attribute);
  switch (test.kind) {
    case 'missing': {
      const common = { column: column(), threshold: 0, test: TreeTest.IsMissing };
      return { ...common, passesLeft: true };
    }
    case 'true':
      fits(spec.type === COLUMN_TYPE.BOOLEAN);
      return below(column(), 0.5);
    case 'higher':
      fits(spec.type === COLUMN_TYPE.NUMERICAL);
      return below(column(), test.threshold);
    case 'bin': {
      fits(spec.type === COLUMN_TYPE.DISCRETIZED_NUMERICAL);
      const bound = spec.boundaries[test.threshold - 1];
      if (bound !== undefined) return below(column(), bound);
      throw new RangeError(`feature '${spec.name}': bin ${test.threshold} does not exist`);
    }
    case 'oblique':
      fits(isNumerical(spec));
      return below(number(context.project(test)), test.threshold);
    case 'elements':
    case 'bitmap': {
      fits(spec.type === COLUMN_TYPE.CATEGORICAL);
      return inSet(column(), feature, elementsOf(test, spec), context.sets);
    }
  }
}

/** At least the threshold, and not below it: the condition passes where the test fails. */
function below(column: number, threshold: number): NodeTest {
  if (Number.isNaN(threshold)) throw new RangeError('a threshold is NaN');
  return { column, threshold, test: TreeTest.Less, passesLeft: false };
}

/** A set without unknown categories: where they pass, it has those that do not. */
function inSet(
  column: number,
  { positions }: Feature,
  elements: readonly number[],
  sets: Sets,
): NodeTest {
  const passesLeft = positions === undefined || !elements.includes(0);
  if (positions === undefined) {
    for (const element of elements) sets.members.push(element);
  } else {
    const chosen = new Set(elements);
    positions.forEach((position, category) => {
      if (position >= 0 && chosen.has(category) === passesLeft) sets.members.push(position);
    });
  }
  sets.offsets.push(sets.members.length);
  return { column, threshold: sets.offsets.length - 2, test: TreeTest.InSet, passesLeft };
}

function columnOf(read: ReadColumns, { column, words }: Feature, attribute: number): number {
  const number = numberOf(read, column, attribute);
  if (words !== undefined) read.categories.set(number, words);
  return number;
}

function numberOf(read: ReadColumns, column: Column, attribute: number): number {
  const { columns, known, attributes } = read;
  const found = known.get(column) ?? columns.push(column) - 1;
  known.set(column, found);
  attributes[found] = attribute;
  return found;
}
