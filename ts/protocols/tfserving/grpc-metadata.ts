// PredictionService.GetModelMetadata: the signatures of a version as a SignatureDefMap inside an
// Any. Control plane; the gRPC listener's thread; pure.
// Source: tensorflow/serving get_model_metadata_impl.cc, get_model_metadata.proto.
import { ErrorCode, ServalError } from '../../base/errors.js';
import { ProtobufWriter } from '../../protobuf/writer.js';
import { writeModelSpec } from '../../protobuf/serving-messages.js';
import type {
  RegistrySnapshot,
  SignatureDefDoc,
  TensorInfoDoc,
  VersionSnapshot,
} from '../../model/snapshot.js';
import { echoed } from '../request-text.js';
import { findServable, signatureDocs } from './documents.js';
import { messageBuffer, readRequest, requireSpec } from './grpc-spec.js';

const SIGNATURE_DEF = 'signature_def';
const MAP_TYPE_URL = 'type.googleapis.com/tensorflow.serving.SignatureDefMap';

function writeTensorInfo(writer: ProtobufWriter, tensor: TensorInfoDoc): void {
  const { name, dtypeCode, shape, cooSparse, composite } = tensor;
  if (name !== undefined) writer.string(1, name);
  if (dtypeCode !== 0) writer.varint(2, dtypeCode);
  if (shape !== undefined) {
    writer.message(3, (message) => {
      for (const dim of shape.dims) {
        message.message(2, (entry) => {
          if (dim.size !== '0') entry.varint(1, BigInt(dim.size));
          if (dim.name !== '') entry.string(2, dim.name);
        });
      }
      if (shape.unknownRank) message.varint(3, 1);
    });
  }
  if (cooSparse !== undefined) {
    writer.message(4, (message) => {
      message.string(1, cooSparse.values).string(2, cooSparse.indices).string(3, cooSparse.shape);
    });
  }
  if (composite !== undefined) {
    writer.message(5, (message) => {
      for (const one of composite) message.message(2, (entry) => writeTensorInfo(entry, one));
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
      entry.string(1, alias).message(2, (info) => writeTensorInfo(info, tensor));
    });
  }
}

function writeSignature(writer: ProtobufWriter, signature: SignatureDefDoc): void {
  writeTensors(writer, 1, signature.inputs);
  writeTensors(writer, 2, signature.outputs);
  if (signature.methodName !== '') writer.string(3, signature.methodName);
  for (const [alias, proto] of signature.defaults) {
    writer.message(4, (entry) => entry.string(1, alias).bytes(2, Buffer.from(proto, 'base64')));
  }
}

function signatureDefMap(version: VersionSnapshot): Uint8Array {
  const writer = new ProtobufWriter();
  for (const [name, signature] of signatureDocs(version)) {
    writer.message(1, (entry) => {
      entry.string(1, name).message(2, (message) => writeSignature(message, signature));
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
    if (reader.field === 2) fields.push(reader.string());
    else reader.skip();
  });
  if (spec === undefined) requireSpec(spec);
  checkFields(fields);
  const named = requireSpec(spec);
  const version = findServable(snapshot, named);
  const writer = new ProtobufWriter();
  writer.message(1, (one) => writeModelSpec(one, named.name, version.version, ''));
  writer.message(2, (entry) => {
    entry
      .string(1, SIGNATURE_DEF)
      .message(2, (any) => any.string(1, MAP_TYPE_URL).bytes(2, signatureDefMap(version)));
  });
  return messageBuffer(writer);
}
