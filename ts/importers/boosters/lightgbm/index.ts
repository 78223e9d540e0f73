// Lowers a model that LightGBM has saved. All numbers are doubles, as in LightGBM. Importer's
// worker thread; pure. Source: LightGBM's src/objective: ConvertOutput; src/boosting/
// gbdt_prediction.cpp.
import type { BoosterAnswer } from '../../../model/booster-answer.js';
import { call, columnRef, constant, type Expression, PlanBuilder } from '../../plan/builder.js';
import { addExplanation, type ExplainedForest } from '../../plan/explain.js';
import { addForest } from '../../plan/forest.js';
import { greatestOf } from '../../plan/xgboost/scores.js';
import { addClassLabel } from '../classes.js';
import { addFilOutput } from '../fil.js';
import { exponential, logistic, softmaxOf } from '../functions.js';
import type { Lowered } from '../lowered.js';
import { addMatrix, addOutput, MARGIN, PREDICT } from '../../plan/outputs.js';
import { lightgbmFields } from './fields.js';
import { linearScore } from './linear.js';
import { type LightgbmModel, readLightgbm } from './text.js';
import { treesOf } from './trees.js';

const PLACE = 'booster';

/** Errors: RangeError saying what is broken or not supported. */
export function lowerLightgbm(text: string, answer?: BoosterAnswer): Lowered {
  const read = readLightgbm(text);
  // FIL knows no values of categories, only their numbers.
  const model = answer?.server === 'fil' ? { ...read, pandas: [] } : read;
  const builder = new PlanBuilder('lightgbm', `LightGBM, format ${model.version}`);
  const fields = lightgbmFields(builder, model);
  builder.matrix = fields.matrix;
  const groups = Array.from({ length: model.classes }, (_, group) =>
    model.trees.filter((__, i) => i % model.classes === group),
  );
  const forests = groups.map((trees) => treesOf(trees, fields.columnOf));
  const isLinear = model.trees.some(({ linear }) => linear !== undefined);
  const explained: ExplainedForest[] = [];
  const scores = forests.map((forest, group): Expression => {
    if (forest.roots.length === 0) return constant(0);
    const trees = groups[group] ?? [];
    if (trees.some(({ linear }) => linear !== undefined)) {
      return linearScore(builder, trees, forest, fields, explained);
    }
    const { covers, leafIds, ...arrays } = forest;
    const column = builder.column(`sum of class ${group}`, 'double');
    const options = { ...fields.features(), ...arrays };
    addForest(builder, { ...options, values: column }, PLACE);
    explained.push({ options, column, leafIds, ...(covers === undefined ? {} : { covers }) });
    return columnRef(column);
  });
  addAnswers(builder, model, scores, answer);
  // Each round has a tree of each class.
  const ordered = explained.map((forest, score) => ({
    ...forest,
    score,
    sources: fields.sources,
    order: Array.from(forest.options.roots, (_, round) => round * model.classes + score),
  }));
  const lacks = isLinear
    ? 'the leaves of linear trees (linear_tree) have no Shapley values'
    : undefined;
  addExplanation(builder, {
    forests: ordered,
    features: model.features.length,
    scores: model.classes,
    hasMargins: !isLinear,
    coversName: 'leaf_count',
    ...(lacks === undefined ? {} : { lacks }),
  });
  return { plan: builder.finish(), warnings: fields.warnings };
}

function addAnswers(
  builder: PlanBuilder,
  model: LightgbmModel,
  scores: readonly Expression[],
  asked: BoosterAnswer | undefined,
): void {
  const [objective = '', ...words] = model.objective.split(' ');
  const rounds = model.trees.length / model.classes;
  const means = scores.map((score, i) => {
    const mean = model.average ? call('sql.divide', score, constant(rounds)) : score;
    return columnRef(builder.derive(`score ${i}`, 'double', mean, PLACE));
  });
  const answers = answersOf(builder, objective, words, means);
  if (asked?.server === 'fil') {
    addFilOutput(builder, answers, asked, PLACE);
    return;
  }
  if (asked?.server === 'mlserver') {
    addMatrix(builder, PREDICT, 'double', answers, { place: PLACE });
    return;
  }
  addOutput(builder, PREDICT, 'double', answers, { place: PLACE });
  addOutput(builder, MARGIN, 'double', scores, { place: PLACE, extra: true });
  const [answer] = answers;
  if (answer === undefined || !/^(binary|multiclass|multiclassova)$/.test(objective)) return;
  const isTwo = answers.length === 1;
  const chosen = call('sql.greater', answer, constant(0.5));
  const label = isTwo
    ? call('sql.case', chosen, constant(1), constant(0))
    : greatestOf(builder, answers, PLACE, 'double');
  addClassLabel(builder, label, undefined, PLACE);
}

/** Objectives whose predictions are the sums. */
const SUMS: ReadonlySet<string> = new Set([
  ...['', 'custom', 'none', 'null', 'na'],
  ...['huber', 'fair', 'quantile', 'mape', 'lambdarank', 'rank_xendcg'],
]);
const POWERS: ReadonlySet<string> = new Set(['poisson', 'gamma', 'tweedie']);

/** Errors: RangeError: the objective is not known. */
function answersOf(
  builder: PlanBuilder,
  objective: string,
  words: readonly string[],
  scores: readonly Expression[],
): readonly Expression[] {
  if (SUMS.has(objective)) return scores;
  if (POWERS.has(objective)) return scores.map(exponential);
  switch (objective) {
    case 'regression':
    case 'regression_l1':
      return words.includes('sqrt') ? scores.map(signedSquare) : scores;
    case 'binary':
    case 'multiclassova':
      return scores.map((score) => logistic(score, sigmoidOf(words)));
    case 'multiclass':
      return softmaxOf(builder, scores, PLACE);
    case 'cross_entropy':
      return scores.map((score) => logistic(score));
    case 'cross_entropy_lambda':
      return scores.map((score) => call('sql.log1p', exponential(score)));
    default:
      throw new RangeError(`the objective '${objective}' is not supported`);
  }
}

function signedSquare(score: Expression): Expression {
  return call('sql.multiply', call('sql.multiply', call('sql.sign', score), score), score);
}

/** "sigmoid:1" */
function sigmoidOf(words: readonly string[]): number {
  const written = words.find((word) => word.startsWith('sigmoid:'))?.slice('sigmoid:'.length);
  const sigmoid = Number(written ?? 1);
  if (Number.isFinite(sigmoid) && sigmoid > 0 && written !== '') return sigmoid;
  throw new RangeError(`sigmoid: expected a number above 0, got '${String(written)}'`);
}
