// Spark's decision trees, random forests and boosted trees. Importer's worker thread.
// Source: tabular.md 5.2, 5.3
import type { Column } from '../../../plan/builder.js';
import type { ExplainedForest } from '../../../plan/explain.js';
import { addForest, type ForestSum } from '../../../plan/forest.js';
import { classify, type Link } from '../../../plan/ops/classify.js';
import { integerCell, numberCell } from '../../read/cells.js';
import { StageProblem } from '../../read/problem.js';
import type { Lower, Stage } from '../stage.js';
import { singleTree, type Leaf, type Trees, treesOf } from '../trees.js';
import {
  classifierColumns,
  type ClassifierColumns,
  predictsAs,
  regressionColumns,
  thresholdsOf,
} from './classifier.js';

/** A number in the metadata, outside the parameters. */
function extra(stage: Stage, name: string): number {
  return integerCell(stage.metadata.extra(name), name);
}

interface Ensemble extends Trees {
  readonly weights: Float64Array;
}

/** Trees and their weights. Columns of treesMetadata have other names since 4.0. */
async function ensembleOf(stage: Stage): Promise<Ensemble> {
  const about = await stage.folder.table('treesMetadata');
  const ids = about.column(['treeID', '_1'], 0);
  const cells = about.column(['weights', '_3'], 2);
  const weights = new Float64Array(ids.length).fill(Number.NaN);
  for (const [i, id] of ids.entries()) {
    weights[integerCell(id, 'treeID')] = numberCell(cells[i], 'weights');
  }
  if (weights.some((weight) => Number.isNaN(weight))) {
    throw new StageProblem(`${about.place}: expected trees numbered from 0`);
  }
  return { ...treesOf(await stage.folder.table(), ids.length), weights };
}

interface Payload {
  /** The values of one leaf. */
  readonly values: (leaf: Leaf) => ArrayLike<number>;
  readonly width: number;
  readonly sum: ForestSum;
  readonly weights?: Float64Array;
}

/** Fills `output` with what the trees' leaves have. */
function fill(
  stage: Stage,
  trees: Trees,
  features: { readonly vector: Column; readonly size: number },
  output: Column,
  payload: Payload,
): ExplainedForest {
  const { values, width, sum, weights } = payload;
  const { nodes, sets, roots } = trees;
  const leaves = new Float64Array(trees.leaves.length * width);
  for (const [i, leaf] of trees.leaves.entries()) leaves.set(values(leaf), i * width);
  const options = {
    features,
    nodes,
    sets,
    roots,
    leaves,
    width,
    sum,
    values: output,
    ...(weights === undefined ? {} : { weights }),
  };
  addForest(stage.plan, options, stage.place);
  return { options, column: output };
}

/** The weight of the training rows in a leaf, from the statistics that its impurity keeps. */
const coverOfClasses = ({ stats }: Leaf): number => stats.reduce((sum, count) => sum + count, 0);
const coverOfNumbers = ({ stats }: Leaf): number => stats[0] ?? Number.NaN;

/** Explains what the forest fills, times `scale`; of several models in a pipeline the last. */
function explain(
  stage: Stage,
  forest: ExplainedForest,
  { leaves }: Trees,
  features: number,
  { coverOf, scale = 1 }: { readonly coverOf: (leaf: Leaf) => number; readonly scale?: number },
): void {
  const covers = Float64Array.from(leaves, coverOf);
  const isCovered = leaves.every(({ stats }) => stats.length > 0);
  const leafIds = Int32Array.from(leaves, ({ index }) => index);
  const explanation = {
    forests: [{ ...forest, leafIds, ...(isCovered ? { covers } : {}) }],
    features,
    scores: forest.options.width,
    scale,
    coversName: 'impurityStats',
  };
  stage.explains(
    explanation,
    stage.input('featuresCol', { type: 'vector' }, 'features').attributes,
  );
}

/** The leaf of each tree, by its number from left to right: of an ensemble a vector. */
function fillLeaves(
  stage: Stage,
  trees: Trees,
  vector: Column,
  size: number,
  isOne: boolean,
): void {
  const attributes = isOne ? {} : { size: trees.roots.length };
  const output = stage.optional('leafCol', '', { type: isOne ? 'double' : 'vector', attributes });
  if (output === undefined) return;
  fill(stage, trees, { vector, size }, output, {
    values: (leaf) => [leaf.index],
    width: 1,
    sum: isOne ? 'sum' : 'each',
  });
}

function fillClasses(
  stage: Stage,
  trees: Trees,
  columns: ClassifierColumns,
  payload: Payload & { readonly size: number; readonly link: Link },
): ExplainedForest {
  const { features, probability, prediction } = columns;
  const raw = columns.raw ?? stage.between('raw prediction', 'vector');
  const forest = fill(stage, trees, { vector: features, size: payload.size }, raw, payload);
  const thresholds = thresholdsOf(stage, payload.width);
  const { link } = payload;
  classify(stage.plan, { raw, probability, prediction, link, thresholds }, stage.place);
  return forest;
}

/** Counts of the classes in a leaf; `share`: as parts of their sum. */
function classCounts(classes: number, share: boolean): (leaf: Leaf) => Float64Array {
  return ({ stats }) => {
    if (stats.length !== classes) {
      throw new StageProblem(
        `expected a leaf with counts of ${classes} classes, got ${stats.length}`,
      );
    }
    const total = stats.reduce((sum, count) => sum + count, 0);
    return share && total !== 0 ? stats.map((count) => count / total) : stats;
  };
}

const lowerTreeClassifier: Lower = async (stage) => {
  const trees = singleTree(await stage.folder.table());
  const [size, width] = [extra(stage, 'numFeatures'), extra(stage, 'numClasses')];
  const columns = classifierColumns(stage, size, width);
  const values = classCounts(width, false);
  fillClasses(stage, trees, columns, { values, width, sum: 'sum', size, link: 'normalize' });
  // A sum of counts is not explained, but their shares are: the probabilities. No request runs
  // this stage.
  const shares = stage.between('shares', 'vector');
  const features = { vector: columns.features, size };
  const payload = { values: classCounts(width, true), width, sum: 'sum' } as const;
  const forest = fill(stage, trees, features, shares, payload);
  explain(stage, forest, trees, size, { coverOf: coverOfClasses });
  fillLeaves(stage, trees, columns.features, size, true);
};

const lowerForestClassifier: Lower = async (stage) => {
  const trees = await ensembleOf(stage);
  const [size, width] = [extra(stage, 'numFeatures'), extra(stage, 'numClasses')];
  const columns = classifierColumns(stage, size, width);
  const payload = { values: classCounts(width, true), width, sum: 'sum', size } as const;
  const forest = fillClasses(stage, trees, columns, { ...payload, link: 'normalize' });
  const scale = 1 / trees.roots.length;
  explain(stage, forest, trees, size, { coverOf: coverOfClasses, scale });
  fillLeaves(stage, trees, columns.features, size, false);
};

const lowerBoostedClassifier: Lower = async (stage) => {
  const { weights, ...trees } = await ensembleOf(stage);
  const size = extra(stage, 'numFeatures');
  const columns = classifierColumns(stage, size, 2);
  const forest = fillClasses(stage, trees, columns, {
    values: ({ prediction }) => [-prediction, prediction],
    width: 2,
    sum: 'sum',
    weights,
    size,
    link: 'gbt',
  });
  explain(stage, forest, trees, size, { coverOf: coverOfNumbers });
  fillLeaves(stage, trees, columns.features, size, false);
};

const prediction = (leaf: Leaf): readonly number[] => [leaf.prediction];

/** Variance from the number of values in the leaf, their sum and the sum of their squares. */
function varianceOf({ stats }: Leaf): readonly number[] {
  const [count = 0, sum = 0, squares = 0] = stats;
  return [count === 0 ? 0 : (squares - (sum * sum) / count) / count];
}

const lowerTreeRegression: Lower = async (stage) => {
  const trees = singleTree(await stage.folder.table());
  const size = extra(stage, 'numFeatures');
  const columns = regressionColumns(stage, size);
  const features = { vector: columns.features, size };
  const payload = { values: prediction, width: 1, sum: 'sum' } as const;
  const forest = fill(stage, trees, features, columns.prediction, payload);
  explain(stage, forest, trees, size, { coverOf: coverOfNumbers });
  const variance = stage.optional('varianceCol', '', { type: 'double' });
  predictsAs(stage, ['predictionCol', 'varianceCol']);
  if (variance !== undefined) {
    fill(stage, trees, features, variance, { values: varianceOf, width: 1, sum: 'sum' });
  }
  fillLeaves(stage, trees, columns.features, size, true);
};

const lowerForestRegression: Lower = async (stage) => {
  const trees = await ensembleOf(stage);
  const size = extra(stage, 'numFeatures');
  const columns = regressionColumns(stage, size);
  const features = { vector: columns.features, size };
  const payload = { values: prediction, width: 1, sum: 'mean' } as const;
  const forest = fill(stage, trees, features, columns.prediction, payload);
  explain(stage, forest, trees, size, { coverOf: coverOfNumbers });
  fillLeaves(stage, trees, columns.features, size, false);
};

const lowerBoostedRegression: Lower = async (stage) => {
  const { weights, ...trees } = await ensembleOf(stage);
  const size = extra(stage, 'numFeatures');
  const columns = regressionColumns(stage, size);
  const features = { vector: columns.features, size };
  const payload = { values: prediction, width: 1, sum: 'sum', weights } as const;
  const forest = fill(stage, trees, features, columns.prediction, payload);
  explain(stage, forest, trees, size, { coverOf: coverOfNumbers });
  fillLeaves(stage, trees, columns.features, size, false);
};

export const FOREST_STAGES: Readonly<Record<string, Lower>> = {
  DecisionTreeClassificationModel: lowerTreeClassifier,
  RandomForestClassificationModel: lowerForestClassifier,
  GBTClassificationModel: lowerBoostedClassifier,
  DecisionTreeRegressionModel: lowerTreeRegression,
  RandomForestRegressionModel: lowerForestRegression,
  GBTRegressionModel: lowerBoostedRegression,
};
