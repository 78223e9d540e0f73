// The trees of scikit-learn as the arrays of a stage `forest`. Broken trees are refused. Importer's
// worker thread; pure. Source: scikit-learn's tree/_tree.pyx, tree/_tree.pxd,
// ensemble/_hist_gradient_boosting/_predictor.pyx.
import { type ForestOptions, TreeMissing, TreeTest } from '../../plan/forest.js';
import type { Item } from '../read/item.js';

const LEAF = -1;
const BITSET_WORDS = 8;

export type Trees = Pick<ForestOptions, 'nodes' | 'roots' | 'leaves' | 'width' | 'sets'> & {
  /** The weight of the training rows by leaf. */
  readonly covers: Float64Array;
  /** By leaf: the number of its node in the tree, which apply() returns. */
  readonly leafIds: Int32Array;
};

/** One tree before it is joined to the others; arrays by node. */
export interface TreeArrays {
  readonly item: Item;
  readonly left: Float64Array;
  readonly right: Float64Array;
  readonly feature: Float64Array;
  readonly threshold: Float64Array;
  /** 1: a missing value goes left. */
  readonly missingLeft: Float64Array;
  readonly cover: Float64Array;
  readonly isLeaf: (node: number) => boolean;
  /** `width` numbers of a leaf. */
  readonly valueOf: (node: number, k: number) => number;
  /** The categories that go left; undefined: the node compares numbers. */
  readonly setOf?: (node: number) => readonly number[] | undefined;
}

/** A column of a tree's records. */
function column(
  item: Item,
  records: ReadonlyMap<string, Float64Array>,
  name: string,
): Float64Array {
  const found = records.get(name);
  if (found !== undefined) return found;
  if (name === 'missing_go_to_left') {
    throw item.bad('a tree of scikit-learn before 1.3: save the model with a newer version');
  }
  throw item.bad(`nodes: ${name} is missing`);
}

/** `tree_`, with the values of each node: [nodes, outputs, classes]. */
export function treeArrays(
  item: Item,
  valuesOf: (values: Float64Array, node: number, k: number) => number,
): TreeArrays {
  const records = item.get('nodes').records();
  const left = column(item, records, 'left_child');
  const { reals } = item.get('values').shapedReals([left.length, -1, -1]);
  return {
    item,
    left,
    right: column(item, records, 'right_child'),
    feature: column(item, records, 'feature'),
    threshold: column(item, records, 'threshold'),
    missingLeft: column(item, records, 'missing_go_to_left'),
    cover: column(item, records, 'weighted_n_node_samples'),
    isLeaf: (node) => left[node] === LEAF,
    valueOf: (node, k) => valuesOf(reals, node, k),
  };
}

/** A tree of HistGradientBoosting. */
export function histogramTree(item: Item): TreeArrays {
  const records = item.get('nodes').records();
  const value = column(item, records, 'value');
  const leaf = column(item, records, 'is_leaf');
  const isSet = column(item, records, 'is_categorical');
  const index = column(item, records, 'bitset_idx');
  const bitsets = item.get('raw_left_cat_bitsets');
  const { reals: words, shape } = bitsets.shapedReals([-1, BITSET_WORDS]);
  const setOf = (node: number): readonly number[] | undefined => {
    if (isSet[node] !== 1) return undefined;
    const row = index[node] ?? 0;
    if (row >= (shape[0] ?? 0)) throw bitsets.bad(`there is no set ${row}`);
    const members: number[] = [];
    for (let word = 0; word < BITSET_WORDS; word += 1) {
      const bits = words[BITSET_WORDS * row + word] ?? 0;
      for (let bit = 0; bit < 32; bit += 1) {
        if (Math.floor(bits / 2 ** bit) % 2 === 1) members.push(32 * word + bit);
      }
    }
    return members;
  };
  return {
    item,
    left: column(item, records, 'left'),
    right: column(item, records, 'right'),
    feature: column(item, records, 'feature_idx'),
    threshold: column(item, records, 'num_threshold'),
    missingLeft: column(item, records, 'missing_go_to_left'),
    cover: column(item, records, 'count'),
    isLeaf: (node) => leaf[node] === 1,
    valueOf: (node) => value[node] ?? 0,
    setOf,
  };
}

/**
 * Joins trees. `features`: the number of columns. Errors: RangeError: a node that is no child, or
 * that of two, a feature that does not exist, a threshold that is NaN.
 */
export function joinTrees(trees: readonly TreeArrays[], width: number, features: number): Trees {
  const joiner = new Joiner(trees, width, features);
  return joiner.joined();
}

class Joiner {
  readonly #trees: readonly TreeArrays[];
  readonly #width: number;
  readonly #features: number;
  readonly #feature: Int32Array;
  readonly #threshold: Float64Array;
  readonly #left: Int32Array;
  readonly #right: Int32Array;
  readonly #test: Uint8Array;
  readonly #missing: Uint8Array;
  readonly #leaves: Float64Array;
  readonly #covers: Float64Array;
  readonly #leafIds: Int32Array;
  readonly #offsets: number[] = [0];
  readonly #members: number[] = [];
  #nodeCount = 0;
  #leafCount = 0;

  constructor(trees: readonly TreeArrays[], width: number, features: number) {
    this.#trees = trees;
    this.#width = width;
    this.#features = features;
    let inner = 0;
    let leaves = 0;
    for (const { left, isLeaf } of trees) {
      for (let node = 0; node < left.length; node += 1) {
        if (isLeaf(node)) leaves += 1;
        else inner += 1;
      }
    }
    this.#feature = new Int32Array(inner);
    this.#threshold = new Float64Array(inner);
    this.#left = new Int32Array(inner);
    this.#right = new Int32Array(inner);
    this.#test = new Uint8Array(inner);
    this.#missing = new Uint8Array(inner);
    this.#leaves = new Float64Array(leaves * width);
    this.#covers = new Float64Array(leaves);
    this.#leafIds = new Int32Array(leaves);
  }

  joined(): Trees {
    const roots = Int32Array.from(this.#trees, (tree) => this.#add(tree));
    const hasSets = this.#offsets.length > 1;
    const nodes = {
      feature: this.#feature,
      threshold: this.#threshold,
      left: this.#left,
      right: this.#right,
      missing: this.#missing,
      ...(hasSets ? { test: this.#test } : {}),
    };
    const sets = {
      offsets: Int32Array.from(this.#offsets),
      members: Int32Array.from(this.#members),
    };
    return {
      nodes,
      roots,
      leaves: this.#leaves,
      width: this.#width,
      covers: this.#covers,
      leafIds: this.#leafIds,
      ...(hasSets ? { sets } : {}),
    };
  }

  /** The root. */
  #add(tree: TreeArrays): number {
    const { item, left, isLeaf } = tree;
    const count = left.length;
    if (count === 0) throw item.bad('expected a node or more, got none');
    // By node of the tree: its number here, ~leaf for a leaf.
    const numbers = new Int32Array(count);
    const isChild = new Uint8Array(count);
    let nodes = this.#nodeCount;
    let leaves = this.#leafCount;
    for (let node = 0; node < count; node += 1) {
      if (isLeaf(node)) numbers[node] = ~leaves++;
      else numbers[node] = nodes++;
    }
    const childOf = (of: Float64Array, node: number): number => {
      const child = of[node] ?? 0;
      // Children follow their parents, so that there are no cycles.
      const isNode = Number.isInteger(child) && child > node && child < count;
      if (!isNode || isChild[child] === 1) {
        throw item.bad(`node ${node}: ${child} cannot be its child`);
      }
      isChild[child] = 1;
      return numbers[child] ?? 0;
    };
    for (let node = 0; node < count; node += 1) {
      if (isLeaf(node)) this.#addLeaf(tree, node);
      else this.#addNode(tree, node, childOf);
    }
    this.#nodeCount = nodes;
    return numbers[0] ?? 0;
  }

  #addLeaf({ valueOf, cover }: TreeArrays, node: number): void {
    for (let k = 0; k < this.#width; k += 1) {
      this.#leaves[this.#leafCount * this.#width + k] = valueOf(node, k);
    }
    this.#covers[this.#leafCount] = cover[node] ?? 0;
    this.#leafIds[this.#leafCount] = node;
    this.#leafCount += 1;
  }

  #addNode(
    tree: TreeArrays,
    node: number,
    childOf: (of: Float64Array, node: number) => number,
  ): void {
    const { item } = tree;
    const feature = tree.feature[node] ?? 0;
    if (!(feature >= 0 && feature < this.#features)) {
      throw item.bad(`node ${node}: there is no feature ${feature}`);
    }
    const set = tree.setOf?.(node);
    const threshold = tree.threshold[node] ?? Number.NaN;
    if (set === undefined && Number.isNaN(threshold)) {
      throw item.bad(`node ${node}: the threshold is NaN`);
    }
    const at = this.#nodeCount;
    this.#feature[at] = feature;
    this.#left[at] = childOf(tree.left, node);
    this.#right[at] = childOf(tree.right, node);
    this.#missing[at] = tree.missingLeft[node] === 1 ? TreeMissing.Left : TreeMissing.Right;
    if (set === undefined) {
      this.#threshold[at] = threshold;
      this.#test[at] = TreeTest.LessOrEqual;
    } else {
      this.#threshold[at] = this.#offsets.length - 1;
      this.#test[at] = TreeTest.InSet;
      this.#members.push(...set);
      this.#offsets.push(this.#members.length);
    }
    this.#nodeCount += 1;
  }
}
