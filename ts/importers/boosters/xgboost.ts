// Lowers a model that XGBoost has saved: its trees or its linear model, the objective's function,
// the classes. All numbers are floats, as in XGBoost. Importer's worker thread; pure.
// Source: XGBoost's src/objective, src/gbm/gblinear.cc, src/common/categorical.h,
// python-package/xgboost/sklearn.py.
import {
  call,
  type Column,
  columnRef,
  constant,
  type Expression,
  PlanBuilder,
} from '../plan/builder.js';
import type { BoosterAnswer } from '../../model/booster-answer.js';
import type { Booster } from '../plan/xgboost/booster.js';
import { addAnyExplanation, addExplanation, type ExplainedForest } from '../plan/explain.js';
import {
  baseMargins,
  boosterScores,
  cast,
  float,
  greatestOf,
  outputCount,
  sigmoid,
  softmax,
  transformed,
} from '../plan/xgboost/scores.js';
import { boosterWithin } from '../plan/xgboost/rounds.js';
import { addClassLabel, classesOf } from './classes.js';
import { addFilOutput } from './fil.js';
import type { Lowered } from './lowered.js';
import { addMlserverOutputs } from './mlserver.js';
import { addOutput, MARGIN, PREDICT } from '../plan/outputs.js';
import { xgboostFields } from './xgboost-fields.js';

const PLACE = 'booster';
const HINGE = 'binary:hinge';
const SOFTMAX: readonly string[] = ['multi:softprob', 'multi:softmax'];

/** Errors: RangeError saying what is broken or not supported. */
export function lowerXgboost(read: Booster, answer?: BoosterAnswer): Lowered {
  const warnings: string[] = [];
  // FIL knows no values of categories, only their numbers.
  const known = answer?.server === 'fil' ? { ...read, categories: [] } : read;
  const { booster, warning } = boosterWithin(known);
  if (warning !== undefined) warnings.push(warning);
  const version = booster.version === undefined ? '' : ` ${booster.version}`;
  const builder = new PlanBuilder('xgboost', `XGBoost${version}`);
  const { columns, categories, matrix } = xgboostFields(builder, booster);
  builder.matrix = matrix;
  const forests: ExplainedForest[] = [];
  const scores =
    booster.linear === undefined
      ? boosterScores(builder, booster, columns, PLACE, {
          forests,
          ...(categories === undefined ? {} : { categories }),
        })
      : linearScores(builder, booster, booster.linear, columns);
  addAnswers(builder, booster, scores, answer);
  addExplanation(builder, {
    forests,
    features: columns.length,
    scores: outputCount(booster),
    coversName: 'sum_hessian',
  });
  if (booster.linear !== undefined) explainLinear(builder, booster, booster.linear, columns);
  return { plan: builder.finish(), warnings };
}

function addAnswers(
  builder: PlanBuilder,
  booster: Booster,
  scores: readonly Expression[],
  answer: BoosterAnswer | undefined,
): void {
  const { objective } = booster;
  const margins = scores.map((score, i) =>
    columnRef(builder.derive(`score ${i}`, 'float', score, PLACE)),
  );
  if (answer?.server === 'fil') {
    addFilOutput(builder, valuesOf(builder, objective, margins), answer, PLACE);
    return;
  }
  if (answer?.server === 'mlserver') {
    addMlserverOutputs(builder, booster, valuesOf(builder, objective, margins), PLACE);
    return;
  }
  const extra = { place: PLACE, extra: true };
  const [first] = margins;
  if (SOFTMAX.includes(objective)) {
    const isClass = objective === 'multi:softmax';
    const best = greatestOf(builder, margins, PLACE);
    const shown = isClass ? [cast(best, 'float')] : valuesOf(builder, objective, margins);
    addOutput(builder, PREDICT, 'float', shown, { place: PLACE });
    addOutput(builder, MARGIN, 'float', margins, extra);
    addClassLabel(builder, best, classesOf(booster, margins.length), PLACE);
    return;
  }
  addOutput(builder, PREDICT, 'float', valuesOf(builder, objective, margins), { place: PLACE });
  addOutput(builder, MARGIN, 'float', margins, extra);
  if (objective !== 'binary:logistic' || first === undefined || margins.length > 1) return;
  const chosen = call('sql.greater', sigmoid(first), float(0.5));
  const label = call('sql.case', chosen, constant(1), constant(0));
  addClassLabel(builder, label, classesOf(booster, 2), PLACE);
}

/** The objective's function of the margins. Errors: RangeError: the objective is not known. */
function valuesOf(
  builder: PlanBuilder,
  objective: string,
  margins: readonly Expression[],
): readonly Expression[] {
  if (SOFTMAX.includes(objective)) return softmax(builder, margins, PLACE);
  return margins.map((margin) => {
    if (objective === HINGE) {
      return call('sql.case', call('sql.greater', margin, float(0)), float(1), float(0));
    }
    const value = transformed(objective, margin);
    if (value !== undefined) return value;
    throw new RangeError(`the objective '${objective}' is not supported`);
  });
}

/** XGBoost's own values (pred_contribs) are relative to 0, not to the means. */
function explainLinear(
  builder: PlanBuilder,
  booster: Booster,
  weights: ArrayLike<number>,
  features: readonly Column[],
): void {
  const [base = 0] = baseMargins(booster);
  const width = outputCount(booster);
  const size = features.length;
  const coefficients = new Float64Array(width * size);
  for (let i = 0; i < coefficients.length; i += 1) {
    coefficients[i] = weights[(i % size) * width + Math.floor(i / size)] ?? 0;
  }
  const intercepts = Float64Array.from({ length: width }, (_, output) =>
    Math.fround((weights[size * width + output] ?? 0) + base),
  );
  const means = new Float64Array(size);
  addAnyExplanation(builder, { features, coefficients, intercepts, means });
}

/**
 * Each score is its bias and base, plus weights times values in the order of the features; missing
 * values add nothing. A column holds each step, so that expressions stay small.
 */
function linearScores(
  builder: PlanBuilder,
  booster: Booster,
  weights: ArrayLike<number>,
  columns: readonly Column[],
): readonly Expression[] {
  const width = outputCount(booster);
  const expected = (columns.length + 1) * width;
  if (weights.length !== expected) {
    throw new RangeError(`gblinear: expected ${expected} weights, got ${weights.length}`);
  }
  const weight = (feature: number, output: number): number => {
    const one = weights[feature * width + output] ?? Number.NaN;
    if (Number.isFinite(one)) return one;
    throw new RangeError(`gblinear: the weight of feature ${feature} is not a finite number`);
  };
  // XGBoost adds the first base score to every output.
  const [base = 0] = baseMargins(booster);
  return Array.from({ length: width }, (_, output) => {
    const start = Math.fround(weight(columns.length, output) + base);
    return columns.reduce<Expression>((sum, column, feature) => {
      const value = columnRef(column);
      const product = call('sql.multiply', value, float(weight(feature, output)));
      const isMissing = call('sql.isnan', call('sql.coalesce', value, float(Number.NaN)));
      const next = call('sql.case', isMissing, sum, call('sql.add', sum, product));
      const name = `score ${output} with ${builder.nameOf(column)}`;
      return columnRef(builder.derive(name, 'float', next, PLACE));
    }, float(start));
  });
}
