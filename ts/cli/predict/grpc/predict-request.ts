// Requests to PredictionService: GetModelMetadata and Predict. Control plane; pure. Source:
// proto/wire/tensorflow_serving.proto; tfserving.md 2.
import {
  TENSOR_PROTO,
  TENSOR_SHAPE_PROTO,
  TENSOR_SHAPE_PROTO_DIM as DIM,
} from '../../../protobuf/generated/tensorflow-fields.js';
import { MAP_ENTRY } from '../../../protobuf/generated/map-entry-fields.js';
import { INT64_VALUE } from '../../../protobuf/generated/wrappers-fields.js';
import {
  GET_MODEL_METADATA_REQUEST,
  PREDICT_REQUEST,
  MODEL_SPEC,
} from '../../../protobuf/generated/tensorflow-serving-fields.js';
import type { EncodedTensor } from '../../../library/types.js';
import { dataTypeOf } from '../../../model/datatype.js';
import { ProtobufWriter } from '../../../protobuf/writer.js';
import { textsOf } from './contents.js';

export const SIGNATURES = 'signature_def';

/** Identifies a model. */
export interface ServingSpec {
  readonly model: string;
  /** "" = the server's choice; text that is not a number is a label. */
  readonly version: string;
  /** "" or undefined = none. */
  readonly label?: string;
}

/** GetModelMetadataRequest for the signatures. */
export function metadataRequest(spec: ServingSpec): Buffer {
  const asked = new ProtobufWriter();
  return asked
    .message(GET_MODEL_METADATA_REQUEST.modelSpec, (out) => writeSpec(out, spec, ''))
    .string(GET_MODEL_METADATA_REQUEST.metadataField, SIGNATURES)
    .toBuffer();
}

/**
 * PredictRequest: numbers as tensor_content, texts as string_val. `signature`: "" = the default.
 * `outputs`: the requested ones, or all.
 */
export function predictRequest(
  spec: ServingSpec,
  signature: string,
  tensors: readonly EncodedTensor[],
  outputs: readonly string[],
): Buffer {
  const message = new ProtobufWriter();
  message.message(PREDICT_REQUEST.modelSpec, (out) => writeSpec(out, spec, signature));
  for (const tensor of tensors) writeInput(message, tensor);
  for (const name of outputs) message.string(PREDICT_REQUEST.outputFilter, name);
  return message.toBuffer();
}

/** A label given as such, or as a version that is not a number. */
export const labelOf = ({ version, label = '' }: Omit<ServingSpec, 'model'>): string =>
  label === '' && !/^\d*$/.test(version) ? version : label;

function writeSpec(out: ProtobufWriter, spec: ServingSpec, signature: string): void {
  const label = labelOf(spec);
  out.string(MODEL_SPEC.name, spec.model);
  if (label === '' && spec.version !== '') {
    out.message(MODEL_SPEC.version, (value) =>
      value.varint(INT64_VALUE.value, BigInt(spec.version)),
    );
  }
  if (signature !== '') out.string(MODEL_SPEC.signatureName, signature);
  if (label !== '') out.string(MODEL_SPEC.versionLabel, label);
}

function writeInput(
  message: ProtobufWriter,
  { name, datatype, shape, bytes }: EncodedTensor,
): void {
  const type = dataTypeOf(datatype);
  message.message(PREDICT_REQUEST.inputs, (entry) => {
    entry.string(MAP_ENTRY.key, name).message(MAP_ENTRY.value, (tensor) => {
      tensor.varint(TENSOR_PROTO.dtype, type.code).message(TENSOR_PROTO.tensorShape, (dims) => {
        for (const size of shape)
          dims.message(TENSOR_SHAPE_PROTO.dim, (dim) => dim.varint(DIM.size, size));
      });
      if (type.kind !== 'text') tensor.bytes(TENSOR_PROTO.tensorContent, bytes);
      else for (const text of textsOf(bytes)) tensor.bytes(TENSOR_PROTO.stringVal, text);
    });
  });
}
