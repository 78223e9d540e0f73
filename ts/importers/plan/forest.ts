// Ensembles of decision trees, and single ones: the stage `forest`, which native/tabular/forest
// runs. Importer's worker thread; pure.
import type { Column, PlanBuilder } from './builder.js';
import type { ForestSum } from './generated/stages.js';

export type { ForestSum };

/** How a node decides; true goes left. Of `value <op> threshold`. */
export enum TreeTest {
  LessOrEqual = 0,
  Less = 1,
  Equal = 2,
  /** The value is in the node's set: see ForestOptions.sets. */
  InSet = 3,
  /** The value is missing (or NaN). Its threshold is not looked at. */
  IsMissing = 4,
}

/** How a node handles a value that is missing or NaN. */
export enum TreeMissing {
  /** Handles it as a value that fails the test. */
  Right = 0,
  Left = 1,
  /** The tree has no result. */
  NoAnswer = 2,
}

/** The nodes of all trees, in any order; each is the child of one node or the root of one tree.
 * A child below zero is the leaf ~child. */
export interface TreeNodes {
  /** Index into ForestOptions.features, or of the vector's value. */
  readonly feature: Int32Array;
  /** For an InSet node: the number of its set. */
  readonly threshold: Float64Array;
  readonly left: Int32Array;
  readonly right: Int32Array;
  /** TreeTest values; absent: all LessOrEqual. */
  readonly test?: Uint8Array;
  /** TreeMissing values; absent: all Right. */
  readonly missing?: Uint8Array;
}

/** The table that `pick` reads, indexed by the index column. */
export type PickTable =
  | { readonly texts: readonly string[] }
  // width > 1: a Vector. nan_is_missing: an entry of NaN (a vector's first number) is none.
  | { readonly reals: Float64Array; readonly width?: number; readonly nan_is_missing?: boolean }
  | { readonly integers: Int32Array };

/** Sets of category numbers: set i has members[offsets[i] .. offsets[i + 1]). */
export interface TreeSets {
  readonly offsets: Int32Array;
  readonly members: Int32Array;
}

export interface ForestOptions {
  /** Scalars, one per feature; or one vector, whose length must be vectorSize (absent: any length
   * that has all the features). Integers and Bools are read as numbers, missing ones as missing;
   * of text, Dates and the like the category numbers: see `categories`. */
  readonly features: readonly Column[] | { readonly vector: Column; readonly size?: number };
  /**
   * Categories of text features by index into `features`: category numbers are positions in this
   * list. An absent value is in no set.
   */
  readonly categories?: ReadonlyMap<number, readonly string[]>;
  readonly nodes: TreeNodes;
  /** The root of each tree: a node, or ~leaf for a tree that is a single leaf. */
  readonly roots: Int32Array;
  /** Leaf i has the values [i * width, (i + 1) * width). */
  readonly leaves: Float64Array;
  readonly width: number;
  readonly sets?: TreeSets;
  readonly weights?: Float64Array;
  /** 'sum' (the default): the trees' leaf values times their weights; 'mean': the sum divided by
   * the weights of the trees that answered; 'each': a vector of trees * width, not weighted. */
  readonly sum?: ForestSum;
  /** Added before the trees, one for each value of a leaf (boosting's first guess). */
  readonly base?: Float64Array;
  /** Features are rounded to float before they are compared (XGBoost, PMML's dataType float).
   * Default false; an array says it of each feature. */
  readonly roundToFloat?: boolean | readonly boolean[];
  /** A NaN that is not missing is larger than every number (PMML). Default false: it is missing. */
  readonly nanIsLargest?: boolean;
  /** Sums are kept in float, as XGBoost does. Default false. */
  readonly floatSums?: boolean;
  /**
   * Treatment of a tree without a result: 'missing' (default) makes the row missing, 'skip' omits
   * the tree (if all are omitted, the row is missing).
   */
  readonly noAnswer?: 'missing' | 'skip';
  /**
   * Double (width 1) or Vector: the sums. Absent: not wanted.
   */
  readonly values?: Column;
  /** Only explanations read the trees: no other request runs the stage. Default false. */
  readonly explained?: boolean;
  /**
   * The leaf of each tree: Int32 (one tree) or List of Int32 (-1: no result). `pick` reads other
   * values of leaves.
   */
  readonly leaf?: Column;
}

function roundings(options: ForestOptions): Int32Array | undefined {
  const { roundToFloat } = options;
  if (roundToFloat === undefined || roundToFloat === false) return undefined;
  if (roundToFloat === true) return Int32Array.of(1);
  return Int32Array.from(roundToFloat, Number);
}

/** Text features, concatenated: index, number of categories, and the categories. */
function categoriesOf(categories: ReadonlyMap<number, readonly string[]> | undefined) {
  if (categories === undefined || categories.size === 0) return {};
  const counts = [...categories].flatMap(([feature, words]) => [feature, words.length]);
  return {
    category_counts: Int32Array.from(counts),
    categories: [...categories.values()].flat(),
  };
}

/**
 * Appends the stage. What does not fit together (a child that is no node, a cycle, a feature that
 * is not there) is found when the engine loads the plan.
 */
export function addForest(builder: PlanBuilder, options: ForestOptions, place: string): void {
  const { features, nodes, sets, values, leaf } = options;
  const isVector = 'vector' in features;
  const outputs = [values, leaf].filter((column) => column !== undefined);
  builder.stage(
    'forest',
    isVector ? [features.vector] : features,
    outputs,
    {
      feature: nodes.feature,
      threshold: nodes.threshold,
      left: nodes.left,
      right: nodes.right,
      test: nodes.test && Int32Array.from(nodes.test),
      missing: nodes.missing && Int32Array.from(nodes.missing),
      roots: options.roots,
      leaves: options.leaves,
      width: options.width,
      set_offsets: sets?.offsets,
      set_members: sets?.members,
      weights: options.weights,
      sum: options.sum ?? 'sum',
      base: options.base,
      round_to_float: roundings(options),
      nan_is_largest: options.nanIsLargest,
      float_sums: options.floatSums ?? false,
      skip_no_answer: options.noAnswer === 'skip',
      vector: isVector,
      vector_size: isVector ? (features.size ?? -1) : undefined,
      has_values: values !== undefined,
      has_leaf: leaf !== undefined,
      explained: options.explained === true ? true : undefined,
      ...categoriesOf(options.categories),
    },
    place,
  );
}

/**
 * Appends a stage `pick`: `output`'s row is entry `index` of the table; missing where the index is
 * missing or below zero. The output's type is the table's: String; Double or (width > 1) Vector;
 * an integer type.
 */
export function addPick(
  builder: PlanBuilder,
  index: Column,
  table: PickTable,
  output: Column,
  place: string,
): void {
  builder.stage('pick', [index], [output], { ...table }, place);
}
