// Serialized tree ensembles as lists of nodes, and invalid bytes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServalError } from '../../../../../../ts/base/errors.js';
import { readEnsemble } from '../../../../../../ts/importers/tensorflow/ops/trees/ensemble.js';

type Bytes = readonly number[];

function varint(value: number): number[] {
  const out: number[] = [];
  for (let rest = BigInt.asUintN(64, BigInt(value)); ; rest >>= 7n) {
    if (rest < 128n) return [...out, Number(rest)];
    out.push(Number(rest & 127n) | 128);
  }
}
const number = (field: number, value: number): number[] => [...varint(field * 8), ...varint(value)];
const message = (field: number, ...parts: Bytes[]): number[] => {
  const bytes = parts.flat();
  return [...varint(field * 8 + 2), ...varint(bytes.length), ...bytes];
};
const float = (value: number): number[] => [...new Uint8Array(new Float32Array([value]).buffer)];
const packed = (field: number, values: readonly number[]): number[] =>
  message(field, values.flatMap(float));

const leaf = (value: number): number[] => message(1, message(1, [3 * 8 + 5, ...float(value)]));
const classes = (...values: number[]): number[] =>
  message(1, message(1, message(1, packed(1, values))));
const split = (kind: 2 | 3, ...fields: number[]): number[] =>
  message(1, message(kind, ...fields.map((value, i) => number(i + 1, value))));
const tree = (...nodes: Bytes[]): number[] => message(1, ...nodes);
const read = (...parts: Bytes[]): ReturnType<typeof readEnsemble> =>
  readEnsemble(Uint8Array.from(parts.flat()));

test('splits, leaves, weights', () => {
  const made = read(
    tree(split(2, 4, -1, 1, 2, 7), leaf(0.5), split(3, 0, 9, 3, 4), leaf(-2), leaf(3)),
    tree(classes(1, 2)),
    packed(2, [0.5, 0.25]),
    message(3, number(2, 1)),
  );
  assert.deepEqual(made, {
    treeSizes: [5, 1],
    treeWeights: [0.5, 0.25],
    kinds: [1, 0, 2, 0, 0, 0],
    features: [4, 0, 0, 0, 0, 0],
    dimensions: [7, 0, 0, 0, 0, 0],
    values: [-1, 0, 9, 0, 0, 0],
    lefts: [1, 0, 3, 0, 0, 0],
    rights: [2, 0, 4, 0, 0, 0],
    leaves: [[0.5], [-2], [3], [1, 2]],
  });
});

test('a leaf that says nothing is 0, an ensemble of no bytes has no trees', () => {
  assert.deepEqual(read(tree(message(1, message(1))), packed(2, [1])).leaves, [[0]]);
  assert.deepEqual(read().treeSizes, []);
});

test('refuses invalid ensembles with the reason', () => {
  const wrong: [RegExp, Bytes[]][] = [
    [/expected a weight for each of 1 trees, got 0/, [tree(leaf(1))]],
    [/expected a weight for each of 0 trees, got 1/, [packed(2, [1])]],
    [/tree 0 has no nodes/, [tree()]],
    [/node 1 has no kind/, [tree(leaf(1), message(1))]],
    [/DenseSplit/, [tree(message(1, message(4)))]],
    [/sparse values/, [tree(message(1, message(1, message(2))))]],
    [/TreeEnsemble/, [[0x0a, 0x7f]]],
  ];
  for (const [text, parts] of wrong) {
    assert.throws(
      () => read(...parts),
      (error) => error instanceof ServalError && text.test(error.message),
      String(text),
    );
  }
});
