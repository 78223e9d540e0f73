// Random numbers: those that matter cause a warning or a refusal, the others are removed.
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import type { ImportedModel } from '../../../../../ts/importers/tensorflow/imported.js';
import type { FunctionDef, NodeDef } from '../../../../../ts/importers/tensorflow/types.js';
import {
  constant,
  floats,
  fun,
  func,
  graph,
  int32s,
  node,
  shape,
  type,
  types,
} from '../prepare/graphs.js';
import { graphOf, lowered, modelOf, opsOf, signature } from './support.js';

const FLOAT = { T: type('float') };
const X = node('x', 'Placeholder', [], { dtype: type('float'), shape: shape([undefined]) });
const UNIFORM: readonly NodeDef[] = [
  X,
  node('dims', 'Shape', ['x'], { T: type('float'), out_type: type('int32') }),
  node('u', 'RandomUniform', ['dims'], { dtype: type('float'), T: type('int32') }),
];
const DRAWS = /Random|Multinomial/;

/** Serves node y. */
function served(t: TestContext, nodes: readonly NodeDef[], allowRandom?: boolean): ImportedModel {
  const source = modelOf(nodes, { s: signature({ x: 'x:0' }, { y: 'y:0' }) });
  return lowered(t, source, undefined, allowRandom === undefined ? {} : { allowRandom });
}

/** The operators of a model that must be served without any random numbers. */
function undrawn(t: TestContext, nodes: readonly NodeDef[]): string[] {
  const model = served(t, nodes);
  assert.deepEqual([model.blocked, model.warnings], [[], []]);
  const ops = opsOf(graphOf(model, 's'));
  assert.doesNotMatch(ops.join(), DRAWS);
  return ops;
}

describe('an output that depends on a draw', () => {
  const noisy = [...UNIFORM, node('y', 'AddV2', ['x', 'u'], FLOAT)];

  test('is refused, where that is asked for, by the names of operator, node and flag', (t) => {
    const [blocked] = served(t, noisy, false).blocked;
    const [problem, ...others] = blocked?.problems ?? [];
    assert.deepEqual([problem?.op, problem?.node, others], ['RandomUniform', 'u', []]);
    assert.match(problem?.reason ?? '', /--allow-random=false .*serval\.allow_random/);
  });

  test('is served with one warning that names its signatures and nodes', (t) => {
    const again = node('v', 'RandomUniform', ['dims'], { dtype: type('float'), T: type('int32') });
    const more = [...noisy, again];
    const source = modelOf([...more, node('z', 'AddV2', ['y', 'v'], FLOAT)], {
      one: signature({ x: 'x:0' }, { y: 'y:0' }),
      two: signature({ x: 'x:0' }, { y: 'z:0' }),
    });
    const model = lowered(t, source);
    assert.ok(opsOf(graphOf(model, 'one')).includes('RandomUniformLike'));
    assert.equal(model.warnings.length, 1);
    assert.match(
      model.warnings.join(),
      /'one' by RandomUniform 'u', signature 'two' by RandomUniform '[uv]' and 1 more; .*=false/,
    );
  });

  test('has no more digits than TensorFlow draws, so that 1 + u stays below 2', (t) => {
    assert.ok(opsOf(graphOf(served(t, noisy), 's')).includes('Floor'));
  });

  test('does not block the signatures beside it', (t) => {
    const source = modelOf([...noisy, node('z', 'Neg', ['x'], FLOAT)], {
      drawn: signature({ x: 'x:0' }, { y: 'y:0' }),
      plain: signature({ x: 'x:0' }, { z: 'z:0' }),
    });
    const model = lowered(t, source, undefined, { allowRandom: false });
    assert.deepEqual(
      [model.graphs.map((one) => one.signature), model.blocked.map((one) => one.signature)],
      [['plain'], ['drawn']],
    );
  });

  for (const [op, more] of [
    ['RandomStandardNormal', {}],
    ['StatelessRandomUniform', { Tseed: type('int32') }],
  ] as const) {
    test(`by ${op}`, (t) => {
      const seed = op === 'RandomStandardNormal' ? [] : ['seed'];
      const nodes = [
        X,
        UNIFORM[1] as NodeDef,
        constant('seed', int32s([1, 2], [2])),
        node('u', op, ['dims', ...seed], { dtype: type('float'), T: type('int32'), ...more }),
        node('y', 'AddV2', ['x', 'u'], FLOAT),
      ];
      assert.equal(served(t, nodes, false).blocked[0]?.problems[0]?.op, op);
    });
  }

  test('inside of a branch that a request chooses', (t) => {
    const flag = node('on', 'Placeholder', [], { dtype: type('bool'), shape: shape([]) });
    const body = (name: string, nodes: readonly NodeDef[], out: string): FunctionDef =>
      fun(name, { inputs: ['v'], nodes, returns: { out } });
    const shapeOf = node('d', 'Shape', ['v'], { T: type('float'), out_type: type('int32') });
    const draw = node('w', 'RandomUniform', ['d:output:0'], {
      dtype: type('float'),
      T: type('int32'),
    });
    const nodes = [
      X,
      flag,
      node('y', 'If', ['on', 'x'], {
        Tcond: type('bool'),
        Tin: types('float'),
        Tout: types('float'),
        then_branch: func('noisy'),
        else_branch: func('still'),
      }),
    ];
    const functions = [
      body('noisy', [shapeOf, draw], 'w:output:0'),
      body('still', [node('n', 'Neg', ['v'], FLOAT)], 'n:y:0'),
    ];
    const info = { name: 'on:0', dtypeCode: 10 };
    const signatures = { s: signature({ x: 'x:0', on: info }, { y: 'y:0' }) };
    const source = graph(nodes, ...functions);
    const model = lowered(t, modelOf(nodes, signatures, { graph: source }), undefined, {
      allowRandom: false,
    });
    assert.equal(model.blocked[0]?.problems[0]?.op, 'RandomUniform');
  });
});

describe('a draw whose value does not matter', () => {
  const keep = (value: number): NodeDef[] => [
    constant('kept', floats([value])),
    node('keep', 'PlaceholderWithDefault', ['kept'], { dtype: type('float'), shape: shape([]) }),
  ];

  test('is that of a signature that is not asked for it, or asks its shape', (t) => {
    assert.deepEqual(undrawn(t, [...UNIFORM, node('y', 'Neg', ['x'], FLOAT)]), ['Neg', 'Identity']);
    const sized = [
      ...UNIFORM,
      node('n', 'Size', ['u'], { T: type('float'), out_type: type('int32') }),
      node('y', 'Cast', ['n'], { SrcT: type('int32'), DstT: type('float') }),
    ];
    assert.deepEqual(served(t, sized).blocked, []);
  });

  test("is TensorFlow 1's dropout with keep_prob 1", (t) => {
    const dropout = (value: number): NodeDef[] => [
      ...UNIFORM,
      ...keep(value),
      node('moved', 'Add', ['keep', 'u'], FLOAT),
      node('mask', 'Floor', ['moved'], FLOAT),
      node('wide', 'RealDiv', ['x', 'keep'], FLOAT),
      node('y', 'Mul', ['wide', 'mask'], FLOAT),
    ];
    undrawn(t, dropout(1));
    assert.equal(served(t, dropout(0.5), false).blocked.length, 1);
  });

  test('is later dropout of rate 1 - keep_prob', (t) => {
    const dropout = (value: number): NodeDef[] => [
      ...UNIFORM,
      ...keep(value),
      constant('one', floats([1])),
      node('rate', 'Sub', ['one', 'keep'], FLOAT),
      node('scaled', 'Mul', ['u', 'one'], FLOAT),
      node('mask', 'GreaterEqual', ['scaled', 'rate'], FLOAT),
      constant('zero', floats([0])),
      node('y', 'SelectV2', ['mask', 'x', 'zero'], FLOAT),
    ];
    undrawn(t, dropout(1));
    assert.equal(served(t, dropout(0.9), false).blocked.length, 1);
  });

  for (const [op, first, second, answer] of [
    ['Less', 'u', 1, true],
    ['Less', 'u', 0, false],
    ['Less', 'u', 0.5, undefined],
    ['LessEqual', 'u', -0.5, false],
    ['LessEqual', 'u', 0, undefined],
    ['LessEqual', 'u', 1, true],
    ['Greater', 'u', 1, false],
    ['Greater', 'u', 0, undefined],
    ['Greater', 'u', -1, true],
    ['GreaterEqual', 'u', 0, true],
    ['GreaterEqual', 'u', 1, false],
    ['Less', -1, 'u', true],
    ['Less', 0, 'u', undefined],
    ['LessEqual', 0, 'u', true],
    ['Greater', 1, 'u', true],
    ['GreaterEqual', 0, 'u', undefined],
  ] as const) {
    const known = answer === undefined ? 'not known' : `${answer}`;
    test(`${first} ${op} ${second} is ${known}`, (t) => {
      const limit = typeof first === 'number' ? first : (second as number);
      const sides = [first, second].map((one) => (one === 'u' ? 'u' : 'c'));
      const nodes = [
        ...UNIFORM,
        constant('c', floats([limit])),
        node('mask', op, sides, FLOAT),
        node('y', 'Cast', ['mask'], { SrcT: type('bool'), DstT: type('float') }),
      ];
      if (answer === undefined) assert.equal(served(t, nodes, false).blocked.length, 1);
      else assert.ok(undrawn(t, nodes).includes('Expand'));
    });
  }
});
