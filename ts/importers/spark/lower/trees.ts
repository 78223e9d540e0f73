// Spark's trees in the form of the shared forest stage. Importer's worker thread; pure. Source:
// tabular.md 5.2, 5.3
import { type TreeNodes, type TreeSets, TreeTest } from '../../plan/forest.js';
import { integerCell, numberCell, numbersCell, structCell } from '../read/cells.js';
import { StageProblem } from '../read/problem.js';
import type { Table } from '../read/table.js';

export interface Leaf {
  readonly prediction: number;
  /** Training rows in the leaf: for a classifier, the weight of each class. */
  readonly stats: Float64Array;
  /** Among its tree's leaves, from left to right. */
  readonly index: number;
}

export interface Trees {
  readonly nodes: TreeNodes;
  readonly sets: TreeSets;
  readonly roots: Int32Array;
  readonly leaves: readonly Leaf[];
}

type Row = Readonly<Record<string, unknown>>;
const NODE = ['id', 'prediction', 'impurityStats', 'leftChild', 'rightChild', 'split'];

/** One tree: rows are nodes. Errors: StageProblem naming the node. */
export function singleTree(table: Table): Trees {
  const cells = NODE.map((name) => table.column([name]));
  const rows = Array.from({ length: table.rowCount }, (_, row) =>
    Object.fromEntries(NODE.map((name, i) => [name, cells[i]?.[row]])),
  );
  return build([rows], table.place);
}

/** An ensemble: rows are (tree, node). Trees in the order of their numbers. */
export function treesOf(table: Table, treeCount: number): Trees {
  const ids = table.column(['treeID', '_1'], 0);
  const rows = table.column(['nodeData', '_2'], 1);
  const trees: Row[][] = Array.from({ length: treeCount }, () => []);
  for (const [i, id] of ids.entries()) {
    const tree = trees[integerCell(id, 'treeID')];
    if (tree === undefined) {
      throw new StageProblem(`${table.place}: tree ${id} of ${treeCount} trees`);
    }
    tree.push(structCell(rows[i], 'nodeData'));
  }
  return build(trees, table.place);
}

function build(trees: readonly (readonly Row[])[], place: string): Trees {
  const maker = new Maker(trees.reduce((sum, tree) => sum + tree.length, 0));
  const roots = trees.map((rows, tree) =>
    maker.tree(rows, trees.length === 1 ? place : `${place}: tree ${tree}`),
  );
  return { ...maker.finish(), roots: Int32Array.from(roots) };
}

/** Maximum number of categories of one feature: Spark's own maxBins is far below. */
const CATEGORIES_MAX = 1_000_000;

// The target of a node of the table, and the branch of the node that leads to it.
interface Step {
  readonly id: number;
  readonly parent: number; // -1: the root
  readonly isLeft: boolean;
}

class Maker {
  readonly #feature: Int32Array;
  readonly #threshold: Float64Array;
  readonly #left: Int32Array;
  readonly #right: Int32Array;
  readonly #test: Uint8Array;
  readonly #leaves: Leaf[] = [];
  readonly #offsets: number[] = [0];
  readonly #members: number[] = [];
  #count = 0;

  constructor(nodes: number) {
    this.#feature = new Int32Array(nodes);
    this.#threshold = new Float64Array(nodes);
    this.#left = new Int32Array(nodes);
    this.#right = new Int32Array(nodes);
    this.#test = new Uint8Array(nodes);
  }

  /** The root's number. */
  tree(rows: readonly Row[], place: string): number {
    const byId = new Map<number, Row>();
    for (const row of rows) byId.set(integerCell(row['id'], `${place}: id`), row);
    if (byId.size !== rows.length) throw new StageProblem(`${place}: a node id occurs twice`);
    let root = 0;
    let leafIndex = 0;
    const steps: Step[] = [{ id: 0, parent: -1, isLeft: true }];
    for (let step = steps.pop(); step !== undefined; step = steps.pop()) {
      const { id, parent, isLeft } = step;
      const row = byId.get(id);
      if (row === undefined) {
        throw new StageProblem(`${place}: node ${id} is missing or reached twice`);
      }
      byId.delete(id);
      const here = `${place}: node ${id}`;
      const left = integerCell(row['leftChild'], `${here}: leftChild`);
      const right = integerCell(row['rightChild'], `${here}: rightChild`);
      const isLeaf = left < 0 && right < 0;
      const made = isLeaf ? ~this.#leaf(row, leafIndex++, here) : this.#node(row, here);
      if (parent < 0) root = made;
      else (isLeft ? this.#left : this.#right)[parent] = made;
      if (isLeaf) continue;
      // A node of which the set goes right has its children the other way round.
      const isSwapped = this.#swapped.has(made);
      steps.push({ id: right, parent: made, isLeft: isSwapped });
      steps.push({ id: left, parent: made, isLeft: !isSwapped });
    }
    if (byId.size > 0)
      throw new StageProblem(`${place}: ${byId.size} nodes are not reachable from the root`);
    return root;
  }

  readonly #swapped = new Set<number>();

  finish(): Omit<Trees, 'roots'> {
    const count = this.#count;
    return {
      nodes: {
        feature: this.#feature.slice(0, count),
        threshold: this.#threshold.slice(0, count),
        left: this.#left.slice(0, count),
        right: this.#right.slice(0, count),
        test: this.#test.slice(0, count),
      },
      sets: { offsets: Int32Array.from(this.#offsets), members: Int32Array.from(this.#members) },
      leaves: this.#leaves,
    };
  }

  #leaf(row: Row, index: number, place: string): number {
    const prediction = numberCell(row['prediction'], `${place}: prediction`);
    const stats = numbersCell(row['impurityStats'] ?? [], `${place}: impurityStats`);
    return this.#leaves.push({ prediction, stats, index }) - 1;
  }

  #node(row: Row, place: string): number {
    const node = this.#count++;
    const split = structCell(row['split'], `${place}: split`);
    const values = numbersCell(split['leftCategoriesOrThreshold'], `${place}: split`);
    const categories = integerCell(split['numCategories'], `${place}: numCategories`);
    this.#feature[node] = integerCell(split['featureIndex'], `${place}: featureIndex`);
    if (categories === -1) {
      const [threshold] = values;
      if (threshold === undefined || values.length !== 1) {
        throw new StageProblem(`${place}: a split: expected one threshold, got ${values.length}`);
      }
      this.#threshold[node] = threshold;
      return node;
    }
    this.#categorical(node, values, categories, place);
    return node;
  }

  // Spark looks into the smaller set: what is in neither goes left where that is the right one's.
  #categorical(node: number, left: Float64Array, count: number, place: string): void {
    if (count > CATEGORIES_MAX) throw new StageProblem(`${place}: ${count} categories`);
    const inLeft = new Set(left);
    for (const value of inLeft) {
      if (!Number.isInteger(value) || value < 0 || value >= count) {
        throw new StageProblem(`${place}: category ${value} of ${count} categories`);
      }
    }
    const goesLeft = left.length <= Math.floor(count / 2);
    if (goesLeft) this.#members.push(...inLeft);
    else {
      this.#swapped.add(node);
      for (let value = 0; value < count; value++) {
        if (!inLeft.has(value)) this.#members.push(value);
      }
    }
    this.#test[node] = TreeTest.InSet;
    this.#threshold[node] = this.#offsets.length - 1;
    this.#offsets.push(this.#members.length);
  }
}
