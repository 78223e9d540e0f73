// Stages as Spark writes them, for the tests of ts/importers/spark.
import { dense, MATRIX, type Row, type Shape, VECTOR } from './parquet.js';
import type { StageSketch, TableSketch } from './model.js';

const data = (columns: Readonly<Record<string, Shape>>, ...rows: readonly Row[]) => ({
  data: { columns, rows },
});

export function stringIndexer(
  input: string,
  output: string,
  labels: readonly string[],
  params: Row = {},
): StageSketch {
  return {
    class: 'feature.StringIndexerModel',
    uid: `StringIndexer_${output}`,
    params: { inputCol: input, outputCol: output, ...params },
    defaults: { handleInvalid: 'error' },
    tables: data({ labelsArray: { list: { list: 'string' } } }, { labelsArray: [labels] }),
  };
}

export function assembler(
  inputs: readonly string[],
  output = 'features',
  params: Row = {},
): StageSketch {
  return {
    class: 'feature.VectorAssembler',
    uid: `VectorAssembler_${output}`,
    params: { inputCols: inputs, outputCol: output, ...params },
    defaults: { handleInvalid: 'error' },
  };
}

export function oneHot(input: string, output: string, size: number, params: Row = {}): StageSketch {
  return {
    class: 'feature.OneHotEncoderModel',
    uid: `OneHotEncoder_${output}`,
    params: { inputCols: [input], outputCols: [output], ...params },
    defaults: { handleInvalid: 'error', dropLast: true },
    tables: data({ categorySizes: { list: 'int' } }, { categorySizes: [size] }),
  };
}

/** Two classes. */
export function logistic(
  coefficients: readonly number[],
  intercept: number,
  params: Row = {},
): StageSketch {
  return {
    class: 'classification.LogisticRegressionModel',
    uid: 'LogisticRegression_1',
    params,
    defaults: { featuresCol: 'features', threshold: 0.5, predictionCol: 'prediction' },
    tables: data(
      {
        numClasses: 'int',
        numFeatures: 'int',
        interceptVector: VECTOR,
        coefficientMatrix: MATRIX,
        isMultinomial: 'boolean',
      },
      {
        numClasses: 2,
        numFeatures: coefficients.length,
        interceptVector: dense(intercept),
        coefficientMatrix: {
          type: 1,
          numRows: 1,
          numCols: coefficients.length,
          values: coefficients,
          isTransposed: true,
        },
        isMultinomial: false,
      },
    ),
  };
}

export function linear(
  coefficients: readonly number[],
  intercept: number,
  params: Row = {},
): StageSketch {
  return {
    class: 'regression.LinearRegressionModel',
    uid: 'LinearRegression_1',
    params,
    tables: data(
      { intercept: 'double', coefficients: VECTOR, scale: 'double' },
      { intercept, coefficients: dense(...coefficients), scale: 1 },
    ),
  };
}

/** A node: `split` is [feature, threshold], or [feature, left categories, number of categories]. */
export interface NodeSketch {
  readonly stats: readonly number[];
  readonly prediction: number;
  readonly split?: readonly [number, number] | readonly [number, readonly number[], number];
  readonly left?: NodeSketch;
  readonly right?: NodeSketch;
}

const SPLIT: Shape = {
  struct: {
    featureIndex: 'int',
    leftCategoriesOrThreshold: { list: 'double' },
    numCategories: 'int',
  },
};
const NODE: Readonly<Record<string, Shape>> = {
  id: 'int',
  prediction: 'double',
  impurity: 'double',
  impurityStats: { list: 'double' },
  rawCount: 'long',
  gain: 'double',
  leftChild: 'int',
  rightChild: 'int',
  split: SPLIT,
};

/** The rows of a tree, numbered from the root down, left before right. */
export function nodeRows(root: NodeSketch): Row[] {
  const rows: Row[] = [];
  const add = (node: NodeSketch): number => {
    const id = rows.length;
    rows.push({});
    const [feature = -1, value = [], count = -1] = node.split ?? [];
    const children = node.left !== undefined && node.right !== undefined;
    rows[id] = {
      id,
      prediction: node.prediction,
      impurity: 0.25,
      impurityStats: node.stats,
      rawCount: 10,
      gain: children ? 0.1 : -1,
      leftChild: node.left === undefined ? -1 : add(node.left),
      rightChild: node.right === undefined ? -1 : add(node.right),
      split: {
        featureIndex: feature,
        leftCategoriesOrThreshold: typeof value === 'number' ? [value] : value,
        numCategories: count,
      },
    };
    return id;
  };
  add(root);
  return rows;
}

export const treeTable = (rows: readonly Row[]): TableSketch => ({ columns: NODE, rows });

export function tree(
  kind: 'classification.DecisionTreeClassificationModel' | 'regression.DecisionTreeRegressionModel',
  root: NodeSketch,
  extra: Row,
  params: Row = {},
): StageSketch {
  const tables = { data: treeTable(nodeRows(root)) };
  return { class: kind, uid: 'dt_1', params, extra, tables };
}

/** `names`: the columns of treesMetadata, which Spark 4 calls _1, _2, _3. */
export function ensemble(
  kind: string,
  roots: readonly NodeSketch[],
  weights: readonly number[],
  extra: Row,
  names = ['treeID', 'metadata', 'weights'] as readonly [string, string, string],
): StageSketch {
  const [id, metadata, weight] = names;
  return {
    class: kind,
    uid: 'ensemble_1',
    extra: { numTrees: roots.length, ...extra },
    tables: {
      treesMetadata: {
        columns: { [id]: 'int', [metadata]: 'string', [weight]: 'double' },
        rows: roots.map((_, i) => ({ [id]: i, [metadata]: '{}', [weight]: weights[i] })),
      },
      data: {
        columns: { treeID: 'int', nodeData: { struct: NODE } },
        rows: roots.flatMap((root, treeID) =>
          nodeRows(root).map((nodeData) => ({ treeID, nodeData })),
        ),
        parts: 3,
      },
    },
  };
}
