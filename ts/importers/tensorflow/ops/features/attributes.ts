// Attributes of Serval's own operators: byte strings in lists, element types, 64-bit integers.
// Importer's worker thread.
import { ELEMENT_TYPES, type OnnxAttribute } from '../../../onnx/builder.js';
import type { OpContext } from '../../lower/context.js';
import { tensorBytes } from '../../lower/tensors.js';
import { elementType, type TensorValue } from '../../lower/values.js';
import type { Dtype } from '../../types.js';

/** "3:abc0:2:hi", as native/operators/operator.h parses it. */
export function netstrings(values: readonly (Uint8Array | string)[]): OnnxAttribute {
  const parts = values.flatMap((value) => {
    const bytes = Buffer.from(value);
    return [Buffer.from(`${bytes.length}:`), bytes];
  });
  return { string: Buffer.concat(parts) };
}

/** ONNX's number of an element type. */
export const typeNumber = (dtype: Dtype): number => ELEMENT_TYPES[elementType(dtype)];

export const typeNumbers = (dtypes: readonly Dtype[]): OnnxAttribute => ({
  ints: dtypes.map(typeNumber),
});

/** An integer attribute with full 64-bit precision. */
export function wideInt(cx: OpContext, name: string): bigint {
  const value = cx.node.attributes.get(name);
  return value?.kind === 'int' ? value.value : cx.fail(`attribute ${name} is missing`);
}

/** The elements of a constant int64 input with full 64-bit precision. */
export function wideInts(cx: OpContext, index: number, what: string): bigint[] {
  const { constant } = cx.tensor(index);
  if (constant === undefined || constant.dtype !== 'int64') {
    return cx.fail(`${what} (input ${index}) must be a constant`);
  }
  const bytes = tensorBytes(constant);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: bytes.byteLength / 8 }, (_, i) => view.getBigInt64(i * 8, true));
}

/** The constant strings of an input. */
export function requireStrings(cx: OpContext, index: number, what: string): readonly Uint8Array[] {
  return cx.strings(index) ?? cx.fail(`${what} (input ${index}) must be a constant`);
}

/** A value in a type that Serval's kernels support: 16-bit floats as float. */
export function computable(cx: OpContext, value: TensorValue): TensorValue {
  return value.dtype === 'half' || value.dtype === 'bfloat16' ? cx.cast(value, 'float') : value;
}
