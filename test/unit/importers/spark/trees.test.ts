// Spark's trees as nodes of the forest stage: the same leaf for every vector as Spark's rule gives
// on the rows themselves; and tables that are not trees.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { StageProblem } from '../../../../ts/importers/spark/read/problem.js';
import { readTable } from '../../../../ts/importers/spark/read/table.js';
import { singleTree, type Trees, treesOf } from '../../../../ts/importers/spark/lower/trees.js';
import { TreeTest } from '../../../../ts/importers/plan/forest.js';
import { parquet, type Row } from './support/parquet.js';
import { ensemble, nodeRows, type NodeSketch, treeTable } from './support/stages.js';

const CATEGORIES = 5;
const FEATURES = 4; // the last two have categories

function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Each leaf predicts a different number. */
function randomTree(random: () => number, depth: number, leaf: { count: number }): NodeSketch {
  if (depth === 0 || random() < 0.2) {
    const prediction = leaf.count++;
    return { prediction, stats: [prediction, 1] };
  }
  const feature = Math.floor(random() * FEATURES);
  const categories = Array.from({ length: CATEGORIES }, (_, i) => i).filter(() => random() < 0.5);
  return {
    prediction: 0,
    stats: [1, 1],
    split: feature < 2 ? [feature, Math.round(random() * 4)] : [feature, categories, CATEGORIES],
    left: randomTree(random, depth - 1, leaf),
    right: randomTree(random, depth - 1, leaf),
  };
}

/** Spark's rule: the smaller half of the categories is searched. Source: tabular.md 5.3 */
function sparkLeaf(node: NodeSketch, vector: readonly number[]): number {
  const { split, left, right } = node;
  if (split === undefined || left === undefined || right === undefined) return node.prediction;
  const value = vector[split[0]] ?? Number.NaN;
  if (typeof split[1] === 'number') return sparkLeaf(value <= split[1] ? left : right, vector);
  const inLeft = split[1];
  const count = split[2] ?? 0;
  const isKnown = Number.isInteger(value) && value >= 0 && value < count;
  const goesLeft =
    inLeft.length <= Math.floor(count / 2)
      ? inLeft.includes(value)
      : !(isKnown && !inLeft.includes(value));
  return sparkLeaf(goesLeft ? left : right, vector);
}

/** The leaf that the forest stage finds. */
function planLeaf({ nodes, sets, roots }: Trees, tree: number, vector: readonly number[]): number {
  let at = roots[tree] as number;
  while (at >= 0) {
    const value = vector[nodes.feature[at] as number] as number;
    const threshold = nodes.threshold[at] as number;
    const members = sets.members.slice(sets.offsets[threshold], sets.offsets[threshold + 1]);
    const goesLeft =
      nodes.test?.[at] === TreeTest.InSet ? members.includes(value) : value <= threshold;
    at = (goesLeft ? nodes.left : nodes.right)[at] as number;
  }
  return ~at;
}

const tableOf = ({ columns, rows }: { columns: Row; rows: readonly Row[] }) =>
  readTable('data', [{ name: 'part', bytes: parquet(columns as never, rows, 'snappy') }]);

const problem = (message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof StageProblem, String(error));
  assert.match(error.message, message);
  return true;
};

describe('trees', () => {
  test('every vector comes to the leaf that it comes to in Spark', async () => {
    const random = randomNumbers(7);
    let splits = 0;
    for (let round = 0; round < 40; round++) {
      const count = { count: 0 };
      const root = randomTree(random, 6, count);
      const rows = nodeRows(root).toSorted(() => random() - 0.5); // parts may be in any order
      const trees = singleTree(await tableOf(treeTable(rows)));
      splits += trees.nodes.feature.length;
      assert.equal(trees.leaves.length, count.count);
      assert.deepEqual(
        trees.leaves.map(({ prediction }) => prediction),
        trees.leaves.map(({ index }) => index),
      );
      for (let i = 0; i < 100; i++) {
        const vector = Array.from({ length: FEATURES }, (_, feature) =>
          feature < 2 ? random() * 5 - 0.5 : Math.floor(random() * 8) - 1,
        );
        if (random() < 0.1) vector[Math.floor(random() * FEATURES)] = Number.NaN;
        const leaf = trees.leaves[planLeaf(trees, 0, vector)];
        assert.equal(leaf?.prediction, sparkLeaf(root, vector), JSON.stringify(vector));
      }
    }
    assert.ok(splits > 200);
  });

  test('of several trees, whatever part their nodes come in', async () => {
    const random = randomNumbers(3);
    const roots = [0, 1, 2].map(() => randomTree(random, 4, { count: 0 }));
    const { data } = ensemble('x', roots, [1, 1, 1], {}).tables ?? {};
    const parts = [0, 1, 2].map((part) => ({
      name: `part-${part}`,
      bytes: parquet(
        data?.columns ?? {},
        (data?.rows ?? []).filter((_, i) => i % 3 === part),
        'gzip',
      ),
    }));
    const trees = treesOf(await readTable('data', parts), 3);
    for (const [i, root] of roots.entries()) {
      for (let k = 0; k < 50; k++) {
        const vector = Array.from({ length: FEATURES }, () => Math.floor(random() * 6));
        const leaf = trees.leaves[planLeaf(trees, i, vector)];
        assert.equal(leaf?.prediction, sparkLeaf(root, vector));
      }
    }
  });

  test('a leaf alone', async () => {
    const trees = singleTree(await tableOf(treeTable(nodeRows({ prediction: 3, stats: [] }))));
    assert.deepEqual([...trees.roots], [-1]);
    assert.equal(trees.leaves[0]?.prediction, 3);
  });

  test('what is no tree', async () => {
    const leaf = { prediction: 1, stats: [1] };
    const rows = nodeRows({ ...leaf, split: [0, 0.5], left: leaf, right: leaf });
    const change = (id: number, member: Row) =>
      rows.map((row) => (row['id'] === id ? { ...row, ...member } : row));
    const split = (values: number[], numCategories: number) => ({
      split: { featureIndex: 0, leftCategoriesOrThreshold: values, numCategories },
    });
    const bad: [Row[], RegExp][] = [
      [[], /^data: node 0 is missing or reached twice$/],
      [rows.slice(0, 2), /^data: node 2 is missing or reached twice$/],
      [[...rows, rows[1] as Row], /^data: a node id occurs twice$/],
      [[...rows, { ...rows[1], id: 9 }], /^data: 1 nodes are not reachable from the root$/],
      [change(0, { leftChild: 0 }), /^data: node 0 is missing or reached twice$/],
      [change(0, { leftChild: 2 }), /^data: node 2 is missing or reached twice$/],
      [change(0, { leftChild: -1 }), /^data: node -1 is missing or reached twice$/],
      [change(0, { split: undefined }), /^data: node 0: split is nothing: expected a structure$/],
      [change(0, split([], -1)), /^data: node 0: a split: expected one threshold, got 0$/],
      [change(0, split([7], 3)), /^data: node 0: category 7 of 3 categories$/],
      [change(0, split([0.5], 3)), /^data: node 0: category 0.5 of 3 categories$/],
      [change(0, split([0], 2 ** 30)), /^data: node 0: 1073741824 categories$/],
      [
        change(1, { prediction: undefined }),
        /^data: node 1: prediction is nothing: expected a num/,
      ],
    ];
    for (const [some, message] of bad) {
      const table = await tableOf(treeTable(some));
      assert.throws(() => singleTree(table), problem(message));
    }
    const { data } = ensemble('x', [leaf, leaf], [1, 1], {}).tables ?? {};
    const table = await tableOf(data as never);
    assert.throws(() => treesOf(table, 1), problem(/^data: tree 1 of 1 trees$/));
    assert.throws(() => treesOf(table, 3), problem(/^data: tree 2: node 0 is missing/));
  });
});
