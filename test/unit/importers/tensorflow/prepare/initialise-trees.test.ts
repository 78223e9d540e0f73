// Ensembles of trees and streams of quantiles during a model's initialization.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Initialised, NodeDef } from '../../../../../ts/importers/tensorflow/types.js';
import { constant, floats, int64s, node, strings } from './graphs.js';
import { run } from './init-graphs.js';

const STREAM = 'BoostedTreesQuantileStreamResource';
const state = (nodes: readonly NodeDef[], after: readonly string[]): Initialised =>
  run(nodes, after, []).state;
const boundaries = (made: Initialised): unknown =>
  [...made.quantiles].map(([name, features]) => [name, features.map(({ shape }) => shape)]);

const stream: readonly NodeDef[] = [
  node('stream', `${STREAM}HandleOp`),
  constant('epsilon', floats([0.01], [])),
  constant('two', int64s([2], [])),
  constant('a', floats([1, 2, 3], [3])),
  constant('b', floats([], [0])),
  node('create', 'BoostedTreesCreateQuantileStreamResource', ['stream', 'epsilon', 'two']),
  node('restore', `${STREAM}Deserialize`, ['stream', 'a', 'b', '^create']),
];

test('a new stream has no boundaries; restored ones are kept by their handle', () => {
  assert.deepEqual(boundaries(state(stream, ['create'])), [['stream', [[0], [0]]]]);
  assert.deepEqual(boundaries(state(stream, ['restore'])), [['stream', [[3], [0]]]]);
});

test('keeps a resource that is created a second time', () => {
  const again = node('again', 'BoostedTreesCreateQuantileStreamResource', [
    'stream',
    'epsilon',
    'two',
    '^restore',
  ]);
  assert.deepEqual(boundaries(state([...stream, again], ['again'])), [['stream', [[3], [0]]]]);
  const trees = [
    node('trees', 'BoostedTreesEnsembleResourceHandleOp'),
    constant('stamp', int64s([0], [])),
    constant('old', strings(['old'], [])),
    constant('new', strings(['new'], [])),
    node('first', 'BoostedTreesCreateEnsemble', ['trees', 'stamp', 'old']),
    node('second', 'BoostedTreesCreateEnsemble', ['trees', 'stamp', 'new', '^first']),
    node('third', 'BoostedTreesDeserializeEnsemble', ['trees', 'stamp', 'new', '^second']),
  ];
  const blob = (after: string): string =>
    Buffer.from(state(trees, [after]).blobs.get('trees') ?? []).toString();
  assert.equal(blob('second'), 'old');
  assert.equal(blob('third'), 'new');
});

test('boundaries that are none are said', () => {
  const nodes = [
    ...stream,
    constant('odd', int64s([1], [1])),
    node('wrong', `${STREAM}Deserialize`, ['stream', 'odd', '^create']),
  ];
  const made = state(nodes, ['wrong']);
  assert.deepEqual(boundaries(made), []);
  assert.match(made.warnings.join(), /boundaries: expected float vectors/);
});
