// Checks of inputs that TensorFlow's kernels refuse but ONNX's operators accept: out-of-range
// indices, negative sizes. Serval's operators check them during a request, unless they are
// constants known to be valid. Importer's worker thread.
import type { OpContext } from '../../lower/context.js';
import type { TensorValue } from '../../lower/values.js';

/** Texts for an index below 0 and one that is not below the bound: see native/operators/strict. */
export interface IndexTexts {
  readonly below?: string;
  readonly beyond?: string;
}

interface IndexOptions extends IndexTexts {
  /** All indices below 0 are accepted. */
  readonly isNegativeOk?: boolean;
}

/** Converts to int32 or int64, the types that the checks read. */
const asIndices = (cx: OpContext, value: TensorValue): TensorValue =>
  value.dtype === 'int32' || value.dtype === 'int64' ? value : cx.cast(value, 'int64');

/** The size of an axis, int64 of rank 1 with one element. */
export function sizeOfAxis(cx: OpContext, value: TensorValue, axis: number): TensorValue {
  const known = value.shape?.[axis];
  if (known !== undefined) return cx.int64s([known]);
  return cx.slice(cx.shapeOf(value), [axis], [axis + 1], [0]);
}

/** The indices, checked to be at least 0 and below `bound` (int64, one element). */
export function checkedIndices(
  cx: OpContext,
  given: TensorValue,
  bound: TensorValue,
  options: IndexOptions = {},
): TensorValue {
  const indices = asIndices(cx, given);
  const isNegativeOk = options.isNegativeOk === true;
  const most = bound.ints?.[0];
  const known = indices.ints;
  if (known?.every((one) => one !== undefined && (one >= 0 || isNegativeOk))) {
    if (most !== undefined && known.every((one) => (one ?? 0) < most)) return indices;
  }
  const { facts } = cx.builder.model;
  if (most !== undefined && facts.isBelow(given.name ?? '', most)) return indices;
  const { below, beyond } = options;
  const [out] = cx.custom(
    'CheckIndices',
    [bound, indices],
    [{ dtype: indices.dtype, shape: indices.shape }],
    {
      ...(below === undefined ? {} : { below: { string: below } }),
      ...(beyond === undefined ? {} : { beyond: { string: beyond } }),
      ...(isNegativeOk ? { negative_ok: { int: 1 } } : {}),
    },
  );
  return out ?? cx.fail('CheckIndices has no output');
}

/** Indices whose rows must each name an element or a slice of a tensor of this shape (int64). */
export function checkedTuples(
  cx: OpContext,
  given: TensorValue,
  shape: TensorValue,
  of: string,
): TensorValue {
  const indices = asIndices(cx, given);
  const name = of === 'param shape' ? { node: { string: cx.node.name } } : {};
  const [out] = cx.custom(
    'CheckTuples',
    [shape, indices],
    [{ dtype: indices.dtype, shape: indices.shape }],
    { of: { string: of }, ...name },
  );
  return out ?? cx.fail('CheckTuples has no output');
}

/**
 * `value`, which fails the request if a flag of `bad` is set, with `text`, in which {0}, {1} ...
 * are the numbers of `shown`.
 */
export function unlessAny(
  cx: OpContext,
  bad: TensorValue,
  value: TensorValue,
  text: string,
  shown: TensorValue = cx.int64s([]),
): TensorValue {
  const [out] = cx.custom(
    'Require',
    [bad, shown, value],
    [{ dtype: value.dtype, shape: value.shape }],
    { text: { string: text } },
  );
  return out ?? cx.fail('Require has no output');
}
