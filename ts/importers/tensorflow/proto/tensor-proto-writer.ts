// Writes a constant as a TensorProto: raw content, or string values. Any thread; pure.
// Source: tensorflow/core/framework/tensor.proto.
import {
  TENSOR_PROTO,
  TENSOR_SHAPE_PROTO,
  TENSOR_SHAPE_PROTO_DIM as DIM,
} from '../../../protobuf/generated/tensorflow-fields.js';
import { ProtobufWriter } from '../../../protobuf/writer.js';
import { tensorBytes, tensorStrings } from '../lower/tensors.js';
import type { Tensor } from '../types.js';
import { codeOfDtype } from '../../../model/datatype.js';

/** Errors: those of reading the elements if they are in a file. */
export function encodeTensorProto(tensor: Tensor): Uint8Array {
  const out = new ProtobufWriter();
  out.varint(TENSOR_PROTO.dtype, codeOfDtype(tensor.dtype));
  out.message(TENSOR_PROTO.tensorShape, (shape) => {
    for (const dim of tensor.shape)
      shape.message(TENSOR_SHAPE_PROTO.dim, (one) => one.varint(DIM.size, dim));
  });
  const strings = tensorStrings(tensor);
  if (strings === undefined) out.bytes(TENSOR_PROTO.tensorContent, tensorBytes(tensor));
  else for (const text of strings) out.bytes(TENSOR_PROTO.stringVal, text);
  return out.concat();
}
