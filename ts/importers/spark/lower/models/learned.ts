// Spark's naive Bayes, perceptrons, clusters and recommenders. Importer's worker thread.
// Source: tabular.md 5.2, 5.3, 10
import {
  bisectingKMeans,
  type ClusterNode,
  gaussianMixture,
  kMeans,
  multilayerPerceptron,
  naiveBayes,
} from '../../../plan/ops/learned.js';
import { als, fpGrowth } from '../../../plan/ops/recommend.js';
import { lda, SPARK_LDA_SEED } from '../../../plan/ops/topics.js';
import {
  integerCell,
  integersCell,
  listCell,
  matrixCell,
  numberCell,
  numbersCell,
  textsCell,
  vectorCell,
} from '../../read/cells.js';
import { StageProblem } from '../../read/problem.js';
import type { Table } from '../../read/table.js';
import { SKIPS } from '../features/strings.js';
import { NUMBER, TEXTS } from '../frame.js';
import type { Lower, Stage } from '../stage.js';
import {
  classifierColumns,
  featuresOf,
  predictionOf,
  predictsAs,
  thresholdsOf,
} from './classifier.js';

const MODEL_TYPES = ['multinomial', 'bernoulli', 'gaussian', 'complement'] as const;

const lowerNaiveBayes: Lower = async (stage) => {
  const table = await stage.folder.table();
  const pi = vectorCell(table.column(['pi'], 0)[0], 'pi');
  const { rows, columns: size, values: theta } = matrixCell(table.column(['theta'], 1)[0], 'theta');
  const modelType = stage.params.choice('modelType', MODEL_TYPES, 'multinomial');
  const sigma =
    modelType === 'gaussian'
      ? matrixCell(table.column(['sigma'], 2)[0], 'sigma').values
      : undefined;
  // Complement models have no priors.
  if (rows !== pi.length && !(modelType === 'complement' && pi.length === 0)) {
    throw new StageProblem(
      `expected equal counts, got ${rows} rows in theta and ${pi.length} values in pi`,
    );
  }
  naiveBayes(
    stage.plan,
    {
      ...classifierColumns(stage, size, rows),
      modelType,
      pi: pi.length === 0 ? new Float64Array(rows) : pi,
      theta,
      sigma,
      thresholds: thresholdsOf(stage, rows),
    },
    stage.place,
  );
};

/** Layers stand in the parameters; before 3.0, in the table. */
const lowerPerceptron: Lower = async (stage) => {
  const table = await stage.folder.table();
  const stored = table.find('layers');
  const layers =
    stored === undefined
      ? Int32Array.from(stage.params.numbers('layers'))
      : integersCell(stored[0], 'layers');
  const weights = vectorCell(table.column(['weights'], stored === undefined ? 0 : 1)[0], 'weights');
  const [size, classes] = [layers[0], layers.at(-1)];
  if (layers.length < 2 || size === undefined || classes === undefined) {
    throw new StageProblem(`layers: expected 2 or more, got ${layers.length}`);
  }
  multilayerPerceptron(
    stage.plan,
    {
      ...classifierColumns(stage, size, classes),
      layers,
      weights,
      thresholds: thresholdsOf(stage, classes),
    },
    stage.place,
  );
};

const DISTANCES = ['euclidean', 'cosine'] as const;
const distanceOf = (stage: Stage) => stage.params.choice('distanceMeasure', DISTANCES, 'euclidean');

/** Concatenates vectors of one length. */
function joined(vectors: readonly Float64Array[], what: string): [Float64Array, number] {
  const size = vectors[0]?.length ?? 0;
  if (size === 0) throw new StageProblem(`${what}: expected values, got none`);
  const all = new Float64Array(vectors.length * size);
  for (const [i, vector] of vectors.entries()) {
    if (vector.length !== size) {
      throw new StageProblem(`${what}: expected ${size} values each, got ${vector.length}`);
    }
    all.set(vector, i * size);
  }
  return [all, size];
}

const lowerKMeans: Lower = async (stage) => {
  const table = await stage.folder.table();
  const cells = table.column(['clusterCenter'], 1);
  const rows = table
    .column(['clusterIdx'], 0)
    .map((index, i) => ({
      index: integerCell(index, 'clusterIdx'),
      center: vectorCell(cells[i], 'clusterCenter'),
    }))
    .sort((a, b) => a.index - b.index);
  if (rows.some(({ index }, i) => index !== i)) {
    throw new StageProblem('clusterIdx: expected numbers from 0 on without gaps');
  }
  const k = rows.length;
  const [centers, size] = joined(
    rows.map(({ center }) => center),
    'clusterCenter',
  );
  const features = featuresOf(stage, size);
  const prediction = predictionOf(stage, 'int32', { scalar: { kind: 'nominal', count: k } });
  const distance = distanceOf(stage);
  kMeans(stage.plan, { features, prediction, centers, k, distance }, stage.place);
};

const lowerBisectingKMeans: Lower = async (stage) => {
  const root = clusterTree(await stage.folder.table('data/data'));
  const features = featuresOf(stage, root.center.length);
  const prediction = predictionOf(stage, 'int32');
  const distance = distanceOf(stage);
  bisectingKMeans(stage.plan, { features, prediction, root, distance }, stage.place);
};

function clusterTree(table: Table): ClusterNode {
  const centers = table.column(['center'], 2);
  const children = table.column(['children'], 6);
  const rows = new Map(
    table.column(['index'], 0).map((index, i) => [integerCell(index, 'index'), i]),
  );
  const lower = new Set(children.flatMap((cell) => [...integersCell(cell, 'children')]));
  const tops = [...rows.keys()].filter((index) => !lower.has(index));
  const [top] = tops;
  if (top === undefined || tops.length > 1 || rows.size !== table.rowCount) {
    throw new StageProblem(`${table.place}: the clusters are not a tree`);
  }
  const node = (index: number): ClusterNode => {
    const row = rows.get(index);
    if (row === undefined) throw new StageProblem(`${table.place}: cluster ${index} is missing`);
    rows.delete(index); // each once: no cycles
    return {
      index,
      center: vectorCell(centers[row], 'center'),
      children: Array.from(integersCell(children[row], 'children'), node),
    };
  };
  return node(top);
}

const lowerGaussianMixture: Lower = async (stage) => {
  const table = await stage.folder.table();
  const weights = numbersCell(table.column(['weights'], 0)[0], 'weights');
  const mus = listCell(table.column(['mus'], 1)[0], 'mus');
  const sigmas = listCell(table.column(['sigmas'], 2)[0], 'sigmas');
  const k = weights.length;
  const [means, size] = joined(
    mus.map((mu) => vectorCell(mu, 'mus')),
    'mus',
  );
  const matrices = sigmas.map((sigma) => matrixCell(sigma, 'sigmas'));
  const isSquare = matrices.every(({ rows, columns }) => rows === size && columns === size);
  if (mus.length !== k || matrices.length !== k || !isSquare) {
    throw new StageProblem(
      `expected equal counts, got ${k} weights, ${mus.length} mus and ${matrices.length} sigmas`,
    );
  }
  const [covariances] = joined(
    matrices.map(({ values }) => values),
    'sigmas',
  );
  const features = featuresOf(stage, size);
  const prediction = stage.optional('predictionCol', 'prediction', { type: 'int32' });
  const probability = stage.optional('probabilityCol', 'probability', {
    type: 'vector',
    attributes: { size: k },
  });
  predictsAs(stage, ['predictionCol', 'probabilityCol']);
  try {
    gaussianMixture(
      stage.plan,
      { features, probability, prediction, weights, means, covariances },
      stage.place,
    );
  } catch (error) {
    throw error instanceof RangeError ? new StageProblem(error.message) : error;
  }
};

/** A saved model forgets its seed: Spark makes it with its class's. */
const lowerLda: Lower = async (stage) => {
  const table = await stage.folder.table();
  const {
    rows,
    columns: k,
    values: topics,
  } = matrixCell(table.column(['topicsMatrix'], 1)[0], 'topicsMatrix');
  const docConcentration = vectorCell(table.column(['docConcentration'], 2)[0], 'docConcentration');
  const gammaShape = numberCell(table.column(['gammaShape'], 4)[0], 'gammaShape');
  if (docConcentration.length !== k) {
    throw new StageProblem(`${docConcentration.length} concentrations, ${k} topics`);
  }
  const features = featuresOf(stage, rows);
  const distribution = stage.optional('topicDistributionCol', 'topicDistribution', {
    type: 'vector',
    attributes: { size: k },
  });
  predictsAs(stage, ['topicDistributionCol']);
  const model = { topics, docConcentration, gammaShape, seed: SPARK_LDA_SEED };
  try {
    if (distribution !== undefined)
      lda(stage.plan, { features, distribution, ...model }, stage.place);
  } catch (error) {
    throw error instanceof RangeError ? new StageProblem(error.message) : error;
  }
};

async function factorsOf(stage: Stage, name: string) {
  const table = await stage.folder.table(name);
  const ids = Int32Array.from(table.column(['id'], 0), (id) => integerCell(id, `${name}: id`));
  const rows = table.column(['features'], 1).map((cell) => numbersCell(cell, `${name}: features`));
  const [factors, rank] = joined(rows, name);
  return { ids, factors, rank };
}

const lowerAls: Lower = async (stage) => {
  const users = await factorsOf(stage, 'userFactors');
  const items = await factorsOf(stage, 'itemFactors');
  if (users.rank !== items.rank) {
    throw new StageProblem(
      `expected equal ranks, got ${users.rank} in userFactors and ${items.rank} in itemFactors`,
    );
  }
  const coldStart = stage.params.choice('coldStartStrategy', ['nan', 'drop'] as const, 'nan');
  if (coldStart === 'drop') stage.warn(SKIPS);
  const user = stage.input('userCol', NUMBER, 'user').column;
  const item = stage.input('itemCol', NUMBER, 'item').column;
  als(
    stage.plan,
    {
      user,
      item,
      prediction: predictionOf(stage, 'float'),
      rank: users.rank,
      userIds: users.ids,
      userFactors: users.factors,
      itemIds: items.ids,
      itemFactors: items.factors,
      coldStart,
    },
    stage.place,
  );
};

const lowerFpGrowth: Lower = async (stage) => {
  const table = await stage.folder.table();
  const freqs = table.column(['freq'], 1);
  const itemsets = table.column(['items'], 0).map((cell, i) => ({
    items: textsCell(cell, 'items'),
    freq: numberCell(freqs[i], 'freq'),
  }));
  const items = stage.input('itemsCol', TEXTS, 'items').column;
  const prediction = stage.output(stage.params.text('predictionCol', 'prediction'), {
    type: 'list',
    element: 'string',
  });
  predictsAs(stage, ['predictionCol']);
  const minConfidence = stage.params.number('minConfidence', 0.8);
  fpGrowth(stage.plan, { items, prediction, itemsets, minConfidence }, stage.place);
};

export const LEARNED_STAGES: Readonly<Record<string, Lower>> = {
  NaiveBayesModel: lowerNaiveBayes,
  MultilayerPerceptronClassificationModel: lowerPerceptron,
  KMeansModel: lowerKMeans,
  BisectingKMeansModel: lowerBisectingKMeans,
  GaussianMixtureModel: lowerGaussianMixture,
  ALSModel: lowerAls,
  FPGrowthModel: lowerFpGrowth,
  LocalLDAModel: lowerLda,
};
