// Removing nodes that no output needs: through chains, subgraphs and nodes with several outputs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { namesUsedBy, usedNodes } from '../../../../../ts/importers/tensorflow/lower/unused.js';
import type { OnnxGraph, OnnxNode } from '../../../../../ts/importers/onnx/builder.js';

const node = (outputs: string, inputs: string, graph?: OnnxGraph): OnnxNode => ({
  op: 'Op',
  inputs: inputs.split(' '),
  outputs: outputs.split(' '),
  ...(graph === undefined ? {} : { attributes: { body: { graph } } }),
});
const outputsOf = (nodes: readonly OnnxNode[]): string[] =>
  nodes.map((one) => one.outputs[0] ?? '');
const body = (...nodes: OnnxNode[]): OnnxGraph => ({
  name: 'body',
  inputs: [],
  outputs: [{ name: 'inner', type: 'float' }],
  nodes,
});

test('only what leads to an output is kept, in its order', () => {
  const nodes = [node('a', 'x'), node('b', 'x'), node('c', 'a'), node('d', 'c b')];
  assert.deepEqual(outputsOf(usedNodes(nodes, ['c'])), ['a', 'c']);
  assert.deepEqual(outputsOf(usedNodes(nodes, ['d'])), ['a', 'b', 'c', 'd']);
  assert.deepEqual(usedNodes(nodes, []), []);
  assert.deepEqual(usedNodes(nodes, ['x']), []);
});

test('one needed output of several keeps the node', () => {
  const nodes = [node('q r', 'x'), node('s', 'r')];
  assert.deepEqual(outputsOf(usedNodes(nodes, ['s'])), ['q', 's']);
});

test('keeps outer values that a subgraph uses, at any depth', () => {
  const deep = body(node('inner', 'y', body(node('inner', 'outer'))));
  const nodes = [node('outer', 'x'), node('unused', 'x'), node('y', 'x'), node('out', 'x', deep)];
  assert.deepEqual([...namesUsedBy(nodes[3] ?? node('', ''))], ['x', 'y', 'outer']);
  assert.deepEqual(outputsOf(usedNodes(nodes, ['out'])), ['outer', 'y', 'out']);
});

test('a value that a subgraph gives without computing it is needed as well', () => {
  const passing: OnnxGraph = {
    name: 'b',
    inputs: [],
    outputs: [{ name: 'outer', type: 'float' }],
    nodes: [],
  };
  const nodes = [node('outer', 'x'), node('out', 'x', passing)];
  assert.deepEqual(outputsOf(usedNodes(nodes, ['out'])), ['outer', 'out']);
});
