// Switch and Merge outside of loops become StatelessIf: values, order, dead branches, refusals.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ErrorCode } from '../../../../../ts/base/errors.js';
import { functionalGraph } from '../../../../../ts/importers/tensorflow/control-flow/index.js';
import { errorText, invalid } from '../messages.js';
import { graphOf, refOf, valuesOf } from './graphs.js';

const unsupported = (run: () => unknown): string => errorText(run, ErrorCode.Unimplemented);

const PLAIN = [
  's Switch x p',
  'c2 Const',
  'double Mul s:1 c2',
  'c5 Const',
  'more Add s c5',
  'm Merge more double',
];

test('a graph without these operators is handed back as it is', () => {
  const graph = graphOf('a Add x y');
  const roots = [refOf('a')];
  const made = functionalGraph(graph, roots, ['a'], { hasEffect: () => false, isFed: () => false });
  assert.equal(made.graph, graph);
  assert.equal(made.roots, roots);
});

test('a Merge takes the side of the predicate, in either order of its inputs', () => {
  const graph = graphOf(...PLAIN, 'turned Merge double more');
  assert.deepEqual(valuesOf(graph, 'm turned', { x: 3, p: 1 }), [6, 6]);
  assert.deepEqual(valuesOf(graph, 'm turned', { x: 3, p: 0 }), [8, 8]);
});

test('value_index is the input that was taken', () => {
  const graph = graphOf(...PLAIN, 'turned Merge double more');
  assert.deepEqual(valuesOf(graph, 'm:1 turned:1', { x: 3, p: 1 }), [1, 0]);
  assert.deepEqual(valuesOf(graph, 'm:1 turned:1', { x: 3, p: 0 }), [0, 1]);
});

test('constants belong to a side by their control inputs', () => {
  const graph = graphOf(
    'pivot Switch p p',
    'on Identity pivot:1',
    'off Identity pivot',
    'c7 Const ^on',
    'c9 Const ^off',
    'm Merge c9 c7',
  );
  assert.deepEqual(valuesOf(graph, 'm', { p: 1 }), [7]);
  assert.deepEqual(valuesOf(graph, 'm', { p: 0 }), [9]);
});

test('Merges of one predicate share an If where none needs another', () => {
  const graph = graphOf(...PLAIN, 'm2 Merge s s:1');
  const made = functionalGraph(graph, [refOf('m'), refOf('m2')], [], {
    hasEffect: () => false,
    isFed: ({ node }) => node === 'x' || node === 'p',
  });
  const ifs = [...made.graph.nodes.values()].filter(({ op }) => op === 'StatelessIf');
  assert.equal(ifs.length, 1);
  assert.deepEqual(valuesOf(graph, 'm m2', { x: 3, p: 1 }), [6, 3]);
});

test('one predicate again and again', () => {
  const graph = graphOf(
    ...PLAIN,
    's2 Switch m p',
    'again Mul s2:1 c2',
    'm2 Merge s2 again',
    'sum Add m m2',
  );
  assert.deepEqual(valuesOf(graph, 'sum m2', { x: 3, p: 1 }), [18, 12]);
  assert.deepEqual(valuesOf(graph, 'sum m2', { x: 3, p: 0 }), [16, 8]);
});

test('two predicates, each after the other', () => {
  const one = (name: string, from: string, predicate: string, k: number): string[] => [
    `${name}/s Switch ${from} ${predicate}`,
    `${name}/c${k} Const`,
    `${name}/t Mul ${name}/s:1 ${name}/c${k}`,
    `${name} Merge ${name}/s ${name}/t`,
  ];
  const graph = graphOf(
    ...one('a1', 'x', 'p', 2),
    ...one('a2', 'a1', 'q', 3),
    ...one('b1', 'x', 'q', 5),
    ...one('b2', 'b1', 'p', 7),
  );
  assert.deepEqual(valuesOf(graph, 'a2 b2', { x: 1, p: 1, q: 1 }), [6, 35]);
  assert.deepEqual(valuesOf(graph, 'a2 b2', { x: 1, p: 1, q: 0 }), [2, 7]);
  assert.deepEqual(valuesOf(graph, 'a2 b2', { x: 1, p: 0, q: 1 }), [3, 5]);
});

test('conditions inside each other', () => {
  const graph = graphOf(
    's Switch x p',
    'sq Switch q p',
    'inner Switch s:1 sq:1',
    'c2 Const',
    'c3 Const',
    'a Mul inner:1 c2',
    'b Mul inner c3',
    'mi Merge b a',
    'm Merge s mi',
  );
  const of = (p: number, q: number): number[] => valuesOf(graph, 'm', { x: 5, p, q });
  assert.deepEqual([of(0, 0), of(0, 1), of(1, 0), of(1, 1)], [[5], [5], [15], [10]]);
});

test('the side that is not taken is not computed', () => {
  const graph = graphOf('s Switch x p', 'bad Explode s:1', 'm Merge s bad');
  assert.deepEqual(valuesOf(graph, 'm', { x: 5, p: 0 }), [5]);
  assert.throws(() => valuesOf(graph, 'm', { x: 5, p: 1 }), /Explode 'bad' is left/);
});

test('a fed Merge is taken as it is; one of its inputs alone has no side any more', () => {
  const graph = graphOf(...PLAIN, 'y Add m x');
  assert.deepEqual(valuesOf(graph, 'm y', { x: 3, p: 1, m: 50 }), [50, 53]);
  assert.deepEqual(valuesOf(graph, 'm', { x: 3, p: 1, c2: 10 }), [30]);
  assert.match(
    unsupported(() => valuesOf(graph, 'm', { x: 3, p: 1, double: 40 })),
    /two sides/,
  );
});

test('a Merge without a Switch is refused', () => {
  const graph = graphOf('c1 Const', 'c2 Const', 'm Merge c1 c2');
  assert.match(
    unsupported(() => valuesOf(graph, 'm')),
    /^Merge 'm': its inputs do not come from the two sides of one Switch$/,
  );
});

test('a Merge of both outputs on one side is refused', () => {
  const graph = graphOf('s Switch x p', 't Switch x p', 'm Merge s:1 t:1');
  assert.match(
    unsupported(() => valuesOf(graph, 'm', { x: 1, p: 1 })),
    /two sides of one Switch/,
  );
});

test('a Merge of three is refused', () => {
  const graph = graphOf('s Switch x p', 'm Merge s s:1 x');
  assert.match(
    unsupported(() => valuesOf(graph, 'm', { x: 1, p: 1 })),
    /3 inputs; expected 2/,
  );
});

test('a Switch whose output may be missing is refused', () => {
  const graph = graphOf('s Switch x p', 'y Add s:1 x');
  assert.match(
    unsupported(() => valuesOf(graph, 'y', { x: 1, p: 1 })),
    /^Switch 's': output 1 is used where it may have no value$/,
  );
});

test('a change of state inside a side is refused', () => {
  const graph = graphOf(
    's Switch x p',
    'set Assign s:1',
    'done Identity s:1 ^set',
    'm Merge s done',
  );
  assert.match(
    unsupported(() => valuesOf(graph, 'm', { x: 1, p: 1 })),
    /state changes inside/,
  );
});

test("a circle and missing parts are the model's fault", () => {
  assert.match(
    invalid(() => valuesOf(graphOf('a Add b s', 'b Add a s', 's Switch x p'), 'b', { x: 1, p: 1 })),
    /depends on its own output/,
  );
  assert.match(
    invalid(() => valuesOf(graphOf('y Add gone s', 's Switch x p'), 'y', { x: 1, p: 1 })),
    /'gone', which is missing/,
  );
  assert.match(
    invalid(() => valuesOf(graphOf('s Switch x', 'm Merge s s:1'), 'm', { x: 1 })),
    /Switch 's' has no input 1/,
  );
});

test('conditions inside each other are limited', () => {
  const lines = ['s0 Switch x p0'];
  for (let i = 1; i < 80; i++) lines.push(`s${i} Switch s${i - 1}:1 p${i}`);
  const feeds = Object.fromEntries(Array.from({ length: 80 }, (_, i) => [`p${i}`, 1]));
  assert.match(
    unsupported(() => valuesOf(graphOf(...lines, 'm Merge s79 s79:1'), 'm', { x: 1, ...feeds })),
    /more than 64 conditions/,
  );
});
