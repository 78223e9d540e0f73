// PredictionService.GetModelMetadata: the signatures of a version as a SignatureDefMap inside an
// Any. Control plane; the gRPC listener's thread; pure.
// Source: tensorflow/serving get_model_metadata_impl.cc, get_model_metadata.proto.
import { ANY } from '../../protobuf/generated/any-fields.js';
import {
  SIGNATURE_DEF_MAP,
  GET_MODEL_METADATA_REQUEST,
  GET_MODEL_METADATA_RESPONSE,
} from '../../protobuf/generated/tensorflow-serving-fields.js';
import { MAP_ENTRY } from '../../protobuf/generated/map-entry-fields.js';
import {
  TENSOR_INFO,
  TENSOR_SHAPE_PROTO,
  TENSOR_SHAPE_PROTO_DIM as DIM,
  TENSOR_INFO_COO_SPARSE as COO_SPARSE,
  TENSOR_INFO_COMPOSITE_TENSOR as COMPOSITE,
  SIGNATURE_DEF as SIGNATURE,
} from '../../protobuf/generated/tensorflow-fields.js';
import { ErrorCode, ServalError } from '../../base/errors.js';
import { ProtobufWriter } from '../../protobuf/writer.js';
import { writeModelSpec } from '../../protobuf/serving-messages.js';
import type {
  RegistrySnapshot,
  SignatureDefDoc,
  TensorInfoDoc,
  VersionSnapshot,
} from '../../model/snapshot.js';
import { seenVersion } from '../needs-load.js';
import { echoed } from '../request-text.js';
import { findServable, signatureDocs } from './documents.js';
import { messageBuffer, readRequest, requireSpec } from './grpc-spec.js';

const SIGNATURE_DEF = 'signature_def';
const MAP_TYPE_URL = 'type.googleapis.com/tensorflow.serving.SignatureDefMap';

function writeTensorInfo(writer: ProtobufWriter, tensor: TensorInfoDoc): void {
  const { name, dtypeCode, shape, cooSparse, composite } = tensor;
  if (name !== undefined) writer.string(TENSOR_INFO.name, name);
  if (dtypeCode !== 0) writer.varint(TENSOR_INFO.dtype, dtypeCode);
  if (shape !== undefined) {
    writer.message(TENSOR_INFO.tensorShape, (message) => {
      for (const dim of shape.dims) {
        message.message(TENSOR_SHAPE_PROTO.dim, (entry) => {
          if (dim.size !== '0') entry.varint(DIM.size, BigInt(dim.size));
          if (dim.name !== '') entry.string(DIM.name, dim.name);
        });
      }
      if (shape.unknownRank) message.varint(TENSOR_SHAPE_PROTO.unknownRank, 1);
    });
  }
  if (cooSparse !== undefined) {
    writer.message(TENSOR_INFO.cooSparse, (message) => {
      message
        .string(COO_SPARSE.valuesTensorName, cooSparse.values)
        .string(COO_SPARSE.indicesTensorName, cooSparse.indices)
        .string(COO_SPARSE.denseShapeTensorName, cooSparse.shape);
    });
  }
  if (composite !== undefined) {
    writer.message(TENSOR_INFO.compositeTensor, (message) => {
      for (const one of composite)
        message.message(COMPOSITE.components, (entry) => writeTensorInfo(entry, one));
    });
  }
}

function writeTensors(
  writer: ProtobufWriter,
  field: number,
  tensors: SignatureDefDoc['inputs'],
): void {
  for (const [alias, tensor] of tensors) {
    writer.message(field, (entry) => {
      entry
        .string(MAP_ENTRY.key, alias)
        .message(MAP_ENTRY.value, (info) => writeTensorInfo(info, tensor));
    });
  }
}

function writeSignature(writer: ProtobufWriter, signature: SignatureDefDoc): void {
  writeTensors(writer, SIGNATURE.inputs, signature.inputs);
  writeTensors(writer, SIGNATURE.outputs, signature.outputs);
  if (signature.methodName !== '') writer.string(SIGNATURE.methodName, signature.methodName);
  for (const [alias, proto] of signature.defaults) {
    writer.message(SIGNATURE.defaults, (entry) =>
      entry.string(MAP_ENTRY.key, alias).bytes(MAP_ENTRY.value, Buffer.from(proto, 'base64')),
    );
  }
}

function signatureDefMap(version: VersionSnapshot): Uint8Array {
  const writer = new ProtobufWriter();
  for (const [name, signature] of signatureDocs(version)) {
    writer.message(SIGNATURE_DEF_MAP.signatureDef, (entry) => {
      entry
        .string(MAP_ENTRY.key, name)
        .message(MAP_ENTRY.value, (message) => writeSignature(message, signature));
    });
  }
  return writer.concat();
}

function checkFields(fields: readonly string[]): void {
  if (fields.length === 0) {
    throw new ServalError(
      ErrorCode.InvalidArgument,
      'GetModelMetadataRequest must specify at least one metadata_field',
    );
  }
  const unknown = fields.find((field) => field !== SIGNATURE_DEF);
  if (unknown === undefined) return;
  throw new ServalError(
    ErrorCode.InvalidArgument,
    `Metadata field ${echoed(unknown)} is not supported`,
  );
}

/** The response to a GetModelMetadataRequest.
 * Errors: MalformedBody; InvalidArgument; ModelNotFound. */
export function modelMetadata(snapshot: RegistrySnapshot, message: Buffer): Buffer {
  const fields: string[] = [];
  const spec = readRequest(message, 'GetModelMetadataRequest', (reader) => {
    if (reader.field === GET_MODEL_METADATA_REQUEST.metadataField) fields.push(reader.string());
    else reader.skip();
  });
  if (spec === undefined) requireSpec(spec);
  checkFields(fields);
  const named = requireSpec(spec);
  const version = seenVersion(named.name, findServable(snapshot, named));
  const writer = new ProtobufWriter();
  writer.message(GET_MODEL_METADATA_RESPONSE.modelSpec, (one) =>
    writeModelSpec(one, named.name, version.version, ''),
  );
  writer.message(GET_MODEL_METADATA_RESPONSE.metadata, (entry) => {
    entry
      .string(MAP_ENTRY.key, SIGNATURE_DEF)
      .message(MAP_ENTRY.value, (any) =>
        any.string(ANY.typeUrl, MAP_TYPE_URL).bytes(ANY.value, signatureDefMap(version)),
      );
  });
  return messageBuffer(writer);
}
