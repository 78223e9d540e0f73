// Reads tensorflow.TensorShapeProto. Importer's worker thread; pure.
// Source: tensorflow/core/framework/tensor_shape.proto.
import { TENSORFLOW_RANK_MAX } from '../../../base/limits.js';
import {
  TENSOR_SHAPE_PROTO,
  TENSOR_SHAPE_PROTO_DIM as DIM,
} from '../../../protobuf/generated/tensorflow-fields.js';
import { modelInvalid } from '../../../base/errors.js';
import type { WireReader } from '../../../protobuf/reader.js';
import type { Shape, TensorShapeDef } from '../types.js';
import { readBool, readInt64 } from './read-context.js';

interface Dim {
  readonly size: bigint;
  readonly name: string;
}

interface Dims {
  readonly unknownRank: boolean;
  readonly dims: readonly Dim[];
}

/** Unchanged from the file. */
export function readShapeDef(reader: WireReader): TensorShapeDef {
  const { unknownRank, dims } = readDims(reader);
  return { unknownRank, dims: dims.map(({ size, name }) => ({ size: String(size), name })) };
}

/** A negative size is unknown. */
export function readShape(reader: WireReader): Shape {
  const { unknownRank, dims } = readDims(reader);
  if (unknownRank) return undefined;
  return dims.map(({ size }) => (size < 0n ? undefined : Number(size)));
}

/** The shape of a tensor, with every size known. Errors: ModelInvalid. */
export function readFullShape(reader: WireReader): readonly number[] {
  const { unknownRank, dims } = readDims(reader);
  if (unknownRank) throw modelInvalid('TensorProto: expected a full shape, got unknown rank');
  const sizes = dims.map(({ size }) => Number(size));
  if (sizes.every((size) => size >= 0 && Number.isSafeInteger(size))) return sizes;
  throw modelInvalid(`TensorProto: expected a full shape, got [${sizes.join(',')}]`);
}

function readDims(reader: WireReader): Dims {
  const dims: Dim[] = [];
  let unknownRank = false;
  while (reader.next()) {
    if (reader.field === TENSOR_SHAPE_PROTO.dim)
      dims.push(readDim(reader.nested('TensorShapeProto.Dim')));
    else if (reader.field === TENSOR_SHAPE_PROTO.unknownRank) unknownRank = readBool(reader);
    else reader.skip();
    if (dims.length > TENSORFLOW_RANK_MAX) {
      throw modelInvalid(
        `TensorShapeProto: expected at most ${TENSORFLOW_RANK_MAX} dimensions, got more`,
      );
    }
  }
  return { unknownRank, dims };
}

function readDim(reader: WireReader): Dim {
  let size = 0n;
  let name = '';
  while (reader.next()) {
    if (reader.field === DIM.size) size = readInt64(reader);
    else if (reader.field === DIM.name) name = reader.string();
    else reader.skip();
  }
  return { size, name };
}
