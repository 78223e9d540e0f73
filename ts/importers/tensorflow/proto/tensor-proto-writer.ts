// Writes a constant as a TensorProto: raw content, or string values. Any thread; pure.
// Source: tensorflow/core/framework/tensor.proto.
import { ProtobufWriter } from '../../../protobuf/writer.js';
import { tensorBytes, tensorStrings } from '../lower/tensors.js';
import type { Tensor } from '../types.js';
import { codeOfDtype } from '../../../model/datatype.js';

/** Errors: those of reading the elements if they are in a file. */
export function encodeTensorProto(tensor: Tensor): Uint8Array {
  const out = new ProtobufWriter();
  out.varint(1, codeOfDtype(tensor.dtype));
  out.message(2, (shape) => {
    for (const dim of tensor.shape) shape.message(2, (one) => one.varint(1, dim));
  });
  const strings = tensorStrings(tensor);
  if (strings === undefined) out.bytes(4, tensorBytes(tensor));
  else for (const text of strings) out.bytes(8, text);
  return out.concat();
}
