// XGBoost boosters inside bundles. Importer's worker thread. Source: tabular.md 4.2; MLeap's
// XGBoostClassificationModel.
import { modelInvalid } from '../../../base/errors.js';
import { call, columnRef, constant, type Expression } from '../../plan/builder.js';
import type { ExplainedForest } from '../../plan/explain.js';
import { type Booster, readBooster } from '../../plan/xgboost/booster.js';
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
} from '../../plan/xgboost/scores.js';
import { DOUBLE, type Op, type OpNode, prediction, vectorOf } from '../node.js';

const FILE = 'xgboost.model';

interface NodeBooster extends Booster {
  readonly scores: readonly Expression[];
}

/** The node's booster, whose trees have been appended. */
async function boosterOf(node: OpNode): Promise<NodeBooster> {
  const file = `${node.found.folder}/${FILE}`;
  const bytes = await node.bundle.read(file);
  const { attributes, builder, place } = node;
  for (const port of ['leaf_prediction', 'contrib_prediction']) {
    if (node.outputs.some((socket) => socket.port === port)) {
      node.problem(`the output '${port}' is not supported`);
    }
  }
  const size = attributes.integer('num_features', -1);
  const vector = node.input(vectorOf(size), 'features');
  const features = size < 0 ? { vector } : { vector, size };
  try {
    const booster = readBooster(bytes);
    const limit = attributes.integer('tree_limit', 0);
    if (limit > 0 && limit < booster.trees.length) {
      node.problem(`tree_limit ${limit}: expected 0 or at least the ${booster.trees.length} trees`);
    }
    const forests: ExplainedForest[] = [];
    const scores = boosterScores(builder, booster, features, place, { forests });
    node.frame.explains({
      forests,
      features: Math.max(0, size),
      scores: outputCount(booster),
      coversName: 'sum_hessian',
    });
    return { ...booster, scores };
  } catch (error) {
    if (error instanceof RangeError) throw modelInvalid(`${file}: ${error.message}`);
    throw error;
  }
}

async function regressor(node: OpNode): Promise<void> {
  const { objective, scores } = await boosterOf(node);
  const [score, other] = scores;
  const value = score === undefined ? undefined : transformed(objective, score);
  if (value === undefined || other !== undefined) {
    node.problem(`the objective '${objective}' is not supported`);
    return;
  }
  fillScalar(node.builder, node.output(DOUBLE, 'prediction'), value, node.place);
}

/** Expressions that fill a classifier's columns. */
interface Answers {
  readonly prediction: Expression;
  readonly probability: readonly Expression[];
  readonly raw: readonly Expression[];
}

/** Its raw prediction, too, is [1 - x, x]. */
function ofTwo({ builder, place }: OpNode, margin: Expression): Answers {
  const probability = columnRef(
    builder.derive('probability of 1', 'float', sigmoid(margin), place),
  );
  const chosen = call('sql.greater_equal', probability, float(0.5));
  const pair = (value: Expression) => [call('sql.subtract', float(1), value), value];
  return {
    prediction: call('sql.case', chosen, constant(1), constant(0)),
    probability: pair(probability),
    raw: pair(margin),
  };
}

function ofMany({ builder, place }: OpNode, margins: readonly Expression[]): Answers {
  const probability = softmax(builder, margins, place);
  return { prediction: greatestOf(builder, probability, place), probability, raw: margins };
}

async function classifier(node: OpNode): Promise<void> {
  const { objective, numClass, scores } = await boosterOf(node);
  const classes = node.attributes.integer('num_classes', 2);
  const [margin] = scores;
  let answers: Answers | undefined;
  if (objective === 'binary:logistic' && classes === 2 && margin !== undefined) {
    answers = ofTwo(node, margin);
  } else if (objective === 'multi:softprob' && classes === numClass) {
    answers = ofMany(node, scores);
  }
  if (answers === undefined) {
    // MLeap reads the class that multi:softmax returns as the probability of the first class.
    node.problem(`the objective '${objective}' is not supported for ${classes} classes`);
    return;
  }
  const { builder, place } = node;
  fillScalar(builder, node.output(DOUBLE, 'prediction'), answers.prediction, place);
  const probability = node.optionalOutput(vectorOf(classes), 'probability');
  if (probability !== undefined) fillVector(builder, probability, answers.probability, place);
  const raw = node.optionalOutput(vectorOf(classes), 'raw_prediction');
  if (raw !== undefined) fillVector(builder, raw, answers.raw, place);
}

export const XGBOOST_OPS: Readonly<Record<string, Op>> = {
  'xgboost.classifier': prediction(classifier),
  'xgboost.regression': prediction(regressor),
};
