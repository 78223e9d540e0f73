// Latent Dirichlet allocation. Importer's worker thread; pure.
import type { Column, PlanBuilder } from '../builder.js';
import { MersenneTwister } from './mersenne-twister.js';

/** Java's hash of "org.apache.spark.ml.clustering.LocalLDAModel". */
const CLASS_HASH = javaHash('org.apache.spark.ml.clustering.LocalLDAModel');

function javaHash(text: string): number {
  let hash = 0;
  for (const c of text) hash = (Math.imul(31, hash) + (c.codePointAt(0) ?? 0)) | 0;
  return hash;
}

/**
 * The seed from which Spark's local model starts each estimate: it is constructed with its class's
 * seed and keeps it, whatever the parameter `seed` says.
 */
export const SPARK_LDA_SEED = BigInt(CLASS_HASH);

/** Logarithmic derivative of the gamma function, as Commons Math has it (to about 1e-8). */
export function digamma(x: number): number {
  if (x > 0 && x <= 1e-5) return -0.577215664901532860606512090082 - 1 / x;
  let at = x;
  const passed: number[] = [];
  for (; at < 49; at += 1) passed.push(at);
  const inverse = 1 / (at * at);
  let value = Math.log(at) - 0.5 / at - inverse * (1 / 12 + inverse * (1 / 120 - inverse / 252));
  for (let i = passed.length - 1; i >= 0; --i) value -= 1 / (passed[i] ?? Number.NaN);
  return value;
}

/**
 * Word counts (Vector of `vocabulary` values) -> distribution over topics (Vector; zeros where
 * there are no words). `topics`: [vocabulary, k], row by row; docConcentration: k values.
 * Errors: RangeError where the shape is not above 1, a weight is below 0, or the sizes do not fit.
 */
export function lda(
  builder: PlanBuilder,
  op: {
    readonly features: Column;
    readonly distribution: Column;
    readonly topics: Float64Array;
    readonly docConcentration: Float64Array;
    readonly gammaShape: number;
    readonly seed: bigint;
  },
  place: string,
): void {
  const { topics, docConcentration, gammaShape } = op;
  const k = docConcentration.length;
  if (!(gammaShape > 1)) throw new RangeError(`gammaShape is ${gammaShape}, expected above 1`);
  if (k === 0 || topics.length % k !== 0) throw new RangeError(`topics: expected ${k} columns`);
  if (topics.some((weight) => !(weight >= 0))) throw new RangeError('topics have weights below 0');
  const random = new MersenneTwister(op.seed);
  const start = Float64Array.from({ length: k }, () => random.gamma(gammaShape, 1 / gammaShape));
  const attributes = { start, concentration: docConcentration, words: likelihoods(topics, k) };
  builder.stage('lda', [op.features], [op.distribution], attributes, place);
}

// exp(E[log beta]) of each word in each topic.
function likelihoods(topics: Float64Array, k: number): Float64Array {
  const totals = new Float64Array(k);
  topics.forEach((weight, i) => {
    totals[i % k] = (totals[i % k] ?? 0) + weight;
  });
  const ofTotals = totals.map(digamma);
  return topics.map((weight, i) => Math.exp(digamma(weight) - (ofTotals[i % k] ?? Number.NaN)));
}
