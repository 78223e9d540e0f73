// Linear models and those that are linear up to a function. `features` is a Vector (or a List of
// numbers) of as many values as there are coefficients; another size is refused. Importer's worker
// thread; pure.
import type { Column, PlanBuilder } from '../builder.js';
import type { FeatureRule, GlmFamily, GlmLink } from '../generated/stages.js';
import type { ClassifierOutputs, Decision, Link } from './classify.js';
import { classify, rawThresholdOf } from './classify.js';
import { chosen, vectorColumn } from './common.js';

/**
 * Vector -> Vector of scores: coefficients [classes, features] · x + intercepts. One class with
 * `mirror` gives (-score, score). `minusLogSumExp`: of all scores, then (Spark's complement NB).
 */
export function linearScores(
  builder: PlanBuilder,
  op: {
    readonly features: Column;
    readonly scores: Column;
    readonly coefficients: Float64Array;
    readonly intercepts: Float64Array;
    readonly mirror?: boolean | undefined;
    readonly rule?: FeatureRule | undefined;
    readonly minusLogSumExp?: boolean | undefined;
  },
  place: string,
): void {
  const { coefficients, intercepts, mirror, rule, minusLogSumExp } = op;
  const attributes = { coefficients, intercepts, mirror, rule, minusLogSumExp };
  builder.stage('linear_scores', [op.features], [op.scores], attributes, place);
}

/** Vector -> Double. */
export function linearRegression(
  builder: PlanBuilder,
  op: {
    readonly features: Column;
    readonly prediction: Column;
    readonly coefficients: Float64Array;
    readonly intercept: number;
  },
  place: string,
): void {
  const { coefficients, intercept } = op;
  const attributes = { coefficients, intercept: { real: intercept } };
  builder.stage('linear_regression', [op.features], [op.prediction], attributes, place);
}

/**
 * Binary: coefficients of one class; `threshold` (0.5) is a probability. Multinomial: coefficients
 * [classes, features]; `thresholds`. A binary model with `thresholds` [t0, t1] has the threshold
 * 1 / (1 + t0 / t1).
 */
export function logisticRegression(
  builder: PlanBuilder,
  op: ClassifierOutputs & {
    readonly features: Column;
    readonly coefficients: Float64Array;
    readonly intercepts: Float64Array;
    readonly multinomial: boolean;
    readonly threshold?: number | undefined;
    readonly thresholds?: Float64Array | undefined;
    readonly zeroThreshold?: 'divide' | 'infinity' | undefined;
    /** MLeap: a binary model's probability of class 0 is a separate sigmoid, not 1 - p1. */
    readonly separateSigmoids?: boolean | undefined;
  },
  place: string,
): void {
  const { features, coefficients, intercepts, multinomial, thresholds } = op;
  const raw = vectorColumn(builder, op.raw, 'raw prediction');
  const mirror = !multinomial;
  linearScores(builder, { features, scores: raw, coefficients, intercepts, mirror }, place);
  const sigmoid: Link = op.separateSigmoids === true ? 'sigmoid' : 'first_sigmoid';
  const link: Link = multinomial ? 'softmax' : sigmoid;
  const [t0, t1] = thresholds ?? [];
  const binary = t0 === undefined || t1 === undefined ? (op.threshold ?? 0.5) : 1 / (1 + t0 / t1);
  const decision: Decision = multinomial
    ? { thresholds, zeroThreshold: op.zeroThreshold }
    : { rawThreshold: rawThresholdOf(binary) };
  const { probability, prediction } = op;
  classify(builder, { raw, probability, prediction, link, ...decision }, place);
}

/** Scores (-m, m), no probability; class 1 where m > threshold. */
export function linearSvc(
  builder: PlanBuilder,
  op: {
    readonly features: Column;
    readonly raw?: Column | undefined;
    readonly prediction?: Column | undefined;
    readonly coefficients: Float64Array;
    readonly intercept: number;
    readonly threshold: number;
  },
  place: string,
): void {
  const { features, coefficients, intercept, threshold } = op;
  const scores = vectorColumn(builder, op.raw, 'raw prediction');
  const intercepts = Float64Array.of(intercept);
  linearScores(builder, { features, scores, coefficients, intercepts, mirror: true }, place);
  const { prediction } = op;
  classify(builder, { raw: scores, prediction, link: 'none', rawThreshold: threshold }, place);
}

/** `linkPower`: of the link 'power' (0 = log). `offset`: a number added to the linear part. */
export function generalizedLinearRegression(
  builder: PlanBuilder,
  op: {
    readonly features: Column;
    readonly offset?: Column | undefined;
    readonly prediction?: Column | undefined;
    readonly linkPrediction?: Column | undefined;
    readonly coefficients: Float64Array;
    readonly intercept: number;
    readonly family: GlmFamily;
    readonly link: GlmLink;
    readonly linkPower?: number | undefined;
  },
  place: string,
): void {
  const inputs = op.offset === undefined ? [op.features] : [op.features, op.offset];
  const { prediction, linkPrediction } = op;
  const { columns, roles } = chosen({ prediction, linkPrediction });
  const attributes = {
    coefficients: op.coefficients,
    intercept: { real: op.intercept },
    family: op.family,
    link: op.link,
    linkPower: op.linkPower === undefined ? undefined : { real: op.linkPower },
    roles,
  };
  builder.stage('glm', inputs, columns, attributes, place);
}

/**
 * Accelerated failure time: prediction e^score; quantiles (a Vector) of its Weibull distribution.
 */
export function aftSurvivalRegression(
  builder: PlanBuilder,
  op: {
    readonly features: Column;
    readonly prediction?: Column | undefined;
    readonly quantiles?: Column | undefined;
    readonly coefficients: Float64Array;
    readonly intercept: number;
    readonly scale: number;
    readonly quantileProbabilities: Float64Array;
  },
  place: string,
): void {
  const { columns, roles } = chosen({ prediction: op.prediction, quantiles: op.quantiles });
  const attributes = {
    coefficients: op.coefficients,
    intercept: { real: op.intercept },
    scale: { real: op.scale },
    probabilities: op.quantileProbabilities,
    roles,
  };
  builder.stage('aft', [op.features], columns, attributes, place);
}

/** A number, or value `featureIndex` of a Vector, -> Double, between `boundaries` linearly. */
export function isotonicRegression(
  builder: PlanBuilder,
  op: {
    readonly features: Column;
    readonly prediction: Column;
    readonly boundaries: Float64Array;
    readonly predictions: Float64Array;
    readonly featureIndex: number;
  },
  place: string,
): void {
  const { boundaries, predictions, featureIndex: index } = op;
  const attributes = { boundaries, predictions, index };
  builder.stage('isotonic', [op.features], [op.prediction], attributes, place);
}

/** `factors`: [features, size], row by row. */
interface Factorization {
  readonly features: Column;
  readonly intercept: number;
  readonly linear: Float64Array;
  readonly factors: Float64Array;
  readonly size: number;
}

function factorizationStage(
  builder: PlanBuilder,
  op: Factorization,
  output: Column,
  mirror: boolean,
  place: string,
): void {
  const { linear, factors, size } = op;
  const attributes = { intercept: { real: op.intercept }, linear, factors, size, mirror };
  builder.stage('factorization_machine', [op.features], [output], attributes, place);
}

export function fmRegression(
  builder: PlanBuilder,
  op: Factorization & { readonly prediction: Column },
  place: string,
): void {
  factorizationStage(builder, op, op.prediction, false, place);
}

export function fmClassifier(
  builder: PlanBuilder,
  op: Factorization & ClassifierOutputs & { readonly thresholds?: Float64Array },
  place: string,
): void {
  const raw = vectorColumn(builder, op.raw, 'raw prediction');
  factorizationStage(builder, op, raw, true, place);
  const { probability, prediction, thresholds } = op;
  classify(builder, { raw, probability, prediction, link: 'second_sigmoid', thresholds }, place);
}
