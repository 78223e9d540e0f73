// Scattering into tensors. For repeated indices all values are added (min, max); when replacing,
// the last one wins. Source: tensorflow/core/kernels/scatter_nd_op.cc. Importer's worker thread.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import { numbersTensor } from '../../lower/tensors.js';
import { isFloating, type TensorValue } from '../../lower/values.js';
import { checkedTuples } from '../arithmetic/checks.js';
import { computable } from './attributes.js';

type Reduction = 'none' | 'add' | 'min' | 'max';

/** ONNX's ScatterND, which would count negative indices from the end. */
function scattered(
  cx: OpContext,
  into: TensorValue,
  indices: TensorValue,
  updates: TensorValue,
  reduction: Reduction,
): TensorValue {
  const checked = checkedTuples(cx, indices, cx.shapeOf(into), 'shape');
  return cx.op('ScatterND', [into, cx.cast(checked, 'int64'), updates], {
    attributes: { reduction: { string: reduction } },
  });
}

const scatterNd: Lowering = (cx) => {
  const [indices, updates, shape] = [cx.tensor(0), cx.tensor(1), cx.tensor(2)];
  const given = computable(cx, updates);
  const zero = numbersTensor(given.dtype === 'bool' ? 'int32' : given.dtype, [1], [0]);
  const zeros = cx.op('Expand', [cx.constant(zero), cx.cast(shape, 'int64')], {
    dtype: zero.dtype,
    shape: shape.ints?.map((dim) => dim) ?? unknownDims(shape),
  });
  const out = scattered(cx, zeros, indices, cx.cast(given, zero.dtype), 'add');
  return cx.cast(out, updates.dtype);
};

function unknownDims(shape: TensorValue): undefined[] | undefined {
  const rank = shape.shape?.[0];
  return rank === undefined ? undefined : Array.from({ length: rank }, () => undefined);
}

/** Serval's own operator: the runtime's propagates a NaN. */
function extreme(cx: OpContext, isMin: boolean): TensorValue {
  const [tensor, indices, updates] = [cx.tensor(0), cx.tensor(1), cx.tensor(2)];
  const checked = checkedTuples(cx, indices, cx.shapeOf(tensor), 'shape');
  const given = computable(cx, tensor);
  const [out] = cx.custom(
    'ScatterExtreme',
    [cx.cast(checked, 'int64'), cx.cast(updates, given.dtype), given],
    [{ dtype: given.dtype, shape: tensor.shape }],
    { smaller: { int: isMin ? 1 : 0 } },
  );
  return out === undefined ? cx.fail('has no output') : cx.cast(out, tensor.dtype);
}

function into(reduction: Reduction, negated = false): Lowering {
  return (cx) => {
    const [tensor, indices, updates] = [cx.tensor(0), cx.tensor(1), cx.tensor(2)];
    if (reduction === 'none') return scattered(cx, tensor, indices, updates, reduction);
    const isExtreme = reduction === 'min' || reduction === 'max';
    if (isExtreme && isFloating(tensor.dtype)) return extreme(cx, reduction === 'min');
    const given = computable(cx, updates);
    const change = negated ? cx.op('Neg', [given]) : given;
    return cx.cast(scattered(cx, computable(cx, tensor), indices, change, reduction), tensor.dtype);
  };
}

export const SCATTER: Operators = {
  ScatterNd: { lower: scatterNd },
  TensorScatterUpdate: { lower: into('none'), dtypes: 'any' },
  TensorScatterAdd: { lower: into('add') },
  TensorScatterSub: { lower: into('add', true) },
  TensorScatterMin: { lower: into('min') },
  TensorScatterMax: { lower: into('max') },
};
