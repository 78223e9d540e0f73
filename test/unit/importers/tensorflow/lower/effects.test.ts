// Which nodes change state, or follow one that does: the reason for keeping control edges.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Effects } from '../../../../../ts/importers/tensorflow/lower/effects.js';
import type {
  Attribute,
  FlatFunction,
  FlatGraph,
  FlatNode,
} from '../../../../../ts/importers/tensorflow/types.js';
import { func, list, ref } from '../prepare/graphs.js';

function node(
  name: string,
  op: string,
  inputs: readonly string[] = [],
  control: readonly string[] = [],
  attributes: Readonly<Record<string, Attribute>> = {},
): FlatNode {
  return {
    name,
    op,
    control,
    attributes: new Map(Object.entries(attributes)),
    inputs: inputs.map((input) => ({ node: input, output: 0 })),
  };
}

const graph = (...nodes: FlatNode[]): FlatGraph => ({
  nodes: new Map(nodes.map((one) => [one.name, one])),
});
const body = (name: string, ...nodes: FlatNode[]): FlatFunction => ({
  ...graph(...nodes),
  name,
  args: [],
  returns: [],
  control: [],
});

function effectsOf(of: FlatGraph, ...functions: FlatFunction[]): string[] {
  const effects = new Effects((one) => {
    const found = functions.find(({ name }) => name === one.name);
    if (found === undefined) throw new Error(`test: no function ${one.name}`);
    return found;
  });
  assert.equal(effects.of(of), effects.of(of), 'found once');
  return [...effects.of(of)].sort();
}

test('finds no effects in a graph without assignments', () => {
  assert.deepEqual(
    effectsOf(
      graph(
        node('v', 'VarHandleOp'),
        node('r', 'ReadVariableOp', ['v'], ['v']),
        node('p', 'Print', ['r']),
      ),
    ),
    [],
  );
});

test('finds an assignment and all nodes after it by data or control', () => {
  const ops = ['Assign', 'AssignAdd', 'AssignSubVariableOp', 'ResourceScatterAdd', 'CountUpTo'];
  for (const op of ops) {
    assert.deepEqual(
      effectsOf(
        graph(
          node('v', 'VarHandleOp'),
          node('before', 'ReadVariableOp', ['v']),
          node('set', op, ['v', 'before']),
          node('done', 'NoOp', [], ['set']),
          node('after', 'ReadVariableOp', ['v'], ['done']),
          node('y', 'Neg', ['after']),
          node('other', 'Neg', ['before']),
        ),
      ),
      ['after', 'done', 'set', 'y'],
      op,
    );
  }
});

test('finds assignments inside branches, loops and nested functions', () => {
  const inner = body('inner', node('set', 'AssignVariableOp'));
  const middle = body(
    'middle',
    node('if', 'If', [], [], {
      then_branch: func('inner'),
      else_branch: func('pure'),
    }),
  );
  const pure = body('pure', node('n', 'Neg'));
  assert.deepEqual(
    effectsOf(
      graph(
        node('loop', 'While', [], [], { body: func('middle'), cond: func('pure') }),
        node('calm', 'While', [], [], { body: func('pure'), cond: func('pure') }),
        node('case', 'Case', [], [], {
          branches: list({ functions: [ref('pure'), ref('inner')] }),
        }),
        node('end', 'Neg', ['loop']),
      ),
      inner,
      middle,
      pure,
    ),
    ['case', 'end', 'loop'],
  );
});

test('terminates on a cycle', () => {
  assert.deepEqual(
    effectsOf(
      graph(node('set', 'AssignAdd', ['b']), node('a', 'Neg', ['set']), node('b', 'Neg', ['a'])),
    ),
    ['a', 'b', 'set'],
  );
});
