// The sums of YDF's trees, in floats and in YDF's own order. Importer's worker thread; pure.
// Source: YDF's serving/decision_forest/decision_forest_serving.cc, register_engines.cc,
// quick_scorer_extended.cc.
import { TASK } from '../../../protobuf/generated/yggdrasil-fields.js';
import { call, columnRef, type Expression, type PlanBuilder } from '../../plan/builder.js';
import { addForest } from '../../plan/forest.js';
import { vectorElement } from '../../plan/ops/vectors.js';
import { cast, float } from '../../plan/xgboost/scores.js';
import type { Feature } from './fields.js';
import type { DataColumn, ModelHeader, TreesHeader } from './messages.js';
import { type GrownTrees, someTrees, widestOf } from './nodes.js';
import { projections } from './oblique.js';
import { forestParts } from './trees.js';

/** A model as its files have it. */
export interface Ensemble {
  readonly header: ModelHeader;
  readonly columns: readonly DataColumn[];
  readonly trees: TreesHeader;
  readonly grown: GrownTrees;
  /** `width` numbers for each leaf. */
  readonly leaves: readonly number[];
  readonly width: number;
  /** The classes' texts, of a model that classifies. */
  readonly classes: readonly (string | undefined)[];
}

const PLACE = 'trees';
/** Trees with at most this number of leaves are summed from the initial prediction on. */
const QUICK_LEAVES_MAX = 64;
const QUICK_TREES_MAX = 65_535;

/**
 * Floats: one, or one for each class. Errors: RangeError: the counts of trees and initial
 * predictions do not fit the classes, or a condition does not fit its feature.
 */
export function addSums(
  builder: PlanBuilder,
  ensemble: Ensemble,
  features: ReadonlyMap<number, Feature>,
): readonly Expression[] {
  const { header, trees, grown, leaves, width } = ensemble;
  const project = projections(builder, features);
  const sumOf = (some: GrownTrees, values: readonly number[], start: number, name: string) => {
    if (some.roots.length === 0) return float(start);
    const column = builder.column(name, 'double');
    const forest = {
      ...forestParts(some, features, project),
      roots: Int32Array.from(some.roots),
      leaves: Float64Array.from(values),
      width: 1,
      base: Float64Array.of(start),
      floatSums: true,
      values: column,
    };
    addForest(builder, forest, PLACE);
    return columnRef(
      builder.derive(`${name}, a float`, 'float', cast(columnRef(column), 'float'), PLACE),
    );
  };
  if (header.name !== 'GRADIENT_BOOSTED_TREES') {
    if (grown.roots.length === 0) throw new RangeError('the model has no trees');
    if (width === 1) return [sumOf(grown, leaves, 0, 'sum')];
    return addWideSums(builder, ensemble, forestParts(grown, features, project));
  }
  const initial = initialOf(ensemble);
  if (initial.length === 1) {
    const [start = 0] = initial;
    if (isQuick(ensemble)) return [sumOf(grown, leaves, start, 'sum')];
    return [call('sql.add', sumOf(grown, leaves, 0, 'sum'), float(start))];
  }
  if (grown.roots.length % initial.length !== 0) {
    const counts = `${trees.trees} trees of ${initial.length} classes`;
    throw new RangeError(`expected the same number of trees for each class, got ${counts}`);
  }
  return initial.map((start, group) => {
    const some = someTrees(grown, (tree) => tree % initial.length === group);
    const values = some.leaves.map((leaf) => leaves[leaf] ?? 0);
    const sum = sumOf(some.trees, values, 0, `sum of class ${group}`);
    return call('sql.add', sum, float(start));
  });
}

/** The initial prediction of each score. */
function initialOf({ header, trees, classes }: Ensemble): readonly number[] {
  const { initial, treesPerIteration } = trees;
  const isMany = header.task === TASK.CLASSIFICATION && classes.length !== 2;
  const expected = isMany ? classes.length : 1;
  if (initial.length === expected && treesPerIteration === expected && expected > 0) return initial;
  throw new RangeError(
    `expected ${expected} initial predictions and trees for each iteration, got ` +
      `${initial.length} and ${treesPerIteration}`,
  );
}

/** YDF has a faster way for small trees, which adds in another order than its general one. */
function isQuick({ grown }: Ensemble): boolean {
  if (grown.roots.length > QUICK_TREES_MAX || widestOf(grown) > QUICK_LEAVES_MAX) return false;
  return grown.conditions.every(({ test }) => test.kind !== 'oblique' && test.kind !== 'missing');
}

function addWideSums(
  builder: PlanBuilder,
  { grown, leaves, width }: Ensemble,
  parts: ReturnType<typeof forestParts>,
): readonly Expression[] {
  const values = builder.column('sums', 'vector');
  const forest = {
    ...parts,
    roots: Int32Array.from(grown.roots),
    leaves: Float64Array.from(leaves),
    width,
    floatSums: true,
    values,
  };
  addForest(builder, forest, PLACE);
  return Array.from({ length: width }, (_, index) => {
    const output = builder.column(`sum of class ${index}`, 'double');
    vectorElement(builder, { input: values, output, index }, PLACE);
    return cast(columnRef(output), 'float');
  });
}
