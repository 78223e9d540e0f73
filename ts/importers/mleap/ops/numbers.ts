// Regressions, clusters and recommendations. Importer's worker thread.
// Source: tabular.md 4.2, 10
import * as ops from '../../plan/ops/index.js';
import { readClusters } from '../bundle/trees.js';
import { DOUBLE, type Op, type OpNode, type PortType, prediction, vectorOf } from '../node.js';
import { addTrees, explained, treesOf } from './trees.js';
import { joined } from './vectors.js';

const CLUSTER: PortType = { type: 'int32' };

function linearRegression(node: OpNode): void {
  const coefficients = node.attributes.numbers('coefficients');
  const op = {
    features: node.input(vectorOf(coefficients.length), 'features'),
    prediction: node.output(DOUBLE, 'prediction'),
    coefficients,
    intercept: node.attributes.number('intercept'),
  };
  ops.linearRegression(node.builder, op, node.place);
  const intercepts = Float64Array.of(op.intercept);
  node.frame.explains({ features: { vector: op.features }, coefficients, intercepts });
}

function generalizedLinearRegression(node: OpNode): void {
  const { attributes } = node;
  const coefficients = attributes.numbers('coefficients');
  const family = attributes.text('family', 'gaussian');
  const link = attributes.text('link', 'identity');
  if (!(ops.GLM_FAMILIES as readonly string[]).includes(family) || family === 'tweedie') {
    node.problem(`the family '${family}' is not supported`);
    return;
  }
  if (!(ops.GLM_LINKS as readonly string[]).includes(link) || link === 'power') {
    node.problem(`the link '${link}' is not supported`);
    return;
  }
  const op = {
    features: node.input(vectorOf(coefficients.length), 'features'),
    prediction: node.optionalOutput(DOUBLE, 'prediction'),
    linkPrediction: node.optionalOutput(DOUBLE, 'link_prediction'),
    coefficients,
    intercept: attributes.number('intercept'),
    family: family as ops.GlmFamily,
    link: link as ops.GlmLink,
  };
  ops.generalizedLinearRegression(node.builder, op, node.place);
  const intercepts = Float64Array.of(op.intercept);
  node.frame.explains({ features: { vector: op.features }, coefficients, intercepts });
}

function aftSurvivalRegression(node: OpNode): void {
  const { attributes } = node;
  const coefficients = attributes.numbers('coefficients');
  const probabilities = attributes.numbers('quantile_probabilities');
  const op = {
    features: node.input(vectorOf(coefficients.length), 'features'),
    prediction: node.optionalOutput(DOUBLE, 'prediction'),
    quantiles: node.optionalOutput(vectorOf(probabilities.length), 'quantiles'),
    coefficients,
    intercept: attributes.number('intercept'),
    scale: attributes.number('scale'),
    quantileProbabilities: probabilities,
  };
  ops.aftSurvivalRegression(node.builder, op, node.place);
}

/** With a feature_index its input is a vector. */
function isotonicRegression(node: OpNode): void {
  const { attributes } = node;
  const hasIndex = attributes.has('feature_index');
  const op = {
    features: node.input(hasIndex ? vectorOf() : DOUBLE, 'features', 'feature'),
    prediction: node.output(DOUBLE, 'prediction'),
    boundaries: attributes.numbers('boundaries'),
    predictions: attributes.numbers('predictions'),
    featureIndex: hasIndex ? attributes.integer('feature_index') : 0,
  };
  ops.isotonicRegression(node.builder, op, node.place);
}

/** `boosted`: weighted sum; else the mean. */
async function treeRegression(node: OpNode, boosted: boolean): Promise<void> {
  const { attributes, builder, bundle, found, place } = node;
  const size = attributes.has('num_features') ? attributes.integer('num_features') : undefined;
  const { trees, weights } = await treesOf(bundle, found, 1, (values) => values.slice(0, 1));
  const op = {
    trees,
    features: node.input(vectorOf(size), 'features'),
    values: node.output(DOUBLE, 'prediction'),
    sum: boosted ? 'sum' : 'mean',
  } as const;
  const given = boosted && weights !== undefined ? { weights } : {};
  node.frame.explains(explained(addTrees(builder, { ...op, ...given }, size, place), size));
}

function kMeans(node: OpNode): void {
  const centers = node.attributes.vectors('cluster_centers');
  const op = {
    features: node.input(vectorOf(centers[0]?.length), 'features'),
    prediction: node.output(CLUSTER, 'prediction'),
    centers: joined(centers),
    k: centers.length,
    distance: 'euclidean',
  } as const;
  ops.kMeans(node.builder, op, node.place);
}

async function bisectingKMeans(node: OpNode): Promise<void> {
  const { bundle, found } = node;
  const file = `${found.folder}/tree.${bundle.extension}`;
  const root = readClusters(await bundle.read(file), bundle.extension, file);
  const op = {
    features: node.input(vectorOf(root.center.length), 'features'),
    prediction: node.output(CLUSTER, 'prediction'),
    root,
    distance: 'euclidean',
  } as const;
  ops.bisectingKMeans(node.builder, op, node.place);
}

function gaussianMixture(node: OpNode): void {
  const { attributes } = node;
  const weights = attributes.numbers('weights');
  const means = attributes.vectors('means');
  const op = {
    features: node.input(vectorOf(means[0]?.length), 'features'),
    prediction: node.optionalOutput(CLUSTER, 'prediction'),
    probability: node.optionalOutput(vectorOf(weights.length), 'probability'),
    weights,
    means: joined(means),
    covariances: joined(attributes.vectors('covs')),
  };
  ops.gaussianMixture(node.builder, op, node.place);
}

function als(node: OpNode): void {
  const { attributes } = node;
  const op = {
    user: node.input({ type: 'int32' }, 'user'),
    item: node.input({ type: 'int32' }, 'item'),
    prediction: node.output({ type: 'float' }, 'prediction'),
    rank: attributes.integer('rank'),
    userIds: attributes.integers('users'),
    userFactors: joined(attributes.vectors('user_factors')),
    itemIds: attributes.integers('items'),
    itemFactors: joined(attributes.vectors('item_factors')),
    coldStart: 'nan',
  } as const;
  ops.als(node.builder, op, node.place);
}

export const NUMBER_OPS: Readonly<Record<string, Op>> = {
  aft_survival_regression: prediction(aftSurvivalRegression),
  als: prediction(als),
  bisecting_k_means: prediction(bisectingKMeans),
  decision_tree_regression: prediction((node) => treeRegression(node, false)),
  gaussian_mixture: prediction(gaussianMixture),
  gbt_regression: prediction((node) => treeRegression(node, true)),
  generalized_linear_regression: prediction(generalizedLinearRegression),
  isotonic_regression: prediction(isotonicRegression),
  k_means: prediction(kMeans),
  linear_regression: prediction(linearRegression),
  random_forest_regression: prediction((node) => treeRegression(node, false)),
};
