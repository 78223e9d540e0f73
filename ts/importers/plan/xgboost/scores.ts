// Boosters of XGBoost as stages and expressions of a plan. Their features, thresholds, sums and
// answers are floats. Importer's worker thread; pure.
// Source: tabular.md 4.2, 7 (float); XGBoost's regression_obj and multiclass_obj.
import {
  call,
  type Column,
  columnRef,
  constant,
  type Expression,
  type PlanBuilder,
} from '../builder.js';
import type { ExplainedForest } from '../explain.js';
import { addForest, type ForestOptions } from '../forest.js';
import { vectorAssembler, vectorElement } from '../ops/vectors.js';
import type { Booster } from './booster.js';
import { treesOf } from './trees.js';

export const float = (value: number): Expression =>
  constant({ type: 'float', real: Math.fround(value) });
export const cast = (of: Expression, type: string): Expression =>
  call('sql.cast', of, constant(type));
const exponential = (of: Expression): Expression =>
  cast(call('sql.exp', cast(of, 'double')), 'float');

const LOGISTIC: readonly string[] = ['binary:logistic', 'reg:logistic'];
const EXPONENTIAL: readonly string[] = [
  'count:poisson',
  'reg:gamma',
  'reg:tweedie',
  'survival:cox',
  'survival:aft',
];
const AS_THEY_ARE: readonly string[] = [
  'reg:linear',
  'reg:squarederror',
  'reg:squaredlogerror',
  'reg:absoluteerror',
  'reg:pseudohubererror',
  'reg:quantileerror',
  'binary:logitraw',
  'rank:pairwise',
  'rank:ndcg',
  'rank:map',
];

/** The base score is given as what the objective makes of it. Floats at each step. */
export function baseMargin(objective: string, baseScore: number): number {
  const { fround, log } = Math;
  if (LOGISTIC.includes(objective)) return -fround(log(fround(fround(1 / baseScore) - 1)));
  return fround(EXPONENTIAL.includes(objective) ? log(baseScore) : baseScore);
}

/** The number of scores of a row. */
export function outputCount({ numClass, numTarget = 1 }: Booster): number {
  return Math.max(1, numClass, numTarget);
}

/** Errors: RangeError: not one base score for all outputs, or for each. */
export function baseMargins(booster: Booster): readonly number[] {
  const { objective, baseScore, baseScores } = booster;
  const width = outputCount(booster);
  if (baseScores !== undefined && baseScores.length !== width) {
    throw new RangeError(`base_score: expected ${width} numbers, got ${baseScores.length}`);
  }
  const scores = baseScores ?? new Array<number>(width).fill(baseScore);
  return scores.map((score) => baseMargin(objective, score));
}

/** A part of a booster's features; see ForestOptions. */
export type BoosterFeatures = Pick<ForestOptions, 'features' | 'categories'>;

/** The features of a booster, and the forests that are made of it. */
interface ScoreOptions {
  readonly categories?: ForestOptions['categories'];
  /** Receives the forests. */
  readonly forests?: ExplainedForest[];
}

/** Appends the trees. The scores before the objective's own function, floats: of each class, or
 * one alone. Errors: RangeError: a tree is none. */
export function boosterScores(
  builder: PlanBuilder,
  booster: Booster,
  features: ForestOptions['features'],
  place: string,
  { categories, forests }: ScoreOptions = {},
): readonly Expression[] {
  const width = outputCount(booster);
  const isVector = booster.trees.some(({ vectors }) => vectors !== undefined);
  const unfit = booster.trees.findIndex(
    ({ vectors, categories: sets }) =>
      (isVector && vectors?.size !== width) || (sets !== undefined && 'vector' in features),
  );
  if (unfit >= 0) {
    const why = isVector ? `expected leaves of ${width} values` : 'categorical splits';
    throw new RangeError(`tree ${unfit}: ${why} are not supported`);
  }
  // Each round has a tree of each class.
  if (!isVector && !(width <= Math.max(1, booster.trees.length))) {
    throw new RangeError(`${booster.numClass} classes of ${booster.trees.length} trees`);
  }
  if (booster.groups.some((group) => !(group >= 0 && group < width))) {
    throw new RangeError(`the class of a tree is out of range for ${width} classes`);
  }
  const margins = baseMargins(booster);
  const add = (values: Column, base: readonly number[], group?: number): void => {
    const { covers, leafIds, order, ...trees } = treesOf(booster, base.length, group);
    const options = { features, ...trees };
    const own = { options, column: values, score: group ?? 0, leafIds, order };
    forests?.push(covers === undefined ? own : { ...own, covers });
    addForest(
      builder,
      {
        ...options,
        base: Float64Array.from(base),
        roundToFloat: true,
        floatSums: true,
        values,
        ...(categories === undefined ? {} : { categories }),
      },
      place,
    );
  };
  if (!isVector || width === 1) {
    return margins.map((margin, group) => {
      const name = width === 1 ? 'margin' : `margin of class ${group}`;
      const values = builder.column(name, 'double');
      add(values, [margin], width === 1 ? undefined : group);
      return cast(columnRef(values), 'float');
    });
  }
  const values = builder.column('margin', 'vector');
  add(values, margins);
  return margins.map((_, index) => {
    const output = builder.column(`margin of output ${index}`, 'double');
    vectorElement(builder, { input: values, output, index }, place);
    return cast(columnRef(output), 'float');
  });
}

/** The objective's transformation of a single score; undefined: not supported. */
export function transformed(objective: string, score: Expression): Expression | undefined {
  if (LOGISTIC.includes(objective)) return sigmoid(score);
  if (EXPONENTIAL.includes(objective)) return exponential(score);
  return AS_THEY_ARE.includes(objective) ? score : undefined;
}

/** 1 / (1 + e^-x) in floats, as XGBoost computes it. */
export function sigmoid(score: Expression): Expression {
  const power = exponential(call('sql.least', call('sql.negative', score), float(88.7)));
  return cast(call('sql.divide', float(1), call('sql.add', power, float(1))), 'float');
}

/**
 * Softmax over the scores of all classes; sums the exponentials in doubles, as XGBoost does. Each
 * class has a column.
 */
export function softmax(
  builder: PlanBuilder,
  scores: readonly Expression[],
  place: string,
): readonly Expression[] {
  const most = columnRef(
    builder.derive('greatest margin', 'float', call('sql.greatest', ...scores), place),
  );
  const powers = scores.map((score, i) =>
    columnRef(
      builder.derive(
        `power of class ${i}`,
        'float',
        exponential(call('sql.subtract', score, most)),
        place,
      ),
    ),
  );
  const sum = powers
    .map((power) => cast(power, 'double'))
    .reduce((before, power) => call('sql.add', before, power));
  const total = columnRef(builder.derive('sum of powers', 'float', cast(sum, 'float'), place));
  return powers.map((power, i) =>
    columnRef(
      builder.derive(
        `probability of class ${i}`,
        'float',
        cast(call('sql.divide', power, total), 'float'),
        place,
      ),
    ),
  );
}

/** The first of the greatest, by number. */
export function greatestOf(
  builder: PlanBuilder,
  values: readonly Expression[],
  place: string,
  type: 'float' | 'double' = 'float',
): Expression {
  const most = columnRef(
    builder.derive('greatest value', type, call('sql.greatest', ...values), place),
  );
  const cases = values.flatMap((value, i) => [call('sql.equal', value, most), constant(i)]);
  return call('sql.case', ...cases);
}

/** Fills a column of doubles. */
export function fillScalar(
  builder: PlanBuilder,
  column: Column,
  value: Expression,
  place: string,
): void {
  const expressions = { expressions: [cast(value, 'double')] };
  builder.stage('derive', [], [column], { expressions }, place);
}

/** Fills a column of vectors. */
export function fillVector(
  builder: PlanBuilder,
  column: Column,
  values: readonly Expression[],
  place: string,
): void {
  const inputs = values.map((value, i) =>
    builder.derive(`value of class ${i}`, 'double', cast(value, 'double'), place),
  );
  vectorAssembler(builder, { inputs, output: column, handleInvalid: 'nan' }, place);
}
