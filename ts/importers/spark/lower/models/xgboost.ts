// Boosters that XGBoost's own package for PySpark (xgboost.spark) has saved: parameters as Spark's
// stages have them, the booster as text in model/. Importer's worker thread.
// Source: XGBoost 2.1, xgboost.spark.core: SparkXGBModelWriter, _transform.
import { call, columnRef, type Expression } from '../../../plan/builder.js';
import type { ExplainedForest } from '../../../plan/explain.js';
import type { ForestOptions } from '../../../plan/forest.js';
import { type Booster, readBooster } from '../../../plan/xgboost/booster.js';
import { firstTrees } from '../../../plan/xgboost/rounds.js';
import {
  boosterScores,
  fillScalar,
  fillVector,
  float,
  greatestOf,
  outputCount,
  sigmoid,
  softmax,
  transformed,
} from '../../../plan/xgboost/scores.js';
import { StageProblem } from '../../read/problem.js';
import type { Attributes } from '../attributes.js';
import { NUMBER } from '../frame.js';
import type { Lower, Stage } from '../stage.js';
import { predictionOf, predictsAs } from './classifier.js';

/** Parameters that change what rows or trees are taken, or add columns. */
const REFUSED = [
  'base_margin_col',
  'pred_contrib_col',
  'enable_sparse_data_optim',
  'iteration_range',
] as const;

interface StageBooster {
  readonly objective: string;
  readonly scores: readonly Expression[];
}

/** The booster, whose trees have been appended; of one that was stopped early the best of them. */
async function boosterOf(stage: Stage): Promise<StageBooster> {
  const { folder, params, plan, place } = stage;
  for (const name of REFUSED) {
    const isSet = params.isSet(name) && !['false', '""'].includes(params.shown(name));
    if (isSet) throw new StageProblem(`parameter ${name} is not supported`);
  }
  if (!Number.isNaN(params.number('missing', Number.NaN))) {
    throw new StageProblem(`parameter missing is ${params.shown('missing')}: expected NaN`);
  }
  try {
    const read = readBooster(await folder.bytes('model'));
    const booster = firstTrees(read, read.bestTrees ?? read.trees.length);
    const forests: ExplainedForest[] = [];
    const scores = boosterScores(plan, booster, featuresOf(stage, booster), place, { forests });
    explain(stage, booster, forests);
    return { objective: booster.objective, scores };
  } catch (error) {
    if (error instanceof RangeError) throw new StageProblem(`model: ${error.message}`);
    throw error;
  }
}

/** One vector, or columns of numbers. */
function featuresOf(stage: Stage, { numFeature = 0 }: Booster): ForestOptions['features'] {
  const names = namesOf(stage);
  if (names.length > 0) return names.map((name) => stage.model.frame.get(name, NUMBER).column);
  const vector = stage.input('featuresCol', { type: 'vector' }, 'features').column;
  return numFeature > 0 ? { vector, size: numFeature } : { vector };
}

const namesOf = (stage: Stage): readonly string[] => stage.params.texts('features_cols', []);

/** The margins are explained, as by pred_contribs. */
function explain(stage: Stage, booster: Booster, forests: readonly ExplainedForest[]): void {
  const names = namesOf(stage);
  const attributes =
    names.length > 0
      ? { slots: names.map((name) => ({ kind: 'numeric', name }) as const) }
      : stage.input('featuresCol', { type: 'vector' }, 'features').attributes;
  const { numFeature = 0 } = booster;
  const features = names.length > 0 ? names.length : numFeature;
  const scores = outputCount(booster);
  stage.explains({ forests, features, scores, coversName: 'sum_hessian' }, attributes);
}

const lowerRegressor: Lower = async (stage) => {
  const { objective, scores } = await boosterOf(stage);
  const [score, other] = scores;
  const value = score === undefined ? undefined : transformed(objective, score);
  if (value === undefined || other !== undefined) {
    throw new StageProblem(`the objective '${objective}' is not supported`);
  }
  fillScalar(stage.plan, predictionOf(stage, 'double'), value, stage.place);
};

const CLASSIFIERS = /^(?:binary:logistic|binary:logitraw|multi:softprob|multi:softmax)$/;

/** From the margins alone, whatever the objective makes of them. */
const lowerClassifier: Lower = async (stage) => {
  const { objective, scores } = await boosterOf(stage);
  if (!CLASSIFIERS.test(objective)) {
    throw new StageProblem(`the objective '${objective}' is not supported`);
  }
  const { plan, place } = stage;
  const [margin] = scores;
  const isTwo = scores.length === 1 && margin !== undefined;
  const raws = isTwo ? [call('sql.negative', margin), margin] : scores;
  const classes = raws.length;
  const vector = { type: 'vector', attributes: { size: classes } } as const;
  const raw = stage.optional('rawPredictionCol', 'rawPrediction', vector);
  if (raw !== undefined) fillVector(plan, raw, raws, place);
  const probabilities = isTwo ? pairOf(stage, sigmoid(margin)) : softmax(plan, scores, place);
  const attributes: Attributes = { scalar: { kind: 'nominal', count: classes } };
  const prediction = stage.optional('predictionCol', 'prediction', { type: 'double', attributes });
  if (prediction !== undefined) {
    fillScalar(plan, prediction, greatestOf(plan, probabilities, place), place);
  }
  const probability = stage.optional('probabilityCol', 'probability', vector);
  if (probability !== undefined) fillVector(plan, probability, probabilities, place);
  predictsAs(stage, ['predictionCol', 'probabilityCol', 'rawPredictionCol']);
};

function pairOf({ plan, place }: Stage, value: Expression): readonly Expression[] {
  const second = columnRef(plan.derive('probability of class 1', 'float', value, place));
  return [call('sql.subtract', float(1), second), second];
}

export const XGBOOST_STAGES: Readonly<Record<string, Lower>> = {
  'xgboost.spark.estimator.SparkXGBClassifierModel': lowerClassifier,
  'xgboost.spark.estimator.SparkXGBRegressorModel': lowerRegressor,
};
