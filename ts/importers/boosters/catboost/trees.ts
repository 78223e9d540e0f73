// Trees of CatBoost as nodes with two children, and as the arrays of the stage `forest`. Importer's
// worker thread; pure. Source: CatBoost's catboost/libs/model/cpu/evaluator_impl.cpp
// (CalcTreesSingleDocImpl, CalcIndexesNonSymmetric), quantization.h (BinarizeFeatures).
import { type TreeNodes, TreeMissing, TreeTest } from '../../plan/forest.js';
import type { SplitFeatures } from './model.js';

/** Nodes of all trees. A child below 0 is the leaf ~child. */
export interface GrownTrees {
  /** The split that each node tests: rows that pass it go right. */
  readonly split: readonly number[];
  readonly left: readonly number[];
  readonly right: readonly number[];
  readonly roots: readonly number[];
}

/** CatBoost's own limit. */
const SYMMETRIC_DEPTH_MAX = 16;

export class TreeGrower implements GrownTrees {
  readonly split: number[] = [];
  readonly left: number[] = [];
  readonly right: number[] = [];
  readonly roots: number[] = [];
  readonly #splits: number;

  /** `splits`: the number of the model's splits. */
  constructor(splits: number) {
    this.#splits = splits;
  }

  /** The place of the tree that is read, for errors. */
  get place(): string {
    return `tree ${this.roots.length}`;
  }

  /** Adds a node whose children are set later. Errors: RangeError: the split does not exist. */
  node(split: number): number {
    if (!Number.isInteger(split) || split < 0 || split >= this.#splits) {
      throw new RangeError(
        `${this.place}: split ${split} does not exist; the features have ${this.#splits} splits`,
      );
    }
    this.left.push(0);
    this.right.push(0);
    return this.split.push(split) - 1;
  }

  /**
   * Adds a tree that tests the same split in all nodes of a level; bit i of a leaf's number says
   * whether split i passes. Returns the number of its leaves. Errors: RangeError: it is too deep,
   * or a split does not exist.
   */
  symmetric(splits: ArrayLike<number>, firstLeaf: number): number {
    const depth = splits.length;
    if (depth > SYMMETRIC_DEPTH_MAX) {
      throw new RangeError(
        `${this.place}: expected at most ${SYMMETRIC_DEPTH_MAX} splits, got ${depth}`,
      );
    }
    const first = this.split.length;
    const count = 2 ** depth - 1;
    const childOf = (number: number): number =>
      number < count ? first + number : ~(firstLeaf + number - count);
    let number = 0;
    for (let level = 0; level < depth; level += 1) {
      for (let i = 0; i < 2 ** level; i += 1) {
        const at = this.node(splits[depth - 1 - level] ?? -1);
        this.left[at] = childOf(2 * number + 1);
        this.right[at] = childOf(2 * number + 2);
        number += 1;
      }
    }
    this.roots.push(childOf(0));
    return count + 1;
  }
}

/** The kinds of features that trees split by. */
export type SplitKind = 'float' | 'text' | 'ctr';

/** How the arrays of the stage `forest` test each split. */
interface SplitTest {
  /** The number of its column, from columnOf(). */
  readonly feature: number;
  readonly threshold: number;
  readonly isText: boolean;
  readonly passesMissing: boolean;
}

/** By the number of the split. `columnOf`: the number of a feature's column. */
export function splitTests(
  { floats, oneHots, ctrs }: SplitFeatures,
  columnOf: (kind: SplitKind, position: number) => number,
): readonly SplitTest[] {
  const tests: SplitTest[] = [];
  const addBorders = (kind: SplitKind, position: number, passesMissing: boolean): void => {
    const { borders } = (kind === 'float' ? floats : ctrs)[position] ?? { borders: [] };
    for (let i = 0; i < borders.length; i += 1) {
      const threshold = borders[i] ?? 0;
      tests.push({ feature: columnOf(kind, position), threshold, isText: false, passesMissing });
    }
  };
  floats.forEach(({ passesMissing }, position) => addBorders('float', position, passesMissing));
  oneHots.forEach(({ hashes }, position) => {
    for (let i = 0; i < hashes.length; i += 1) {
      const feature = columnOf('text', position);
      tests.push({ feature, threshold: i, isText: true, passesMissing: false });
    }
  });
  ctrs.forEach((_, position) => addBorders('ctr', position, false));
  return tests;
}

/**
 * A node of `forest` sends rows left that are at most the threshold, or equal to it: those of texts
 * change sides.
 */
export function forestNodes(trees: GrownTrees, tests: readonly SplitTest[]): TreeNodes {
  const count = trees.split.length;
  const nodes = {
    feature: new Int32Array(count),
    threshold: new Float64Array(count),
    left: new Int32Array(count),
    right: new Int32Array(count),
    test: new Uint8Array(count),
    missing: new Uint8Array(count),
  };
  for (let at = 0; at < count; at += 1) {
    const test = tests[trees.split[at] ?? -1];
    if (test === undefined) throw new RangeError(`node ${at}: its split does not exist`);
    const [passed, failed] = [trees.right[at] ?? 0, trees.left[at] ?? 0];
    nodes.feature[at] = test.feature;
    nodes.threshold[at] = test.threshold;
    nodes.left[at] = test.isText ? passed : failed;
    nodes.right[at] = test.isText ? failed : passed;
    nodes.test[at] = test.isText ? TreeTest.Equal : TreeTest.LessOrEqual;
    nodes.missing[at] = test.isText || test.passesMissing ? TreeMissing.Right : TreeMissing.Left;
  }
  return nodes;
}
