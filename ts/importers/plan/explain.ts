// The outputs that explain forests and linear models, computed only for requests that name them:
// Shapley values with the expected value, the leaves that a row reaches, and the trees' values. The
// stages `forest_shap`, `forest_trees` and `linear_shap`. Importer's worker thread; pure.
import { INT32_MAX } from '../../base/limits.js';
import {
  EXPECTED_VALUE,
  LEAF_INDICES,
  SHAP_VALUES,
  TREE_MARGINS,
} from '../../model/explanation-names.js';
import type { Column, PlanBuilder } from './builder.js';
import type { ForestOptions } from './forest.js';

/** A stage `forest` whose column is a sum or a mean of trees. */
export interface ExplainedForest {
  readonly options: Pick<ForestOptions, 'features' | 'roots' | 'leaves' | 'width'>;
  /** The column that the stage fills. */
  readonly column: Column;
  /** The score to which the first number of a leaf belongs. Default: 0. */
  readonly score?: number;
  /** By leaf: the weight of the training rows that reached it. Absent: the file has none. */
  readonly covers?: Float64Array;
  /** By tree: its place among the trees of all forests. Default: in their order. */
  readonly order?: readonly number[];
  /** By leaf: its number in the tree, as the library counts. Default: from the tree's first. */
  readonly leafIds?: Int32Array;
  /**
   * By column that the trees read: the features that it is made of, which share its value evenly.
   * Columns of the same features are one player. Default: the feature of the column's number.
   */
  readonly sources?: readonly (readonly number[])[];
}

export interface Explanation {
  readonly forests: readonly ExplainedForest[];
  /** The features of requests; each has a Shapley value. */
  readonly features: number;
  /** Default: 1. */
  readonly scores?: number;
  /** A factor of all trees. */
  readonly scale?: number;
  /** By score; added to the expected value. */
  readonly bias?: readonly number[];
  /** The format's name of covers, for errors. */
  readonly coversName: string;
  /** Why there are no Shapley values. */
  readonly lacks?: string;
  /** Whether a tree's value is that of its leaf. Default: true. */
  readonly hasMargins?: boolean;
}

/** A linear model; [scores, features] coefficients. */
export interface LinearExplanation {
  /** Numbers, missing ones are 0; or a Vector, which a function fills for the explanation alone. */
  readonly features: readonly Column[] | { readonly vector: Column | (() => Column) };
  readonly coefficients: Float64Array;
  /** By score. */
  readonly intercepts: Float64Array;
  /** By feature: the mean of the training rows. Absent: the file does not say. */
  readonly means?: Float64Array;
}

/** The sums of a linear model. `mirror`: a negative score before the only one. */
export function linearSums(
  vector: Column,
  coefficients: Float64Array,
  intercepts: Float64Array,
  mirror: boolean,
): LinearExplanation {
  const both = (values: Float64Array): Float64Array => {
    if (!mirror) return values;
    const made = new Float64Array(2 * values.length);
    made.set(values.map((value) => -value));
    made.set(values, values.length);
    return made;
  };
  return {
    features: { vector },
    coefficients: both(coefficients),
    intercepts: both(intercepts),
  };
}

const NO_BACKGROUND =
  'and the model has no background set (the parameter explain_background of config.pbtxt)';
const noCovers = (what: string): string =>
  `the model's file does not say how many training rows reached each leaf (${what}), ` +
  NO_BACKGROUND;
const NO_MEANS = `the model's file does not say the means of the features, ${NO_BACKGROUND}`;

/** A model of which each score is a weighted sum of those of other models. */
export interface SummedExplanation {
  readonly parts: readonly ExplainedPart[];
  /** The count of features. */
  readonly features: number;
  readonly scores: number;
  /** By score; added to the expected value. */
  readonly bias?: readonly number[];
}

export interface ExplainedPart {
  readonly of: AnyExplanation;
  readonly weight: number;
  /** By feature of the part: its number in the sum. */
  readonly features: readonly number[];
  /** By score of the part: its number in the sum. */
  readonly scores: readonly number[];
}

export type AnyExplanation = Explanation | LinearExplanation | SummedExplanation;

/** The number of features, which have the Shapley values. */
export const featureCount = (given: AnyExplanation): number =>
  'coefficients' in given ? given.coefficients.length / given.intercepts.length : given.features;

export const scoreCount = (given: AnyExplanation): number =>
  'coefficients' in given ? given.intercepts.length : (given.scores ?? 1);

/** Adds the outputs of any model. */
export function addAnyExplanation(builder: PlanBuilder, given: AnyExplanation): void {
  if ('forests' in given) return addExplanation(builder, given);
  addShapOutputs(builder, shapOf(builder, given), featureCount(given), scoreCount(given));
}

type ShapColumns = readonly [values: Column, expected: Column];

/** The columns of a model's Shapley values and of its expected value. */
function shapOf(builder: PlanBuilder, given: AnyExplanation): ShapColumns {
  if ('forests' in given) return forestShap(builder, given);
  return 'parts' in given ? summedShap(builder, given) : linearShap(builder, given);
}

function summedShap(
  builder: PlanBuilder,
  { parts, features, scores, bias }: SummedExplanation,
): ShapColumns {
  const columns = parts.map(({ of }) => shapOf(builder, of));
  const outputs = shapColumns(builder);
  const places = (part: ExplainedPart, first: number): readonly number[] =>
    part.scores.map((score) => first * scores + score);
  const sum = (
    which: 0 | 1,
    placesOf: (part: ExplainedPart) => readonly number[],
    size: number,
    base?: readonly number[],
  ): void => {
    const all = parts.map(placesOf);
    const attributes = {
      weights: Float64Array.from(parts, ({ weight }) => weight),
      counts: Int32Array.from(all, ({ length }) => length),
      places: Int32Array.from(all.flat()),
      size,
      ...(base === undefined ? {} : { base: Float64Array.from(base) }),
    };
    const inputs = columns.map((each) => each[which]);
    builder.stage('explained_sum', inputs, [outputs[which]], attributes, SHAP_VALUES);
  };
  const ofValues = (part: ExplainedPart): readonly number[] =>
    part.features.flatMap((feature) => places(part, feature));
  sum(0, ofValues, Math.max(1, features) * scores);
  sum(1, (part) => places(part, 0), scores, bias);
  return outputs;
}

/** Adds the outputs. Does nothing if there are no forests. */
export function addExplanation(builder: PlanBuilder, explanation: Explanation): void {
  const { forests } = explanation;
  if (forests.length === 0) return;
  const columns = forestShap(builder, explanation);
  addShapOutputs(builder, columns, Math.max(1, explanation.features), explanation.scores ?? 1);
  addTrees(builder, explanation, LEAF_INDICES);
  if (explanation.hasMargins !== false) addTrees(builder, explanation, TREE_MARGINS);
}

function columnsOf({ options: { features } }: ExplainedForest): readonly Column[] {
  return 'vector' in features ? [features.vector] : features;
}

const inputsOf = (forests: readonly ExplainedForest[]): readonly Column[] => [
  ...new Set(forests.flatMap(columnsOf)),
];

const widthOf = ({ options: { features } }: ExplainedForest): number =>
  'vector' in features ? (features.size ?? 0) : features.length;

function forestShap(builder: PlanBuilder, explanation: Explanation): ShapColumns {
  const { forests, features, scores = 1, scale = 1, bias } = explanation;
  const players = playersOf(forests);
  const lacks = explanation.lacks ?? lackOf(explanation);
  const uncovered = uncoveredOf(explanation);
  const outputs = shapColumns(builder);
  builder.stage(
    'forest_shap',
    inputsOf(forests),
    outputs,
    {
      forests: Int32Array.from(forests, ({ column }) => column),
      scores: Int32Array.from(forests, ({ score = 0 }) => score),
      score_count: scores,
      feature_count: Math.max(1, features),
      players: players.numbers,
      ...players.shares,
      ...(uncovered === undefined ? { covers: joined(forests) } : { uncovered }),
      ...(lacks === undefined ? {} : { lacks }),
      scale: { real: scale },
      ...(bias === undefined ? {} : { bias: Float64Array.from(bias) }),
    },
    SHAP_VALUES,
  );
  return outputs;
}

/** The columns of Shapley values and of the expected value. */
const shapColumns = (builder: PlanBuilder): ShapColumns => [
  builder.column(SHAP_VALUES, 'list', 'double'),
  builder.column(EXPECTED_VALUE, 'list', 'double'),
];

function addShapOutputs(
  builder: PlanBuilder,
  [values, expected]: ShapColumns,
  features: number,
  scores: number,
): void {
  const list = { type: 'list', element: 'double', extra: true } as const;
  builder.output({ name: SHAP_VALUES, column: values, size: features * scores, ...list });
  builder.output({ name: EXPECTED_VALUE, column: expected, size: scores, ...list });
}

const vectorOf = (vector: Column | (() => Column)): Column =>
  typeof vector === 'function' ? vector() : vector;

function linearShap(
  builder: PlanBuilder,
  { features, coefficients, intercepts, means }: LinearExplanation,
): ShapColumns {
  const isVector = 'vector' in features;
  const outputs = shapColumns(builder);
  builder.stage(
    'linear_shap',
    isVector ? [vectorOf(features.vector)] : features,
    outputs,
    {
      coefficients,
      intercepts,
      vector: isVector,
      ...(means === undefined ? { unmeant: NO_MEANS } : { means }),
    },
    SHAP_VALUES,
  );
  return outputs;
}

/** The reason that these forests have no Shapley values; undefined: they do. */
function lackOf({ forests, features, scores = 1 }: Explanation): string | undefined {
  if (forests.some((forest) => 'vector' in forest.options.features && widthOf(forest) === 0)) {
    return "the model's file does not say how many features it has";
  }
  if (features < 1) return 'the model has no features';
  const size = features * scores;
  return size <= INT32_MAX ? undefined : `${size} values for each row are too many`;
}

/** The reason that they have none without background rows. */
function uncoveredOf({ forests, coversName }: Explanation): string | undefined {
  for (const { covers } of forests) {
    if (covers === undefined) return noCovers(coversName);
    const wrong = covers.find((cover) => !(cover >= 0 && cover < Number.POSITIVE_INFINITY));
    if (wrong !== undefined) {
      return `the cover of a leaf is ${wrong}: expected a finite number from 0 (${coversName})`;
    }
  }
  return undefined;
}

function joined(forests: readonly ExplainedForest[]): Float64Array {
  const parts = forests.map(({ covers }) => covers ?? new Float64Array(0));
  const made = new Float64Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    made.set(part, at);
    at += part.length;
  }
  return made;
}

interface Players {
  /** By feature of each forest. */
  readonly numbers: Int32Array;
  readonly shares: { readonly share_offsets?: Int32Array; readonly share_features?: Int32Array };
}

function playersOf(forests: readonly ExplainedForest[]): Players {
  const own = (forest: ExplainedForest): readonly (readonly number[])[] =>
    forest.sources ?? Array.from({ length: widthOf(forest) }, (_, feature) => [feature]);
  if (forests.every(({ sources }) => sources === undefined)) {
    return { numbers: Int32Array.from(forests.flatMap(own).flat()), shares: {} };
  }
  const known = new Map<string, number>();
  const offsets = [0];
  const features: number[] = [];
  const numbers = forests.flatMap(own).map((each) => {
    const key = each.join();
    const found = known.get(key) ?? known.size;
    if (found === known.size) {
      known.set(key, found);
      features.push(...each);
      offsets.push(features.length);
    }
    return found;
  });
  return {
    numbers: Int32Array.from(numbers),
    shares: {
      share_offsets: Int32Array.from(offsets),
      share_features: Int32Array.from(features),
    },
  };
}

function addTrees(
  builder: PlanBuilder,
  { forests, scale = 1 }: Explanation,
  name: typeof LEAF_INDICES | typeof TREE_MARGINS,
): void {
  const isValues = name === TREE_MARGINS;
  const element = isValues ? 'double' : 'int32';
  const [first] = forests;
  const width = isValues ? (first?.options.width ?? 1) : 1;
  if (isValues && forests.some(({ options }) => options.width !== width)) return;
  const column = builder.column(name, 'list', element);
  let trees = 0;
  const order = forests.flatMap(({ order: own, options: { roots } }) => {
    const places = own ?? Array.from(roots, (_, i) => trees + i);
    trees += roots.length;
    return places;
  });
  const hasIds = forests.every(({ leafIds }) => leafIds !== undefined);
  const ids = hasIds ? forests.flatMap(({ leafIds = [] }) => [...leafIds]) : undefined;
  builder.stage(
    'forest_trees',
    inputsOf(forests),
    [column],
    {
      forests: Int32Array.from(forests, (forest) => forest.column),
      order: Int32Array.from(order),
      ...(ids === undefined || isValues ? {} : { leaf_ids: Int32Array.from(ids) }),
      values: isValues,
      scale: { real: scale },
    },
    name,
  );
  builder.output({
    name,
    column,
    type: 'list',
    element,
    size: order.length * width,
    extra: true,
  });
}

/** The explanation of factor * score + offset, for all scores. */
export function rescaled(of: AnyExplanation, factor: number, offset: number): AnyExplanation {
  if ('coefficients' in of) {
    const coefficients = of.coefficients.map((each) => each * factor);
    const intercepts = of.intercepts.map((each) => each * factor + offset);
    return { ...of, coefficients, intercepts };
  }
  const bias = Array.from(
    { length: scoreCount(of) },
    (_, score) => (of.bias?.[score] ?? 0) * factor + offset,
  );
  if ('forests' in of) return { ...of, scale: (of.scale ?? 1) * factor, bias };
  const parts = of.parts.map((part) => ({ ...part, weight: part.weight * factor }));
  return { ...of, parts, bias };
}

/** The explanation of a sum of models. */
export function summed(given: SummedExplanation): Explanation | SummedExplanation {
  return mergedForests(given) ?? given;
}

type TreePart = ExplainedPart & { readonly of: Explanation };

const isTrees = (part: ExplainedPart): part is TreePart =>
  'forests' in part.of &&
  part.of.lacks === undefined &&
  part.scores.every((score, i) => score === (part.scores[0] ?? 0) + i);

/** undefined: parts are not of trees, or have several factors. */
function mergedForests(given: SummedExplanation): Explanation | undefined {
  const { parts, features, scores } = given;
  const [first] = parts;
  if (first === undefined || !parts.every(isTrees)) return undefined;
  const trees: readonly TreePart[] = parts;
  const scaleOf = ({ of, weight }: TreePart): number => (of.scale ?? 1) * weight;
  const [scale] = trees.map(scaleOf);
  if (scale === undefined || trees.some((part) => scaleOf(part) !== scale)) return undefined;
  const forests: ExplainedForest[] = [];
  const bias = Array.from({ length: scores }, (_, score) => given.bias?.[score] ?? 0);
  for (const part of trees) {
    for (const forest of part.of.forests) {
      const sources = sourcesIn(forest, part.features);
      if (sources === undefined) return undefined;
      const { order: _, ...rest } = forest;
      forests.push({ ...rest, sources, score: (part.scores[0] ?? 0) + (forest.score ?? 0) });
    }
    part.of.bias?.forEach((each, i) => {
      const score = part.scores[i] ?? 0;
      bias[score] = (bias[score] ?? 0) + each * part.weight;
    });
  }
  const { coversName, hasMargins = true } = trees[0]?.of ?? { coversName: '' };
  return { forests, features, scores, scale, bias, coversName, hasMargins };
}

/** The features of the sum that each column of the trees is made of; undefined: not known. */
function sourcesIn(
  { sources, options: { features: own } }: ExplainedForest,
  features: readonly number[],
): readonly (readonly number[])[] | undefined {
  const width = 'vector' in own ? (own.size ?? 0) : own.length;
  const given = sources ?? Array.from({ length: width }, (_, feature) => [feature]);
  if (given.length === 0) return undefined;
  return given.map((each) => each.map((feature) => features[feature] ?? 0));
}
