// Shapes that contradict a TensorFlow signature. TensorFlow does not check fed shapes, so inputs
// that its kernels accept are served; inputs that they refuse are the request's fault, and the
// error has both shapes. Source: tensorflow/core/kernels/matmul_op_impl.h ("In[0] and In[1] has
// different ndims").
import assert from 'node:assert/strict';
import { after, before, describe, test, type TestContext } from 'node:test';
import type { ImportedModel } from '../../../ts/importers/tensorflow/imported.js';
import { numbersTensor, tensorNumbers } from '../../../ts/importers/tensorflow/lower/tensors.js';
import type { NodeDef } from '../../../ts/importers/tensorflow/types.js';
import {
  graphOf,
  lowered,
  modelOf,
  signature,
} from '../../unit/importers/tensorflow/lower/support.js';
import {
  constant,
  floats,
  node,
  shape,
  type,
} from '../../unit/importers/tensorflow/prepare/graphs.js';
import { EngineRunner } from './support/engine-run.js';

const FLOAT = { T: type('float') };
const DIMS = ['-1', '4'].map((size) => ({ size, name: '' }));
const X = { name: 'x:0', dtypeCode: 1, shape: { unknownRank: false, dims: DIMS } };

const fed = (dims: readonly (number | undefined)[]): NodeDef =>
  node('x', 'Placeholder', [], { dtype: type('float'), shape: shape([...dims]) });

describe('fed shapes', () => {
  let engine: EngineRunner;
  before(async () => {
    engine = await EngineRunner.open();
  });
  after(() => engine.close());

  const imported = (t: TestContext, nodes: readonly NodeDef[]): ImportedModel =>
    lowered(t, modelOf(nodes, { serving_default: signature({ x: X }, { y: 'y:0' }) }));
  const answer = async (model: ImportedModel, dims: readonly number[]) => {
    const values = Array.from({ length: dims.reduce((a, b) => a * b, 1) }, (_, i) => i);
    const feeds = new Map([['x', numbersTensor('float', dims, values)]]);
    const outputs = await engine.run(model, graphOf(model, 'serving_default'), feeds);
    const y = outputs.get('y');
    return y === undefined ? undefined : [y.shape, tensorNumbers(y)];
  };

  const weights = constant(
    'w',
    floats(
      Array.from({ length: 12 }, () => 1),
      [4, 3],
    ),
  );

  test('MatMul accepts matrices only, as its kernel does', async (t) => {
    for (const declared of [
      [undefined, 4],
      [undefined, undefined],
    ]) {
      const model = imported(t, [fed(declared), weights, node('y', 'MatMul', ['x', 'w'], FLOAT)]);
      assert.deepEqual(await answer(model, [1, 4]), [
        [1, 3],
        [6, 6, 6],
      ]);
      await assert.rejects(answer(model, [4]), {
        message:
          "InvalidArgument: MatMul: input 'x' of shape [4] where [-1,4] is declared: " +
          'expected 2 dims',
      });
      const message = /shape \[1,1,4\].* expected 2 dims$/;
      await assert.rejects(answer(model, [1, 1, 4]), { message });
    }
  });

  // Source: tensorflow/core/kernels/batch_matmul_op_impl.h ("In[0] ndims must be >= 2"),
  // tensorflow/core/kernels/bias_op.cc ("Input tensor must be at least 2D").
  for (const [op, w] of [
    ['BatchMatMul', weights],
    ['BatchMatMulV2', weights],
    ['BiasAdd', constant('w', floats([1, 1, 1, 1], [4]))],
  ] as const) {
    for (const between of [[], [node('a', 'Relu', ['x'], FLOAT)]]) {
      const which = between.length > 0 ? 'computed ones too' : 'fed';
      test(`${op} takes no vectors: ${which}`, async (t) => {
        const from = between[0]?.name ?? 'x';
        const model = imported(t, [
          fed([undefined, 4]),
          w,
          ...between,
          node('y', op, [from, 'w'], FLOAT),
        ]);
        const count = op === 'BiasAdd' ? 4 : 3;
        assert.deepEqual((await answer(model, [1, 4]))?.[0], [1, count]);
        if (op !== 'BatchMatMul') {
          // this one does not merge ranks
          assert.deepEqual((await answer(model, [2, 1, 4]))?.[0], [2, 1, count]);
        }
        await assert.rejects(answer(model, [4]), {
          message:
            `InvalidArgument: ${op}: input 'x' of shape [4] where [-1,4] is declared: ` +
            'expected 2 or more dims',
        });
      });
    }
  }

  test("a dim that the product refuses is the request's fault", async (t) => {
    const model = imported(t, [
      fed([undefined, 4]),
      weights,
      node('y', 'MatMul', ['x', 'w'], FLOAT),
    ]);
    await assert.rejects(answer(model, [2, 5]), {
      message: /^InvalidArgument: .*MatMul.*; inputs: 'x' \[2,5\] where \[-1,4\] is declared$/,
    });
  });

  test('runs inputs that the kernels accept, whatever is declared', async (t) => {
    const model = imported(t, [
      fed([undefined, 4]),
      constant('one', floats([1])),
      node('y', 'AddV2', ['x', 'one'], FLOAT),
    ]);
    assert.deepEqual(await answer(model, [3]), [[3], [1, 2, 3]]);
  });
});
