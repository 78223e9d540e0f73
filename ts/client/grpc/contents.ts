// Typed lists of numbers in protobuf messages: V2's InferTensorContents and TensorFlow's
// TensorProto. Pure; Node only, any thread.
import { textOf } from '../core/elements.js';
import type { INFER_TENSOR_CONTENTS } from '../../protobuf/generated/inference-fields.js';
import type { WireReader } from '../../protobuf/reader.js';

/** A varint as an int64. */
export const signed = ({ low, high }: WireReader): bigint =>
  BigInt.asIntN(64, (BigInt(high) << 32n) | BigInt(low));

/** Adds the elements of one occurrence of a list of floats or doubles. */
export function addFloats(values: unknown[], reader: WireReader, size: 4 | 8): void {
  const bytes = reader.fixed(size);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < bytes.length; at += size) {
    values.push(size === 4 ? view.getFloat32(at, true) : view.getFloat64(at, true));
  }
}

/** The elements of InferTensorContents, of whose lists only the datatype's is set. */
export function contentValues(
  reader: WireReader,
  fields: typeof INFER_TENSOR_CONTENTS,
  datatype: string,
): unknown[] {
  const values: unknown[] = [];
  while (reader.next()) {
    if (reader.field === fields.bytesContents) values.push(textOf(reader.view()));
    else if (reader.field === fields.fp32Contents) addFloats(values, reader, 4);
    else if (reader.field === fields.fp64Contents) addFloats(values, reader, 8);
    else {
      const isUnsigned = datatype.startsWith('U');
      reader.varints((one) => {
        const value = signed(one);
        values.push(
          datatype === 'BOOL' ? value !== 0n : isUnsigned ? BigInt.asUintN(64, value) : value,
        );
      });
    }
  }
  return values;
}
