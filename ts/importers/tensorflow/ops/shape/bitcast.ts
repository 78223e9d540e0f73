// Bitcast. Source: tensorflow/core/ops/array_ops.cc. Importer's worker thread.
import type { Lowering, Operators } from '../../lower/context.js';
import { dtypeBytes } from '../../lower/values.js';
import type { Dtype, Shape } from '../../types.js';
import { typeNumber } from '../features/attributes.js';

const SAME_BITS: readonly (readonly Dtype[])[] = [
  ['int8', 'uint8', 'qint8', 'quint8'],
  ['int16', 'uint16', 'qint16', 'quint16'],
  ['int32', 'uint32', 'qint32'],
  ['int64', 'uint64'],
];

/** Types without fixed-size numbers here. */
const OTHERS: ReadonlySet<Dtype> = new Set(['bool', 'string', 'complex64', 'complex128']);

/**
 * Between integers of one size, uses the runtime's wrapping cast; else Serval's own operator: a
 * different element size removes or adds the last dim.
 */
const bitcast: Lowering = (cx) => {
  const value = cx.tensor(0);
  const dtype = cx.type('type');
  if (value.dtype === dtype) return value;
  if (SAME_BITS.some((group) => group.includes(value.dtype) && group.includes(dtype))) {
    return cx.cast(value, dtype);
  }
  const [from, to] = [dtypeBytes(value.dtype), dtypeBytes(dtype)];
  if (from === 0 || to === 0 || OTHERS.has(value.dtype) || OTHERS.has(dtype)) {
    cx.fail(`${value.dtype} to ${dtype} is not supported`);
  }
  const [out] = cx.custom('Bitcast', [value], [{ dtype, shape: resized(value.shape, from, to) }], {
    to: { int: typeNumber(dtype) },
  });
  return out ?? cx.fail('Bitcast has no output');

  function resized(shape: Shape, from: number, to: number): Shape {
    if (from === to || shape === undefined) return shape;
    if (from > to) return [...shape, from / to];
    const last = shape.at(-1);
    if (shape.length === 0 || (last !== undefined && last !== to / from)) {
      cx.fail(`${cx.describe(value)} cannot be cast to ${dtype}`);
    }
    return shape.slice(0, -1);
  }
};

export const BITCAST: Operators = {
  Bitcast: { lower: bitcast, dtypes: 'numeric', note: 'no complex types' },
};
