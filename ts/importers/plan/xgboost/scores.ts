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
import { addForest, type ForestOptions, TreeMissing, TreeTest } from '../forest.js';
import { vectorAssembler, vectorElement } from '../ops/vectors.js';
import type { Booster, BoosterTree } from './booster.js';

export const float = (value: number): Expression =>
  constant({ type: 'float', real: Math.fround(value) });
const cast = (of: Expression, type: string): Expression => call('sql.cast', of, constant(type));
const exponential = (of: Expression): Expression =>
  cast(call('sql.exp', cast(of, 'double')), 'float');

/** All trees, their leaves `width` values of which the tree's own class has one: times the
 * tree's weight, a float as the products are. */
function forestOf({ trees, groups, weights }: Booster, width: number) {
  const feature: number[] = [];
  const threshold: number[] = [];
  const left: number[] = [];
  const right: number[] = [];
  const missing: number[] = [];
  const roots: number[] = [];
  const leaves: number[] = [];
  const addTree = (tree: BoosterTree, group: number, weight: number): void => {
    // By its number in the file: the number in the forest, below 0 for leaves.
    const numbers = new Map<number, number>();
    const waiting = [0];
    const order: number[] = [];
    for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
      const [l = -1, r = -1] = [tree.left[at], tree.right[at]];
      if (numbers.has(at) || at >= tree.left.length || l < 0 !== r < 0) {
        throw new RangeError(`node ${at} is not part of exactly one tree`);
      }
      if (l < 0) {
        const values = new Array<number>(width).fill(0);
        values[group] = Math.fround((tree.value[at] ?? 0) * weight);
        leaves.push(...values);
        numbers.set(at, ~(leaves.length / width - 1));
        continue;
      }
      numbers.set(at, feature.length);
      order.push(at);
      feature.push(tree.feature[at] ?? 0);
      threshold.push(tree.value[at] ?? 0);
      missing.push((tree.defaultLeft[at] ?? 0) !== 0 ? TreeMissing.Left : TreeMissing.Right);
      left.push(0);
      right.push(0);
      waiting.push(r, l);
    }
    for (const at of order) {
      const number = numbers.get(at) ?? 0;
      left[number] = numbers.get(tree.left[at] ?? 0) ?? 0;
      right[number] = numbers.get(tree.right[at] ?? 0) ?? 0;
    }
    roots.push(numbers.get(0) ?? 0);
  };
  trees.forEach((tree, i) => addTree(tree, groups[i] ?? 0, Math.fround(weights?.[i] ?? 1)));
  return {
    nodes: {
      feature: Int32Array.from(feature),
      threshold: Float64Array.from(threshold),
      left: Int32Array.from(left),
      right: Int32Array.from(right),
      test: new Uint8Array(feature.length).fill(TreeTest.Less),
      missing: Uint8Array.from(missing),
    },
    roots: Int32Array.from(roots),
    leaves: Float64Array.from(leaves),
  };
}

const LOGISTIC: readonly string[] = ['binary:logistic', 'reg:logistic'];
const EXPONENTIAL: readonly string[] = ['count:poisson', 'reg:gamma', 'reg:tweedie'];
const AS_THEY_ARE: readonly string[] = [
  'reg:linear',
  'reg:squarederror',
  'reg:squaredlogerror',
  'reg:absoluteerror',
  'reg:pseudohubererror',
  'binary:logitraw',
];

/** The base score is given as what the objective makes of it. Floats at each step. */
function baseMargin({ objective, baseScore }: Booster): number {
  const { fround, log } = Math;
  if (LOGISTIC.includes(objective)) return -fround(log(fround(fround(1 / baseScore) - 1)));
  return fround(EXPONENTIAL.includes(objective) ? log(baseScore) : baseScore);
}

/** Appends the trees. The scores before the objective's own function, floats: of each class, or
 * one alone. Errors: RangeError: a tree is none. */
export function boosterScores(
  builder: PlanBuilder,
  booster: Booster,
  features: ForestOptions['features'],
  place: string,
): readonly Expression[] {
  const width = Math.max(1, booster.numClass);
  // Each round has a tree of each class.
  if (!(width <= Math.max(1, booster.trees.length))) {
    throw new RangeError(`${booster.numClass} classes of ${booster.trees.length} trees`);
  }
  if (booster.groups.some((group) => !(group >= 0 && group < width))) {
    throw new RangeError(`the class of a tree is out of range for ${width} classes`);
  }
  const base = baseMargin(booster);
  const values = builder.column('margin', width === 1 ? 'double' : 'vector');
  const options = {
    features,
    ...forestOf(booster, width),
    width,
    base: new Float64Array(width).fill(base),
    roundToFloat: true,
    floatSums: true,
    values,
  };
  addForest(builder, options, place);
  if (width === 1) return [cast(columnRef(values), 'float')];
  return Array.from({ length: width }, (_, index) => {
    const output = builder.column(`margin of class ${index}`, 'double');
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
): Expression {
  const most = columnRef(
    builder.derive('greatest value', 'float', call('sql.greatest', ...values), place),
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
