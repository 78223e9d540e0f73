// Frames become StatelessWhile: values, nesting, invariants, and damaged loops.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ErrorCode } from '../../../../../ts/base/errors.js';
import { errorText, invalid } from '../messages.js';
import { graphOf, loopLines, replaced, valuesOf, without } from './graphs.js';

/** x doubles in every round. */
const DOUBLING = loopLines('w', 'n', 'x', ['w/c2 Const', 'w/x_step Mul w/x_in w/c2']);

test('a loop runs as often as its condition says, also not at all', () => {
  const graph = graphOf(...DOUBLING);
  assert.deepEqual(valuesOf(graph, 'w/x_out w/i_out', { n: 3, x: 5 }), [40, 3]);
  assert.deepEqual(valuesOf(graph, 'w/x_out w/i_out', { n: 0, x: 5 }), [5, 0]);
});

test('passes in values that do not change', () => {
  const graph = graphOf(...loopLines('w', 'n', 'x', ['w/k Enter@w k', 'w/x_step Add w/x_in w/k']));
  assert.deepEqual(valuesOf(graph, 'w/x_out', { n: 4, x: 1, k: 10 }), [41]);
});

test('variables that nobody asks for are left out', () => {
  const graph = graphOf(...DOUBLING);
  assert.deepEqual(valuesOf(graph, 'w/i_out', { n: 4, x: 1 }), [4]);
});

test('a loop inside a loop, with a value that enters twice', () => {
  const inner = loopLines('v', 'w/m', 'w/x_in', ['v/k Enter@v w/k', 'v/x_step Add v/x_in v/k']);
  const graph = graphOf(
    ...loopLines('w', 'n', 'x', [
      'w/k Enter@w k',
      'w/m Enter@w m',
      ...inner,
      'w/c2 Const',
      'w/x_step Mul v/x_out w/c2',
    ]),
  );
  // x -> (x + 3 * 10) * 2, twice.
  assert.deepEqual(valuesOf(graph, 'w/x_out', { n: 2, m: 3, x: 1, k: 10 }), [184]);
  assert.deepEqual(valuesOf(graph, 'w/x_out', { n: 2, m: 0, x: 1, k: 10 }), [4]);
});

test('a condition inside a loop', () => {
  const graph = graphOf(
    ...loopLines('w', 'n', 'x', [
      'w/c2 Const',
      'w/first Less w/i_in w/c2',
      'w/s Switch w/x_in w/first',
      'w/t Mul w/s:1 w/c2',
      'w/f Add w/s w/c2',
      'w/x_step Merge w/f w/t',
    ]),
  );
  assert.deepEqual(valuesOf(graph, 'w/x_out', { n: 4, x: 5 }), [24]);
});

test('a loop inside a condition', () => {
  const graph = graphOf(
    's Switch x p',
    ...loopLines('w', 'n', 's:1', ['w/c2 Const', 'w/x_step Mul w/x_in w/c2']),
    'm Merge s w/x_out',
  );
  assert.deepEqual(valuesOf(graph, 'm', { n: 3, x: 5, p: 1 }), [40]);
  assert.deepEqual(valuesOf(graph, 'm', { n: 3, x: 5, p: 0 }), [5]);
});

test('separates two loops of one frame name by their LoopCond', () => {
  const again = loopLines('v', 'n', 'w/x_out', ['v/c3 Const', 'v/x_step Mul v/x_in v/c3'], 'w');
  assert.deepEqual(valuesOf(graphOf(...DOUBLING, ...again), 'v/x_out', { n: 2, x: 1 }), [36]);
});

test("a loop of a loop's result of the same frame name, in a circle", () => {
  const lines = [...DOUBLING, ...loopLines('v', 'n', 'w/x_out', ['v/x_step Identity v/x_in'], 'w')];
  assert.match(
    invalid(() =>
      valuesOf(graphOf(...replaced(lines, 'w/x_enter Enter@w v/x_out')), 'v/x_out', { n: 2 }),
    ),
    /depends on its own output outside of a loop|is inside itself/,
  );
});

test('a tensor fed inside a loop is the same in every round', () => {
  const graph = graphOf(...DOUBLING);
  assert.deepEqual(valuesOf(graph, 'w/x_out', { n: 3, x: 5, 'w/x_step': 9 }), [9]);
});

test('damaged loops', () => {
  const feeds = { n: 2, x: 1 };
  const bad = (lines: readonly string[], root = 'w/x_out'): string =>
    invalid(() => valuesOf(graphOf(...lines), root, feeds));
  assert.match(bad(replaced(DOUBLING, 'w/x Merge w/x_enter x')), /expected an Enter and/);
  assert.match(bad(replaced(DOUBLING, 'w/x Merge w/x_next w/x_next')), /expected an Enter and/);
  assert.match(bad(replaced(DOUBLING, 'w/x_switch Switch x w/cond')), /'x', which is missing/);
  assert.match(bad(replaced(DOUBLING, 'w/x_switch Switch w/c0 w/cond')), /not a Merge of an Enter/);
  assert.match(bad(replaced(DOUBLING, 'w/x_out Exit w/x_in')), /does not leave a loop/);
  assert.match(bad(replaced(DOUBLING, 'w/x_out Exit n2')), /'n2', which is missing/);
  assert.match(bad(replaced(DOUBLING, 'w/x_enter Enter@other x')), /of the frames/);
  assert.match(
    bad(without(DOUBLING, 'w/x_next')),
    /has inputs Enter 'w\/x_enter', nothing; expected/,
  );
});

test('parts of a loop used outside of it', () => {
  const bad = (line: string): string =>
    invalid(() => valuesOf(graphOf(...DOUBLING, line), 'y', { n: 2, x: 1 }));
  assert.match(bad('y Add w/x_in x'), /belongs to a loop and is used outside of it/);
  assert.match(bad('y Add w/x x'), /belongs to a loop and is used outside of it/);
  assert.match(bad('y Add w/x_switch x'), /without an Exit/);
  assert.match(bad('y Add w/limit x'), /Enter 'w\/limit' is used outside of its loop/);
  assert.match(bad('y Add w/x_next x'), /another node than the Merge of its loop/);
  assert.match(bad('y Identity w/cond'), /LoopCond 'w\/cond' is used as a value/);
});

test('an Enter of another frame inside a loop', () => {
  const lines = loopLines('w', 'n', 'x', ['w/k Enter@strange k', 'w/x_step Add w/x_in w/k']);
  assert.match(
    invalid(() => valuesOf(graphOf(...lines), 'w/x_out', { n: 2, x: 1, k: 1 })),
    /enters frame 'strange' and is used in frame 'w'/,
  );
});

test('a NextIteration without a loop', () => {
  assert.match(
    invalid(() => valuesOf(graphOf('y NextIteration x'), 'y', { x: 1 })),
    /NextIteration/,
  );
  assert.match(
    invalid(() => valuesOf(graphOf('m Merge x y', 'y NextIteration m'), 'm', { x: 1 })),
    /missing|expected an Enter/,
  );
});

test('loops inside each other are limited', () => {
  let body = ['l40/x_step Identity l40/x_in'];
  for (let i = 40; i > 0; i--) {
    const around = `l${i - 1}`;
    body = [
      `${around}/n Enter@${around} ${i > 1 ? `l${i - 2}/n` : 'n'}`,
      ...loopLines(`l${i}`, `${around}/n`, `${around}/x_in`, body),
      `${around}/x_step Identity l${i}/x_out`,
    ];
  }
  const graph = graphOf(...loopLines('l0', 'n', 'x', body));
  assert.match(
    errorText(() => valuesOf(graph, 'l0/x_out', { n: 1, x: 1 }), ErrorCode.Unimplemented),
    /nested more than 32 deep/,
  );
});
