// The shapes and known integers that lowerings declare: later lowerings rely on them.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { bool, constant, int, lowerOne, tensor, text, type } from './lower-one.js';

const U = undefined;
const vector = (values: readonly number[]) => constant('int32', [values.length], values);
const scalar = (value: number) => constant('int32', [], [value]);
const x = tensor('float', [U, 3, 5]);

const shapes = (...given: Parameters<typeof lowerOne>) =>
  lowerOne(...given).values.map(({ shape }) => shape);

describe('shapes of results', () => {
  const y = tensor('float', [U, 5, 7]);
  const cases: readonly (readonly [string, Parameters<typeof lowerOne>, readonly unknown[]])[] = [
    ['broadcast sum', ['AddV2', [x, tensor('float', [4, 1, 1])]], [[4, 3, 5]]],
    ['sum with unknown rank', ['AddV2', [x, tensor('float', U)]], [U]],
    ['matrix product', ['BatchMatMulV2', [x, y]], [[U, 3, 7]]],
    [
      'adjoint matrix product',
      ['BatchMatMulV2', [x, tensor('float', [1, 7, 5])], { adj_y: bool(true) }],
      [[U, 3, 7]],
    ],
    ['einsum', ['Einsum', [x, y], { equation: text('bij,bjk->kib') }], [[7, 3, U]]],
    ['einsum with an ellipsis', ['Einsum', [x], { equation: text('...ij->j...') }], [[5, U]]],
    ['sum over one axis', ['Sum', [x, scalar(-1)]], [[U, 3]]],
    ['sum that keeps', ['Sum', [x, vector([0, 1])], { keep_dims: bool(true) }], [[1, 1, 5]]],
    ['sum over axes that are not known', ['Sum', [x, tensor('int32', [1])]], [U]],
    ['arg max', ['ArgMax', [x, scalar(1)]], [[U, 5]]],
    ['bits of narrower elements', ['Bitcast', [x], { type: type('uint8') }], [[U, 3, 5, 4]]],
    [
      'bits of wider elements',
      ['Bitcast', [tensor('uint8', [U, 8])], { type: type('double') }],
      [[U]],
    ],
    ['bits of as wide elements', ['Bitcast', [x], { type: type('int32') }], [[U, 3, 5]]],
    [
      'a slice at a place that is fed',
      ['XlaDynamicSlice', [x, tensor('int32', [3]), vector([1, 2, 5])]],
      [[1, 2, 5]],
    ],
    [
      'an update at a place that is fed',
      ['XlaDynamicUpdateSlice', [x, tensor('float', [1, 1, 5]), tensor('int32', [3])]],
      [[U, 3, 5]],
    ],
    ['reshape by one number', ['Reshape', [x, scalar(-1)]], [[U]]],
    ['reshape by no numbers', ['Reshape', [tensor('float', [U]), vector([])]], [[]]],
    ['reshape by a number that is fed', ['Reshape', [x, tensor('int32', [])]], [[U]]],
    ['transpose', ['Transpose', [x, vector([2, 0, 1])]], [[5, U, 3]]],
    ['gather', ['GatherV2', [x, tensor('int32', [2, U]), scalar(1)]], [[U, 2, U, 5]]],
    [
      'gather by rows',
      ['GatherV2', [x, tensor('int32', [U, 4]), scalar(1)], { batch_dims: int(1) }],
      [[U, 4, 5]],
    ],
    [
      'gather from a variable',
      ['ResourceGather', [x, tensor('int32', [U, 4])], { batch_dims: int(1) }],
      [[U, 4, 5]],
    ],
    [
      'strided slice',
      [
        'StridedSlice',
        [x, vector([0, 1]), vector([0, 0]), vector([1, 1])],
        { begin_mask: int(1), end_mask: int(1), shrink_axis_mask: int(2) },
      ],
      [[U, 5]],
    ],
    [
      'new axes',
      [
        'StridedSlice',
        [x, vector([0, 0]), vector([0, 0]), vector([1, 1])],
        { ellipsis_mask: int(1), new_axis_mask: int(2) },
      ],
      [[U, 3, 5, 1]],
    ],
    ['parts', ['Split', [scalar(2), x], { num_split: int(5) }], Array(5).fill([U, 3, 1])],
    [
      'sized parts',
      ['SplitV', [x, vector([2, -1]), scalar(2)], { num_split: int(2) }],
      [
        [U, 3, 2],
        [U, 3, 3],
      ],
    ],
    ['unpacked', ['Unpack', [x], { num: int(3), axis: int(1) }], Array(3).fill([U, 5])],
    ['packed', ['Pack', [x, x], { axis: int(-1) }], [[U, 3, 5, 2]]],
    ['joined', ['ConcatV2', [x, x, scalar(-1)]], [[U, 3, 10]]],
    ['padded', ['Pad', [x, constant('int32', [3, 2], [0, 0, 1, 1, 0, 2])]], [[U, 5, 7]]],
    [
      'one-hot',
      ['OneHot', [tensor('int32', [U, 2]), scalar(4), scalar(1), scalar(0)], { axis: int(1) }],
      [[U, 4, 2]],
    ],
    [
      'largest',
      ['TopKV2', [x, scalar(2)]],
      [
        [U, 3, 2],
        [U, 3, 2],
      ],
    ],
    ['rows picked', ['Select', [tensor('bool', [U]), x, x]], [[U, 3, 5]]],
    ['where', ['Where', [x]], [[U, 3]]],
  ];
  for (const [name, given, expected] of cases) {
    test(name, () => assert.deepEqual(shapes(...given), expected));
  }
});

describe('known integers', () => {
  const dims = lowerOne('Shape', [x]).values[0] ?? x;

  test('a shape is known as far as its dims are', () => {
    assert.deepEqual([dims.dtype, dims.ints], ['int32', [U, 3, 5]]);
  });
  test('they pass through casts', () => {
    const [wide] = lowerOne('Cast', [dims], { DstT: type('int64') }).values;
    assert.deepEqual([wide?.dtype, wide?.ints], ['int64', [U, 3, 5]]);
  });
  test('the parts of a shape are known', () => {
    const { values } = lowerOne('Unpack', [dims], { num: int(3), axis: int(0) });
    assert.deepEqual(
      values.map((one) => [one.shape, one.ints]),
      [
        [[], [U]],
        [[], [3]],
        [[], [5]],
      ],
    );
  });
  test('a reshape takes what is known', () => {
    const [shaped] = lowerOne('Reshape', [x, tensor('int32', [2], [U, 15])]).values;
    assert.deepEqual(shaped?.shape, [U, 15]);
  });
  test('a fill takes what is known', () => {
    assert.deepEqual(shapes('Fill', [tensor('int32', [2], [U, 15]), scalar(0)]), [[U, 15]]);
  });
  test('a constant cast stays a constant', () => {
    const { values, nodes } = lowerOne('Cast', [scalar(3)], { DstT: type('float') });
    assert.ok(values[0]?.constant !== undefined);
    assert.deepEqual(nodes, []);
  });
});

describe('nodes', () => {
  test('adds nothing for operators that change nothing', () => {
    assert.deepEqual(lowerOne('Transpose', [x, vector([0, 1, 2])]).nodes, []);
    assert.deepEqual(lowerOne('Pad', [x, constant('int32', [3, 2], Array(6).fill(0))]).nodes, []);
    assert.deepEqual(lowerOne('Sum', [x, vector([])]).nodes, []);
  });
  test('integers known not to be 0 or -1 are divided without checks', () => {
    const { nodes } = lowerOne('FloorMod', [tensor('int64', [2]), constant('int64', [], [7])]);
    assert.ok(!nodes.includes('Gather'));
  });
});
