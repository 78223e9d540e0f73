// The trees of a booster as the arrays of the stage `forest`. Importer's worker thread; pure.
import { type ForestOptions, TreeMissing, TreeTest } from '../forest.js';
import type { Booster, BoosterTree } from './booster.js';

interface Trees extends Pick<ForestOptions, 'nodes' | 'roots' | 'leaves' | 'sets' | 'width'> {
  /** By leaf; absent: a tree has none. */
  readonly covers?: Float64Array;
  /** By leaf: its node's number in the file. */
  readonly leafIds: Int32Array;
  /** The numbers of the trees in the file. */
  readonly order: readonly number[];
}

/**
 * The trees of one output, whose leaves have one value, or all trees of a booster whose leaves have
 * a value for each output. A leaf's value is a float, times the tree's weight, as XGBoost computes
 * it. Errors: RangeError: a tree is none.
 */
export function treesOf(booster: Booster, width: number, group?: number): Trees {
  const made = new Arrays(booster, width);
  const order: number[] = [];
  booster.trees.forEach((tree, i) => {
    if (group !== undefined && booster.groups[i] !== group) return;
    order.push(i);
    try {
      made.add(tree, Math.fround(booster.weights?.[i] ?? 1));
    } catch (error) {
      if (error instanceof RangeError) throw new RangeError(`tree ${i}: ${error.message}`);
      throw error;
    }
  });
  return { ...made.finish(), order };
}

class Arrays {
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
  #hasCovers = true;
  readonly #roots: number[] = [];
  readonly #offsets = [0];
  readonly #members: number[] = [];
  #nodeCount = 0;
  #leafCount = 0;

  constructor({ trees, numFeature = 0 }: Booster, width: number) {
    const count = trees.reduce((sum, { left }) => sum + left.length, 0);
    this.#width = width;
    this.#features = numFeature > 0 ? numFeature : Number.POSITIVE_INFINITY;
    this.#feature = new Int32Array(count);
    this.#threshold = new Float64Array(count);
    this.#left = new Int32Array(count);
    this.#right = new Int32Array(count);
    this.#test = new Uint8Array(count);
    this.#missing = new Uint8Array(count);
    this.#leaves = new Float64Array(count * width);
    this.#covers = new Float64Array(count);
    this.#leafIds = new Int32Array(count);
  }

  add(tree: BoosterTree, weight: number): void {
    const size = tree.left.length;
    // By its number in the file: the number in the forest, below 0 for leaves.
    const numbers = new Int32Array(size);
    const seen = new Uint8Array(size);
    const waiting = [0];
    const first = this.#nodeCount;
    const order: number[] = [];
    for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
      const [left = -1, right = -1] = [tree.left[at], tree.right[at]];
      if (seen[at] !== 0) throw new RangeError(`node ${at} is not part of exactly one tree`);
      seen[at] = 1;
      if (left < 0) {
        numbers[at] = this.#addLeaf(tree, at, weight);
        continue;
      }
      numbers[at] = this.#addNode(tree, at);
      order.push(at);
      waiting.push(right, left);
    }
    order.forEach((at, i) => {
      const [left = 0, right = 0] = [tree.left[at], tree.right[at]];
      const swapped = tree.categories?.has(at) === true;
      this.#left[first + i] = numbers[swapped ? right : left] ?? 0;
      this.#right[first + i] = numbers[swapped ? left : right] ?? 0;
    });
    this.#roots.push(numbers[0] ?? 0);
  }

  #addLeaf(tree: BoosterTree, at: number, weight: number): number {
    const { value, vectors, right, covers } = tree;
    const isLeaf = vectors !== undefined || (right[at] ?? -1) < 0;
    if (!isLeaf) throw new RangeError(`node ${at} is not part of exactly one tree`);
    const from = vectors === undefined ? at : (vectors.at[at] ?? 0) * this.#width;
    for (let i = 0; i < this.#width; i += 1) {
      const own = (vectors?.values ?? value)[from + i] ?? Number.NaN;
      if (Number.isNaN(own)) throw new RangeError(`node ${at}: its value is not a number`);
      this.#leaves[this.#leafCount * this.#width + i] = Math.fround(own * weight);
    }
    this.#leafIds[this.#leafCount] = at;
    if (covers === undefined) this.#hasCovers = false;
    this.#covers[this.#leafCount] = covers?.[at] ?? 0;
    this.#leafCount += 1;
    return ~(this.#leafCount - 1);
  }

  /** Categories of a node go right, and `forest` sends members left: the children change sides. */
  #addNode(tree: BoosterTree, at: number): number {
    const number = this.#nodeCount;
    for (const child of [tree.left[at], tree.right[at]]) {
      if (!Number.isInteger(child) || (child ?? -1) < 0 || (child ?? 0) >= tree.left.length) {
        throw new RangeError(`node ${at}: its child ${child} is not part of exactly one tree`);
      }
    }
    const feature = tree.feature[at] ?? -1;
    if (!Number.isInteger(feature) || feature < 0 || feature >= this.#features) {
      throw new RangeError(`node ${at}: feature ${feature} does not exist`);
    }
    const isLeft = (tree.defaultLeft[at] ?? 0) !== 0;
    const set = tree.categories?.get(at);
    this.#feature[number] = feature;
    if (set === undefined) {
      const threshold = tree.value[at] ?? Number.NaN;
      if (Number.isNaN(threshold)) throw new RangeError(`node ${at}: its threshold is NaN`);
      this.#threshold[number] = threshold;
      this.#test[number] = TreeTest.Less;
      this.#missing[number] = isLeft ? TreeMissing.Left : TreeMissing.Right;
    } else {
      this.#threshold[number] = this.#offsets.length - 1;
      for (let i = 0; i < set.length; i += 1) this.#members.push(set[i] ?? 0);
      this.#offsets.push(this.#members.length);
      this.#test[number] = TreeTest.InSet;
      this.#missing[number] = isLeft ? TreeMissing.Right : TreeMissing.Left;
    }
    this.#nodeCount += 1;
    return number;
  }

  finish(): Omit<Trees, 'order'> {
    const count = this.#nodeCount;
    const isCategorical = this.#members.length > 0 || this.#offsets.length > 1;
    return {
      nodes: {
        feature: this.#feature.subarray(0, count),
        threshold: this.#threshold.subarray(0, count),
        left: this.#left.subarray(0, count),
        right: this.#right.subarray(0, count),
        test: this.#test.subarray(0, count),
        missing: this.#missing.subarray(0, count),
      },
      roots: Int32Array.from(this.#roots),
      leaves: this.#leaves.subarray(0, this.#leafCount * this.#width),
      width: this.#width,
      leafIds: this.#leafIds.subarray(0, this.#leafCount),
      ...(this.#hasCovers ? { covers: this.#covers.subarray(0, this.#leafCount) } : {}),
      ...(isCategorical
        ? {
            sets: {
              offsets: Int32Array.from(this.#offsets),
              members: Int32Array.from(this.#members),
            },
          }
        : {}),
    };
  }
}
