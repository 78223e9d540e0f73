// The sums of YDF's trees, in floats and in YDF's own order. Importer's worker thread; pure.
// Source: YDF's serving/decision_forest/decision_forest_serving.cc.
import { TASK } from '../../../protobuf/generated/yggdrasil-fields.js';
import {
  call,
  type Column,
  columnRef,
  constant,
  type Expression,
  type PlanBuilder,
} from '../../plan/builder.js';
import { addExplanation, type ExplainedForest } from '../../plan/explain.js';
import { addForest, type ForestOptions } from '../../plan/forest.js';
import { vectorElement } from '../../plan/ops/vectors.js';
import { cast, float } from '../../plan/xgboost/scores.js';
import { type Ensemble, initialOf, isLocal, isQuick } from '../../ydf/ensemble.js';
import { dividedLeaves, wholeLeaves } from '../../ydf/leaves.js';
import { type GrownTrees, type ObliqueTest, someTrees } from '../../ydf/nodes.js';
import type { Feature } from './fields.js';
import { projections } from './oblique.js';
import { forestParts } from './trees.js';

const PLACE = 'trees';

interface SumOptions {
  readonly start?: number;
  /** Sums are kept in floats. Default: true. */
  readonly isFloat?: boolean;
  /** The score that the sum is of. Default: 0. */
  readonly score?: number;
  /** The numbers of the trees in the file. */
  readonly order?: readonly number[];
}

/**
 * Floats: one, or one for each class. Errors: RangeError: the counts of trees and initial
 * predictions do not fit the classes, or a condition does not fit its feature.
 */
export function addSums(
  builder: PlanBuilder,
  ensemble: Ensemble,
  features: ReadonlyMap<number, Feature>,
): readonly Expression[] {
  const sums = new TreeSums(builder, features);
  const isBoosted = ensemble.header.name === 'GRADIENT_BOOSTED_TREES';
  const scores = isBoosted ? boostedSums(sums, ensemble) : averages(sums, ensemble);
  explain(builder, ensemble, features, sums.forests);
  return scores;
}

/** Appends the outputs that explain the sums. */
function explain(
  builder: PlanBuilder,
  ensemble: Ensemble,
  features: ReadonlyMap<number, Feature>,
  forests: readonly Explained[],
): void {
  const { header, grown, leaves } = ensemble;
  const isBoosted = header.name === 'GRADIENT_BOOSTED_TREES';
  const positions = [...features.keys()];
  const [first] = forests;
  if (first === undefined) return;
  const isOblique = grown.conditions.some(({ test }) => test.kind === 'oblique');
  const lacks = isOblique
    ? 'oblique conditions, which test sums of features, have no Shapley values'
    : undefined;
  const bias =
    isBoosted && !forests.some(({ hasBase }) => hasBase) ? { bias: initialOf(ensemble) } : {};
  addExplanation(builder, {
    forests: forests.map((forest) => ({
      ...forest,
      sources: forest.attributes.map((attribute) => [positions.indexOf(attribute)]),
    })),
    features: positions.length,
    scores: isBoosted ? initialOf(ensemble).length : leaves.width,
    scale: !isBoosted && isWhole(ensemble) ? 1 / leaves.divisor : 1,
    coversName: 'num_pos_training_examples_without_weight',
    ...bias,
    ...(lacks === undefined ? {} : { lacks }),
  });
}

/** Whether the trees' leaves are divided by the count of trees after they are added. */
const isWhole = (ensemble: Ensemble): boolean =>
  ensemble.header.name !== 'ISOLATION_FOREST' && isLocal(ensemble);

/** A forest, the columns of the data that it reads, and whether its sums start at a number. */
interface Explained extends ExplainedForest {
  readonly attributes: readonly number[];
  readonly hasBase: boolean;
}

/** Appends stages `forest`. */
class TreeSums {
  readonly #builder: PlanBuilder;
  readonly #features: ReadonlyMap<number, Feature>;
  readonly #project: (test: ObliqueTest) => Column;
  /** The forests, and the columns of the data that each reads. */
  readonly forests: Explained[] = [];

  constructor(builder: PlanBuilder, features: ReadonlyMap<number, Feature>) {
    this.#builder = builder;
    this.#features = features;
    this.#project = projections(builder, features);
  }

  /** A double. */
  one(trees: GrownTrees, leaves: Float64Array, name: string, options: SumOptions = {}): Expression {
    const { start = 0, isFloat = true, ...place } = options;
    if (trees.roots.length === 0) return constant(start);
    const values = this.#builder.column(name, 'double');
    const sums = { width: 1, base: Float64Array.of(start), floatSums: isFloat, values };
    this.#add(trees, { leaves, ...sums }, place);
    return columnRef(values);
  }

  /** Doubles, one for each number of a leaf. */
  many(trees: GrownTrees, leaves: Float64Array, width: number, isFloat: boolean): Expression[] {
    const values = this.#builder.column('sums', 'vector');
    this.#add(trees, { leaves, width, floatSums: isFloat, values });
    return Array.from({ length: width }, (_, index) => {
      const output = this.#builder.column(`sum of class ${index}`, 'double');
      vectorElement(this.#builder, { input: values, output, index }, PLACE);
      return columnRef(output);
    });
  }

  #add(
    trees: GrownTrees,
    sums: Pick<ForestOptions, 'leaves' | 'width' | 'base' | 'floatSums'> & {
      readonly values: Column;
    },
    place: Pick<SumOptions, 'score' | 'order'> = {},
  ): void {
    const { attributes, ...parts } = forestParts(trees, this.#features, this.#project);
    const options = { ...parts, roots: Int32Array.from(trees.roots), ...sums };
    addForest(this.#builder, options, PLACE);
    const covers = Float64Array.from(trees.covers);
    const known = covers.some(Number.isNaN) ? {} : { covers };
    const leafIds = new Int32Array(covers.length);
    trees.leafStarts.forEach((end, i) => {
      const first = trees.leafStarts[i - 1] ?? end;
      for (let leaf = first; leaf < end; leaf += 1) leafIds[leaf] = leaf - first;
    });
    const hasBase = sums.base?.some((one) => one !== 0) === true;
    const reads = { attributes, hasBase };
    this.forests.push({ options, column: sums.values, leafIds, ...reads, ...known, ...place });
  }
}

function boostedSums(sums: TreeSums, ensemble: Ensemble): readonly Expression[] {
  const { grown } = ensemble;
  const leaves = dividedLeaves(ensemble.leaves);
  const initial = initialOf(ensemble);
  if (initial.length === 1) {
    const [start = 0] = initial;
    const isSlow = isLocal(ensemble);
    if (isSlow || isQuick(ensemble)) {
      return [cast(sums.one(grown, leaves, 'sum', { start, isFloat: !isSlow }), 'float')];
    }
    const sum = cast(sums.one(grown, leaves, 'sum'), 'float');
    return [call('sql.add', sum, float(start))];
  }
  if (grown.roots.length % initial.length !== 0) {
    throw new RangeError(
      `expected the same count of trees for each of ${initial.length} classes, got ` +
        `${grown.roots.length} trees`,
    );
  }
  return initial.map((start, group) => {
    const some = someTrees(grown, (tree) => tree % initial.length === group);
    const order = some.trees.roots.map((_, round) => round * initial.length + group);
    const place = { score: group, order };
    const own = Float64Array.from(some.leaves, (leaf) => leaves[leaf] ?? 0);
    const sum = cast(sums.one(some.trees, own, `sum of class ${group}`, place), 'float');
    return call('sql.add', sum, float(start));
  });
}

function averages(sums: TreeSums, ensemble: Ensemble): readonly Expression[] {
  const { header, trees, grown, leaves } = ensemble;
  if (grown.roots.length === 0) throw new RangeError('the model has no trees');
  const sumsOf = (values: Float64Array, isFloat: boolean): readonly Expression[] =>
    leaves.width === 1
      ? [sums.one(grown, values, 'sum', { isFloat })]
      : sums.many(grown, values, leaves.width, isFloat);
  if (!isWhole(ensemble)) {
    return sumsOf(dividedLeaves(leaves), true).map((sum) => cast(sum, 'float'));
  }
  const isFloat = header.task === TASK.CLASSIFICATION && !trees.winnerTakesAll;
  return sumsOf(wholeLeaves(leaves, isFloat), isFloat).map((sum) =>
    cast(call('sql.divide', sum, constant(leaves.divisor)), 'float'),
  );
}
