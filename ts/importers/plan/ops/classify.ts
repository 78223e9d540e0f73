// Stages after a classifier's scores: probabilities and the predicted class. Importer's worker
// thread; pure.
import type { Column, PlanBuilder } from '../builder.js';
import type { ScoreLink } from '../generated/stages.js';
import { chosen, vectorColumn } from './common.js';

/** Columns to fill: raw and probability are Vectors, prediction is a Double. */
export interface ClassifierOutputs {
  readonly raw?: Column | undefined;
  readonly probability?: Column | undefined;
  readonly prediction?: Column | undefined;
}

/**
 * How scores become probabilities:
 * 'none' they are not asked for, or are the scores; 'sigmoid' 1 / (1 + e^-raw), each;
 * 'first_sigmoid' so for class 0, the rest for class 1; 'second_sigmoid' the other way round; 'gbt'
 * so of 2 raw; 'softmax'; 'normalize' over their sum (where it is not 0).
 */
export type Link = ScoreLink;

/**
 * How the class is chosen: the first greatest score, unless one of these is there. `thresholds`:
 * the first greatest probability / threshold. Of two classes, class 1 where: raw[1] >
 * `rawThreshold`; probability[1] > `probabilityThreshold`. `zeroThreshold`: what a probability over
 * a threshold of 0 is: 'divide' (Spark: 0 / 0 is never chosen) or 'infinity' (MLeap).
 */
export interface Decision {
  readonly thresholds?: Float64Array | undefined;
  readonly zeroThreshold?: 'divide' | 'infinity' | undefined;
  readonly rawThreshold?: number | undefined;
  readonly probabilityThreshold?: number | undefined;
}

/** From `raw`, a filled column of scores (of a forest, say), to probability and prediction. */
export function classify(
  builder: PlanBuilder,
  op: Decision & {
    readonly raw: Column;
    readonly probability?: Column | undefined;
    readonly prediction?: Column | undefined;
    readonly link: Link;
  },
  place: string,
): void {
  const { raw, probability, prediction, link, thresholds, zeroThreshold } = op;
  const { columns, roles } = chosen({ probability, prediction });
  if (columns.length === 0) return;
  const attributes = {
    link,
    roles,
    thresholds,
    zeroInfinity: zeroThreshold === 'infinity',
    rawThreshold: op.rawThreshold === undefined ? undefined : { real: op.rawThreshold },
    probabilityThreshold:
      op.probabilityThreshold === undefined ? undefined : { real: op.probabilityThreshold },
  };
  builder.stage('classify', [raw], columns, attributes, place);
}

/** The score above which Spark's binary logistic regression says 1, for a probability threshold. */
export function rawThresholdOf(threshold: number): number {
  if (threshold === 0) return Number.NEGATIVE_INFINITY;
  return threshold === 1 ? Number.POSITIVE_INFINITY : Math.log(threshold / (1 - threshold));
}

/**
 * One score of each binary model: value 1 of raws[c] is class c's -> Vector (raw) and the first
 * greatest one's class (prediction) and score (best, Double: MLeap's probability).
 */
export function oneVsRest(
  builder: PlanBuilder,
  op: {
    readonly raws: readonly Column[];
    readonly raw?: Column | undefined;
    readonly prediction?: Column | undefined;
    readonly best?: Column | undefined;
  },
  place: string,
): void {
  const raw = vectorColumn(builder, op.raw, 'scores of the classes');
  builder.stage('one_vs_rest', op.raws, [raw], {}, place);
  const { prediction, best } = op;
  if (prediction === undefined && best === undefined) return;
  const { columns, roles } = chosen({ index: prediction, value: best });
  builder.stage('greatest', [raw], columns, { roles }, place);
}

/** MLeap's multinomial_labeler: the probabilities >= threshold (Vector) and their labels (List). */
export function multinomialLabeler(
  builder: PlanBuilder,
  op: {
    readonly input: Column;
    readonly probabilities?: Column | undefined;
    readonly labels?: Column | undefined;
    readonly names: readonly string[];
    readonly threshold: number;
  },
  place: string,
): void {
  const { columns, roles } = chosen({ probabilities: op.probabilities, labels: op.labels });
  const attributes = { names: op.names, threshold: { real: op.threshold }, roles };
  builder.stage('multinomial_labeler', [op.input], columns, attributes, place);
}
