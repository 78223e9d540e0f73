// The trees of one class as the arrays of the stage `forest`. Importer's worker thread; pure.
// Source: LightGBM's include/LightGBM/tree.h: NumericalDecision, CategoricalDecision.
import { type ForestOptions, TreeMissing, TreeTest } from '../../plan/forest.js';
import { type LightgbmTree, ZERO } from './text.js';

/** How trees read a feature: as it is, its values near 0 missing, or as a category's number. */
export type Reading = 'value' | 'sparse' | 'category';

/** Returns the index of a column that is read so. Errors: RangeError: it cannot be. */
export type ColumnOf = (feature: number, reading: Reading) => number;

export interface Trees
  extends Pick<ForestOptions, 'nodes' | 'roots' | 'leaves' | 'sets' | 'width'> {
  /** By leaf: the count of training rows; absent: a tree's are not known. */
  readonly covers?: Float64Array;
  /** By leaf: its number in its tree. */
  readonly leafIds: Int32Array;
}

const CATEGORICAL = 1;
const DEFAULT_LEFT = 2;
/** The largest number that is less than -ZERO. */
const BELOW_ZERO = -1.0000000180025096e-35;
/** Values of bits 2 and 3. */
const NOTHING_MISSING = 0;
const ZERO_MISSING = 1;

export function treesOf(trees: readonly LightgbmTree[], columnOf: ColumnOf): Trees {
  const count = trees.reduce((sum, { feature }) => sum + feature.length, 0);
  const nodes = {
    feature: new Int32Array(count),
    threshold: new Float64Array(count),
    left: new Int32Array(count),
    right: new Int32Array(count),
    test: new Uint8Array(count),
    missing: new Uint8Array(count),
  };
  const leaves = new Float64Array(trees.reduce((sum, tree) => sum + tree.leaves.length, 0));
  const covers = new Float64Array(leaves.length);
  const leafIds = new Int32Array(leaves.length);
  const roots = new Int32Array(trees.length);
  const sets: Sets = { offsets: [0], members: [] };
  let [node, leaf] = [0, 0];
  trees.forEach((tree, index) => {
    const place = (child: number): number => (child < 0 ? ~(leaf + ~child) : node + child);
    roots[index] = tree.feature.length === 0 ? ~leaf : node;
    for (let i = 0; i < tree.feature.length; i += 1) {
      const test = testOf(tree, i, columnOf, sets);
      nodes.feature[node + i] = test.column;
      nodes.threshold[node + i] = test.threshold;
      nodes.test[node + i] = test.test;
      nodes.missing[node + i] = test.isLeft ? TreeMissing.Left : TreeMissing.Right;
      nodes.left[node + i] = place(tree.left[i] ?? 0);
      nodes.right[node + i] = place(tree.right[i] ?? 0);
    }
    leaves.set(tree.leaves, leaf);
    leafIds.set([...tree.leaves.keys()], leaf);
    // A single leaf has all rows, whatever their number.
    covers.set(tree.counts ?? [1], leaf);
    node += tree.feature.length;
    leaf += tree.leaves.length;
  });
  const hasCovers = trees.every((tree) => tree.counts !== undefined || tree.leaves.length === 1);
  const made = { nodes, roots, leaves, width: 1, leafIds, ...(hasCovers ? { covers } : {}) };
  if (sets.offsets.length === 1) return made;
  const offsets = Int32Array.from(sets.offsets);
  return { ...made, sets: { offsets, members: Int32Array.from(sets.members) } };
}

interface Sets {
  readonly offsets: number[];
  readonly members: number[];
}

interface NodeTest {
  readonly column: number;
  readonly threshold: number;
  readonly test: TreeTest;
  /** Missing values go left. */
  readonly isLeft: boolean;
}

function testOf(tree: LightgbmTree, i: number, columnOf: ColumnOf, sets: Sets): NodeTest {
  const [feature = 0, threshold = 0, decision = 0] = [
    tree.feature[i],
    tree.threshold[i],
    tree.decision[i],
  ];
  if ((decision & CATEGORICAL) !== 0) {
    addSet(tree, threshold, i, sets);
    return {
      column: columnOf(feature, 'category'),
      threshold: sets.offsets.length - 2,
      test: TreeTest.InSet,
      isLeft: false,
    };
  }
  const missing = decision >> 2;
  const column = columnOf(feature, missing === ZERO_MISSING ? 'sparse' : 'value');
  // NaN is 0 where nothing was missing in training.
  const isLeft = missing === NOTHING_MISSING ? threshold >= 0 : (decision & DEFAULT_LEFT) !== 0;
  return { column, threshold: boundOf(threshold), test: TreeTest.LessOrEqual, isLeft };
}

/** LightGBM reads numbers up to 1e-35 as 0; the bound decides the same about them as about 0. */
function boundOf(threshold: number): number {
  if (threshold < -ZERO || threshold >= ZERO) return threshold;
  return threshold < 0 ? BELOW_ZERO : ZERO;
}

function addSet({ bounds, words }: LightgbmTree, set: number, node: number, sets: Sets): void {
  if (!Number.isInteger(set) || set < 0 || set + 1 >= bounds.length) {
    throw new RangeError(`node ${node}: its set of categories does not exist`);
  }
  const [from = 0, to = 0] = [bounds[set], bounds[set + 1]];
  for (let at = from; at < to; at += 1) {
    const word = words[at] ?? 0;
    for (let bit = 0; bit < 32; bit += 1) {
      if (((word >>> bit) & 1) !== 0) sets.members.push((at - from) * 32 + bit);
    }
  }
  sets.offsets.push(sets.members.length);
}
