// Refusals of lowerings, each with a reason that states what is wrong.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { constant, int, ints, refusal, tensor, text, type } from './lower-one.js';

const vector = (values: readonly number[]) => constant('int32', [values.length], values);
const scalar = (value: number) => constant('int32', [], [value]);
const x = tensor('float', [2, 3]);

describe('refusals', () => {
  const cases: readonly (readonly [string, string, () => string])[] = [
    [
      'a constant divisor of 0',
      'divides by zero',
      () => refusal('FloorDiv', [tensor('int32', [2]), vector([1, 0])]),
    ],
    [
      'a reduction of an axis that is not there',
      'axis 2 is out of range for rank 2',
      () => refusal('Sum', [x, vector([2])]),
    ],
    ['axes that repeat', 'axes [1,-1] repeat', () => refusal('Max', [x, vector([1, -1])])],
    [
      'the mean of uint64',
      'uint64 is not supported',
      () => refusal('Mean', [tensor('uint64', [2]), scalar(0)]),
    ],
    [
      'a bit cast of what is no whole element',
      'uint8 [2,3] cannot be cast to int32',
      () => refusal('Bitcast', [tensor('uint8', [2, 3])], { type: type('int32') }),
    ],
    [
      'a bit cast of complex numbers',
      'complex64 to double is not supported',
      () => refusal('Bitcast', [tensor('complex64', [4])], { type: type('double') }),
    ],
    [
      'a cast to a type that is not served',
      'tensors of float8_e4m3fnuz are not supported',
      () => refusal('Cast', [x], { DstT: { kind: 'unserved type', value: 'float8_e4m3fnuz' } }),
    ],
    [
      'a cast of integers to 8 bits of a float',
      'int32 to float8_e5m2 is not supported',
      () =>
        refusal('Cast', [tensor('int32', [2])], {
          DstT: { kind: 'unserved type', value: 'float8_e5m2' },
        }),
    ],
    [
      'a slice that is larger than its tensor',
      'size_indices [1,4] exceed float [2,3]',
      () => refusal('XlaDynamicSlice', [x, tensor('int32', [2]), vector([1, 4])]),
    ],
    [
      'an update of another rank',
      'update has 1 dims, expected 2 as float [2,3] has',
      () => refusal('XlaDynamicUpdateSlice', [x, tensor('float', [3]), tensor('int32', [2])]),
    ],
    [
      'a reshape to a matrix of sizes',
      'shape: expected a vector, got int32 [1,2]',
      () => refusal('Reshape', [x, constant('int32', [1, 2], [3, 2])]),
    ],
    [
      'a cast of strings',
      'string cannot be cast to float',
      () => refusal('Cast', [tensor('string', [4])], { DstT: type('float') }),
    ],
    [
      'a constant index below 0',
      'index -1 is below 0',
      () => refusal('Gather', [x, vector([0, -1])]),
    ],
    [
      'parts that do not divide',
      'axis 1 of float [2,3] in 2 parts',
      () => refusal('Split', [scalar(1), x], { num_split: int(2) }),
    ],
    [
      'another number of parts',
      'axis 0 of float [2,3] in 3 parts',
      () => refusal('Unpack', [x], { num: int(3), axis: int(0) }),
    ],
    [
      'a squeeze of an axis that is not 1',
      'axis 0 of float [2,3]: expected a size of 1',
      () => refusal('Squeeze', [x], { squeeze_dims: ints([0]) }),
    ],
    [
      'a permutation that repeats',
      'perm [0,0] does not fit float [2,3]',
      () => refusal('Transpose', [x, vector([0, 0])]),
    ],
    [
      'a permutation of another rank',
      'axis 2 is out of range for rank 2',
      () => refusal('Transpose', [x, vector([0, 1, 2])]),
    ],
    [
      'a permutation that is not known of an unknown rank',
      'perm (input 1) must be a constant where the rank is not known',
      () => refusal('Transpose', [tensor('float', undefined), tensor('int32', [undefined])]),
    ],
    [
      'coordinates in dims of unknown number',
      'the number of dims (input 1) is not known',
      () => refusal('UnravelIndex', [vector([1]), tensor('int32', [undefined])]),
    ],
    [
      'a sparse division of integers',
      'int32 is not supported',
      () =>
        refusal('SparseDenseCwiseDiv', [
          tensor('int64', [2, 1]),
          vector([1, 2]),
          tensor('int64', [1]),
          vector([3]),
        ]),
    ],
    [
      'a dense tensor of a higher rank than the sparse one',
      'dense input: expected a rank of at most 1, that of the sparse one, got 2',
      () =>
        refusal('SparseDenseCwiseMul', [
          tensor('int64', [2, 1]),
          tensor('float', [2]),
          tensor('int64', [1]),
          x,
        ]),
    ],
    [
      'counts of rank 3',
      'a sparse tensor of rank 3: expected 1 or 2',
      () =>
        refusal('SparseCountSparseOutput', [
          tensor('int64', [2, 3]),
          vector([1, 2]),
          tensor('int64', [3]),
          vector([]),
        ]),
    ],
    [
      'a slice outside',
      'begin [0,2] and size [2,2] are outside of float [2,3]',
      () => refusal('Slice', [x, vector([0, 2]), vector([2, 2])]),
    ],
    [
      'too many indices',
      '3 indices exceed the rank of float [2,3]',
      () => refusal('StridedSlice', [x, vector([0, 0, 0]), vector([1, 1, 1]), vector([1, 1, 1])]),
    ],
    [
      'a stride of 0',
      'a stride is 0',
      () => refusal('StridedSlice', [x, vector([0]), vector([1]), vector([0])]),
    ],
    [
      'strides that are not known',
      'strides (input 3) must be a constant',
      () => refusal('StridedSlice', [x, vector([0]), vector([1]), tensor('int32', [1])]),
    ],
    [
      'negative padding',
      'padding -1 is below 0',
      () => refusal('Pad', [x, constant('int32', [2, 2], [0, -1, 0, 0])]),
    ],
    [
      'a vector in a matrix product',
      'input 1: expected a matrix, got float [3]',
      () => refusal('MatMul', [x, tensor('float', [3])]),
    ],
    [
      'an equation of another number of inputs',
      "equation 'ij,jk->ik': expected 1 inputs and an output",
      () => refusal('Einsum', [x], { equation: text('ij,jk->ik') }),
    ],
    [
      'a band the wrong way round',
      'k [1,0] is not a band',
      () => refusal('MatrixDiagPartV3', [x, vector([1, 0]), constant('float', [], [0])]),
    ],
    [
      'one-hot of unknown rank',
      'the rank of its indices is not known',
      () => refusal('OneHot', [tensor('int32', undefined), scalar(3), x, x]),
    ],
  ];
  for (const [name, reason, refuse] of cases) {
    test(name, () => assert.equal(refuse(), reason));
  }
});
