// Losses of classifiers and their gradients. Source: tensorflow/core/kernels/xent_op.h,
// sparse_xent_op.h. Importer's worker thread.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import { broadcastShapes, type TensorValue } from '../../lower/values.js';
import { inFloatAll } from '../arithmetic/algebra.js';
import { checkedIndices } from '../arithmetic/checks.js';

const NO_CLASS =
  'Received a label value of {index} which is outside the valid range of [0, {bound}).';
const CLASSES = { attributes: { axis: { int: 1 } } };

/** The sum over the classes, negated. */
const minusSum = (cx: OpContext, x: TensorValue): TensorValue =>
  cx.op('Neg', [
    cx.op('ReduceSum', [x, cx.int64s([1])], {
      shape: x.shape?.slice(0, 1),
      attributes: { keepdims: { int: 0 } },
    }),
  ]);

/** Loss and gradient with respect to logits, from the log probabilities of the classes. */
const both = (cx: OpContext, logits: TensorValue, labels: TensorValue): TensorValue[] => {
  const logs = cx.op('LogSoftmax', [logits], CLASSES);
  const shape = broadcastShapes(logits.shape, labels.shape);
  const terms = cx.op('Mul', [labels, logs], { shape });
  const gradient = cx.op('Sub', [cx.op('Softmax', [logits], CLASSES), labels], { shape });
  return [minusSum(cx, terms), gradient];
};

/** Logits and labels of every class, [batch, classes]; either may be one row for all. */
const softmaxLoss: Lowering = (cx) => {
  const inputs = cx.tensors();
  return inFloatAll(cx, inputs, (given) => {
    const [logits, labels] = given;
    if (logits === undefined || labels === undefined) return cx.fail('has no inputs');
    for (const one of inputs) cx.requireRank(one, 2, 2);
    const spread = cx.op('Expand', [logits, cx.shapeOf(labels)], {
      shape: broadcastShapes(logits.shape, labels.shape),
    });
    return both(cx, spread, labels);
  });
};

/** Each row's class is given by number. An invalid class fails the request, as on a CPU. */
const sparseLoss: Lowering = (cx) => {
  const [logits, numbers] = [cx.tensor(0), cx.cast(cx.tensor(1), 'int64')];
  cx.requireRank(logits, 2, 2);
  return inFloatAll(cx, [logits], ([given]) => {
    if (given === undefined) return cx.fail('has no inputs');
    const count = cx.op('Gather', [cx.shapeOf(logits), cx.int64s([1])], {
      dtype: 'int64',
      shape: [1],
      attributes: { axis: { int: 0 } },
    });
    const known = checkedIndices(cx, numbers, count, { below: NO_CLASS, beyond: NO_CLASS });
    const classes = cx.op(
      'Range',
      [cx.scalar('int64', 0), cx.squeeze(count, [0]), cx.scalar('int64', 1)],
      { dtype: 'int64', shape: [logits.shape?.[1]] },
    );
    const column = cx.unsqueeze({ ...known, shape: known.shape ?? [undefined] }, [1]);
    const isClass = cx.op('Equal', [column, classes], {
      dtype: 'bool',
      shape: [numbers.shape?.[0], logits.shape?.[1]],
    });
    return both(cx, given, cx.cast(isClass, given.dtype));
  });
};

export const LOSSES: Operators = {
  SoftmaxCrossEntropyWithLogits: { lower: softmaxLoss, dtypes: 'floating' },
  SparseSoftmaxCrossEntropyWithLogits: {
    lower: sparseLoss,
    dtypes: 'floating',
    note: 'a label out of range fails the request',
  },
};
