// Common parts of Spark's classifiers: columns of scores, probabilities and the class. Importer's
// worker thread.
import type { Column } from '../../../plan/builder.js';
import { StageProblem } from '../../read/problem.js';
import type { Attributes } from '../attributes.js';
import type { Stage } from '../stage.js';

export interface ClassifierColumns {
  readonly features: Column;
  readonly raw: Column | undefined;
  readonly probability: Column | undefined;
  readonly prediction: Column | undefined;
}

/** The features of a predictor: a vector. */
export function featuresOf(stage: Stage, size: number): Column {
  return stage.input('featuresCol', { type: 'vector', size }, 'features').column;
}

/** The columns of a classifier, in the order in which Spark adds them. `hasProbability`: LinearSVC
 * has none. */
export function classifierColumns(
  stage: Stage,
  size: number,
  classes: number,
  hasProbability = true,
): ClassifierColumns {
  const features = featuresOf(stage, size);
  const scores = { type: 'vector', attributes: { size: classes } } as const;
  const raw = stage.optional('rawPredictionCol', 'rawPrediction', scores);
  const probability = hasProbability
    ? stage.optional('probabilityCol', 'probability', scores)
    : undefined;
  const attributes: Attributes = { scalar: { kind: 'nominal', count: classes } };
  const prediction = stage.optional('predictionCol', 'prediction', { type: 'double', attributes });
  predictsAs(stage, ['predictionCol', 'probabilityCol', 'rawPredictionCol']);
  return { features, raw, probability, prediction };
}

/** The prediction of a regression. */
export function regressionColumns(stage: Stage, size: number) {
  const features = featuresOf(stage, size);
  const prediction = predictionOf(stage, 'double');
  return { features, prediction };
}

export function predictionOf(
  stage: Stage,
  type: 'double' | 'float' | 'int32',
  attributes: Attributes = {},
): Column {
  const name = stage.params.text('predictionCol', 'prediction');
  const prediction = stage.output(name, { type, attributes });
  predictsAs(stage, ['predictionCol']);
  return prediction;
}

const DEFAULT_NAMES: Readonly<Record<string, string>> = {
  predictionCol: 'prediction',
  probabilityCol: 'probability',
  rawPredictionCol: 'rawPrediction',
  topicDistributionCol: 'topicDistribution',
};

/** The columns that these parameters name, as the stage's outputs. */
export function predictsAs(stage: Stage, params: readonly string[]): void {
  const names = params.map((param) => stage.params.text(param, DEFAULT_NAMES[param] ?? ''));
  stage.predicts(names.filter((name) => name !== ''));
}

/** One threshold for each class, where they are set. */
export function thresholdsOf(stage: Stage, classes: number): Float64Array | undefined {
  if (!stage.params.has('thresholds')) return undefined;
  const thresholds = Float64Array.from(stage.params.numbers('thresholds'));
  if (thresholds.length === classes) return thresholds;
  throw new StageProblem(
    `thresholds: expected ${classes}, one for each class, got ${thresholds.length}`,
  );
}
