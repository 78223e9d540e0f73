// Naive Bayes, multilayer perceptrons and clusters. `features` is a Vector (or a List of numbers);
// one of another size is refused. Importer's worker thread; pure.
import type { Column, PlanBuilder } from '../builder.js';
import type { Distance } from '../generated/stages.js';
import { type ClassifierOutputs, classify } from './classify.js';
import { chosen, vectorColumn } from './common.js';
import { gaussianDensities } from './gaussian.js';
import { linearScores } from './linear.js';

/**
 * `pi`: logarithms of the classes' priors; `theta`: [classes, features], logarithms of
 * probabilities (gaussian: means; `sigma`: variances, alike).
 */
export function naiveBayes(
  builder: PlanBuilder,
  op: ClassifierOutputs & {
    readonly features: Column;
    readonly modelType: 'multinomial' | 'bernoulli' | 'gaussian' | 'complement';
    readonly pi: Float64Array;
    readonly theta: Float64Array;
    readonly sigma?: Float64Array | undefined;
    readonly thresholds?: Float64Array | undefined;
    readonly zeroThreshold?: 'divide' | 'infinity' | undefined;
    /** MLeap does not check whether the features of a multinomial model are negative. */
    readonly anyFeatures?: boolean | undefined;
  },
  place: string,
): void {
  const { features, modelType, pi, theta } = op;
  const scores = vectorColumn(builder, op.raw, 'raw prediction');
  const rule = op.anyFeatures === true ? 'any' : 'nonnegative';
  if (modelType === 'gaussian') {
    const sigma = op.sigma ?? new Float64Array();
    builder.stage('gaussian_bayes', [features], [scores], { pi, theta, sigma }, place);
  } else if (modelType === 'bernoulli') {
    linearScores(builder, { features, scores, ...bernoulli(pi, theta), rule: 'binary' }, place);
  } else {
    const complement = modelType === 'complement';
    const intercepts = complement ? new Float64Array(pi.length) : pi;
    const model = { coefficients: theta, intercepts, minusLogSumExp: complement };
    linearScores(builder, { features, scores, ...model, rule }, place);
  }
  const { probability, prediction, thresholds, zeroThreshold } = op;
  const outputs = { probability, prediction, thresholds, zeroThreshold };
  classify(builder, { raw: scores, ...outputs, link: 'softmax' }, place);
}

// log P(x) of all features at 0, and what a 1 adds.
function bernoulli(
  pi: Float64Array,
  theta: Float64Array,
): { readonly coefficients: Float64Array; readonly intercepts: Float64Array } {
  const features = theta.length / pi.length;
  const negative = theta.map((value) => Math.log(1 - Math.exp(value)));
  const intercepts = pi.map((prior, row) => {
    let sum = 0;
    for (const value of negative.subarray(row * features, (row + 1) * features)) sum += value;
    return prior + sum;
  });
  return { coefficients: theta.map((value, i) => value - (negative[i] ?? 0)), intercepts };
}

/**
 * Sigmoid layers, the last one linear (raw; its softmax is the probability). `weights`: layer by
 * layer the matrix [out, in] column by column, then the biases.
 */
export function multilayerPerceptron(
  builder: PlanBuilder,
  op: ClassifierOutputs & {
    readonly features: Column;
    readonly layers: Int32Array;
    readonly weights: Float64Array;
    readonly thresholds?: Float64Array | undefined;
  },
  place: string,
): void {
  const { features, layers, weights } = op;
  const raw = vectorColumn(builder, op.raw, 'raw prediction');
  builder.stage('perceptron', [features], [raw], { layers, weights }, place);
  const { probability, prediction, thresholds } = op;
  classify(builder, { raw, probability, prediction, link: 'softmax', thresholds }, place);
}

/** Vector -> Int32, the first nearest of `centers` [k, features]. */
export function kMeans(
  builder: PlanBuilder,
  op: {
    readonly features: Column;
    readonly prediction: Column;
    readonly centers: Float64Array;
    readonly k: number;
    readonly distance: Distance;
  },
  place: string,
): void {
  const { centers, k, distance } = op;
  builder.stage('k_means', [op.features], [op.prediction], { centers, k, distance }, place);
}

/** A node of a tree of clusters; leaves have the cluster's number as index. */
export interface ClusterNode {
  readonly index: number;
  readonly center: Float64Array;
  readonly children: readonly ClusterNode[];
}

/** Vector -> Int32, the leaf that the nearer child of each node leads to. */
export function bisectingKMeans(
  builder: PlanBuilder,
  op: {
    readonly features: Column;
    readonly prediction: Column;
    readonly root: ClusterNode;
    readonly distance: Distance;
  },
  place: string,
): void {
  // Breadth first, so that the children of a node lie side by side.
  const nodes: ClusterNode[] = [op.root];
  const firsts: number[] = [];
  for (let i = 0; i < nodes.length; ++i) {
    firsts.push(nodes.length);
    nodes.push(...(nodes[i]?.children ?? []));
  }
  const width = op.root.center.length;
  const centers = new Float64Array(nodes.length * width);
  nodes.forEach((node, i) => centers.set(node.center, i * width));
  const attributes = {
    centers,
    firsts: Int32Array.from(firsts),
    counts: Int32Array.from(nodes, (node) => node.children.length),
    indices: Int32Array.from(nodes, (node) => node.index),
    distance: op.distance,
  };
  builder.stage('bisecting_k_means', [op.features], [op.prediction], attributes, place);
}

/**
 * Vector -> probability (Vector) and prediction (Int32) of a mixture of normal distributions.
 * `means`: [k, features]; `covariances`: [k, features, features].
 * Errors: RangeError where a covariance matrix has no positive eigenvalue.
 */
export function gaussianMixture(
  builder: PlanBuilder,
  op: {
    readonly features: Column;
    readonly probability?: Column | undefined;
    readonly prediction?: Column | undefined;
    readonly weights: Float64Array;
    readonly means: Float64Array;
    readonly covariances: Float64Array;
  },
  place: string,
): void {
  const { weights, means } = op;
  const { roots, constants } = gaussianDensities(weights.length, means, op.covariances);
  const { columns, roles } = chosen({ probability: op.probability, prediction: op.prediction });
  const attributes = { weights, means, roots, constants, roles };
  builder.stage('gaussian_mixture', [op.features], columns, attributes, place);
}
