// Complex tensors during lowering: a pair of real ones (docs/decisions/0018). Which nodes have
// them, and splitting constants. Importer's worker thread.
import { DATA_TYPES } from '../../../model/datatype.js';
import type { Dtype, FlatNode, Tensor } from '../types.js';
import type { Lowering } from './context.js';
import { constantValue } from './graph-builder.js';
import { tensorBytes } from './tensors.js';
import type { ComplexValue, TensorValue, Value } from './values.js';

export type ComplexDtype = ComplexValue['dtype'];

export const isComplexDtype = (dtype: Dtype): dtype is ComplexDtype =>
  DATA_TYPES[dtype].kind === 'complex';

/** The type of the two parts; other types are returned unchanged. */
export function partDtype(dtype: Dtype): Dtype {
  if (!isComplexDtype(dtype)) return dtype;
  return dtype === 'complex64' ? 'float' : 'double';
}

export const complexOf = (dtype: Dtype): ComplexDtype =>
  dtype === 'double' ? 'complex128' : 'complex64';

/** A complex value of two parts with the same shape. */
export const complexValue = (real: TensorValue, imaginary: TensorValue): ComplexValue => ({
  kind: 'complex',
  dtype: complexOf(real.dtype),
  real,
  imaginary,
});

/** Whether a node works on complex tensors: some input is complex, or a cast makes one. */
export function isComplexNode(node: FlatNode, inputs: readonly Value[]): boolean {
  if (inputs.some((one) => one.kind === 'complex')) return true;
  const target = node.attributes.get('DstT');
  return target?.kind === 'type' && isComplexDtype(target.value);
}

export const refuseComplex: Lowering = (cx) => {
  const given = cx.inputs.find((one) => one.kind === 'complex');
  return cx.fail(`of ${given?.dtype ?? 'complex'} tensors is not supported`);
};

/** A constant of complex numbers as its two parts; other values unchanged. */
export function complexConstant(value: Value): Value {
  if (value.kind !== 'tensor' || !isComplexDtype(value.dtype)) return value;
  const { constant, dtype } = value;
  if (constant === undefined) return value;
  const part = (index: 0 | 1): TensorValue => constantValue(partOf(constant, dtype, index));
  return complexValue(part(0), part(1));
}

function partOf(tensor: Tensor, dtype: ComplexDtype, index: 0 | 1): Tensor {
  const of = partDtype(dtype);
  const width = DATA_TYPES[of].bytes;
  const { shape, data } = tensor;
  if (data.kind === 'fill') {
    const element = data.element.slice(index * width, (index + 1) * width);
    return { dtype: of, shape, data: { kind: 'fill', element } };
  }
  const pairs = tensorBytes(tensor);
  const bytes = new Uint8Array(pairs.length / 2);
  for (let at = 0; at < bytes.length; at += width) {
    const from = 2 * at + index * width;
    bytes.set(pairs.subarray(from, from + width), at);
  }
  return { dtype: of, shape, data: { kind: 'bytes', bytes } };
}
