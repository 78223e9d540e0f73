// The dependencies of tensors: cut at feeds, control edges followed to state changes only, cycles.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  checkAcyclic,
  reachable,
  taintedNodes,
} from '../../../../../ts/importers/tensorflow/prepare/prune.js';
import type { FlatGraph, Ref } from '../../../../../ts/importers/tensorflow/types.js';
import { invalid } from '../messages.js';

/** Lines "name op input input:1 ^control". */
function graphOf(...lines: readonly string[]): FlatGraph {
  return {
    nodes: new Map(
      lines.map((line) => {
        const [name = '', op = '', ...inputs] = line.split(' ');
        return [
          name,
          {
            name,
            op,
            attributes: new Map(),
            inputs: inputs.filter((input) => !input.startsWith('^')).map(refOf),
            control: inputs.filter((input) => input.startsWith('^')).map((input) => input.slice(1)),
          },
        ];
      }),
    ),
  };
}

function refOf(text: string): Ref {
  const [node = '', output = '0'] = text.split(':');
  return { node, output: Number(output) };
}

function needed(graph: FlatGraph, roots: string, feeds = ''): string {
  const refs = (text: string): Ref[] =>
    text
      .split(' ')
      .filter((one) => one !== '')
      .map(refOf);
  return [...reachable(graph, refs(roots), refs(feeds))].join(' ');
}

test('orders each node once, after its dependencies', () => {
  const graph = graphOf('a A', 'b B a', 'c C b a', 'd D c b', 'e E a');
  assert.equal(needed(graph, 'd'), 'a b c d');
  assert.equal(needed(graph, 'e d'), 'a e b c d');
  assert.equal(needed(graph, 'gone e'), 'a e');
  assert.equal(needed(graph, ''), '');
});

test('follows other outputs of a node whose tensor is fed', () => {
  const graph = graphOf('p Parse in', 'in Placeholder', 'x Identity p', 'y Add x:0 p:1');
  assert.equal(needed(graph, 'y'), 'in p x y');
  assert.equal(needed(graph, 'y', 'x p:1'), 'y');
  assert.equal(needed(graph, 'y', 'x'), 'in p y');
  assert.equal(needed(graph, 'y', 'x:1'), 'in p x y');
  assert.equal(needed(graph, 'y', 'y'), '');
});

test('follows control edges to state changes and their dependencies only', () => {
  const graph = graphOf(
    'v VarHandleOp',
    'one Const',
    'x Placeholder',
    'check Assert x ^set',
    'plain Neg x',
    'set AssignAddVariableOp v one',
    'group NoOp ^check ^plain',
    'after Identity x ^group',
    'quiet Identity x ^plain',
    'late Identity late2',
    'late2 ReadVariableOp v ^set',
    'wait Identity x ^late',
  );
  assert.equal(needed(graph, 'after'), 'v one set x after');
  assert.equal(needed(graph, 'quiet'), 'x quiet');
  assert.equal(needed(graph, 'wait'), 'v one set x wait');
  assert.deepEqual([...taintedNodes(graph)].sort(), [
    'after',
    'check',
    'group',
    'late',
    'late2',
    'set',
    'wait',
  ]);
});

test('keeps needed nodes that a control edge reaches first', () => {
  const graph = graphOf(
    'v VarHandleOp',
    'set AssignVariableOp v mid',
    'mid Neg x',
    'x X',
    'end Identity mid2 ^mid2',
    'mid2 Neg late ^set',
    'late Neg x ^mid2x',
    'mid2x NoOp ^set',
  );
  assert.equal(needed(graph, 'end'), 'v x mid set late mid2 end');
});

test('accepts the nodes that change state from the caller', () => {
  const graph = graphOf('x X', 'branch If x', 'out Identity x ^branch');
  assert.equal(needed(graph, 'out'), 'x out');
  const all = reachable(graph, [refOf('out')], [], ({ op }) => op === 'If');
  assert.deepEqual([...all], ['x', 'branch', 'out']);
});

test('walks loops of TensorFlow 1 once; refuses other cycles', () => {
  const loop = graphOf(
    'start Enter',
    'm Merge start next',
    'cond LoopCond m',
    's Switch m cond',
    'body Add s:1',
    'next NextIteration body',
    'exit Exit s',
  );
  assert.equal(needed(loop, 'exit').split(' ').at(-1), 'exit');
  assert.equal(needed(loop, 'exit').split(' ').length, 7);
  checkAcyclic(loop, 'the graph');
  assert.match(
    invalid(() => checkAcyclic(graphOf('a A b', 'b NextIteration a'), 'f')),
    /f has a cycle: "a" needs "b" needs "a"/,
  );
  assert.match(
    invalid(() => checkAcyclic(graphOf('a Merge b', 'b B a'), 'f')),
    /has a cycle/,
  );
  assert.match(
    invalid(() => checkAcyclic(graphOf('z Z a', 'a A a'), 'f')),
    /cycle: "a" needs "a"/,
  );
  const count = 30_000;
  const ring = graphOf(
    ...Array.from({ length: count }, (_, at) => `n${at} N n${(at + 1) % count}`),
  );
  assert.match(
    invalid(() => checkAcyclic(ring, 'f')),
    /"n7" and 29992 more/,
  );
});
