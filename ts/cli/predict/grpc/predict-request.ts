// Requests to PredictionService: GetModelMetadata and Predict. Control plane; pure. Source:
// proto/wire/tensorflow_serving.proto; tfserving.md 2.
import type { EncodedTensor } from '../../../library/types.js';
import { dataTypeOf } from '../../../model/datatype.js';
import { ProtobufWriter } from '../../../protobuf/writer.js';
import { textsOf } from './contents.js';

export const PREDICTION_SERVICE = '/tensorflow.serving.PredictionService';
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
    .message(1, (out) => writeSpec(out, spec, ''))
    .string(2, SIGNATURES)
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
  message.message(1, (out) => writeSpec(out, spec, signature));
  for (const tensor of tensors) writeInput(message, tensor);
  for (const name of outputs) message.string(3, name);
  return message.toBuffer();
}

/** A label given as such, or as a version that is not a number. */
export const labelOf = ({ version, label = '' }: Omit<ServingSpec, 'model'>): string =>
  label === '' && !/^\d*$/.test(version) ? version : label;

function writeSpec(out: ProtobufWriter, spec: ServingSpec, signature: string): void {
  const label = labelOf(spec);
  out.string(1, spec.model);
  if (label === '' && spec.version !== '') {
    out.message(2, (value) => value.varint(1, BigInt(spec.version)));
  }
  if (signature !== '') out.string(3, signature);
  if (label !== '') out.string(4, label);
}

function writeInput(
  message: ProtobufWriter,
  { name, datatype, shape, bytes }: EncodedTensor,
): void {
  const type = dataTypeOf(datatype);
  message.message(2, (entry) => {
    entry.string(1, name).message(2, (tensor) => {
      tensor.varint(1, type.code).message(2, (dims) => {
        for (const size of shape) dims.message(2, (dim) => dim.varint(1, size));
      });
      if (type.kind !== 'text') tensor.bytes(4, bytes);
      else for (const text of textsOf(bytes)) tensor.bytes(8, text);
    });
  });
}
