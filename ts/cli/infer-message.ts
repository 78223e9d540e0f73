// Writes V2's ModelInferRequest for the commands that call servers. Control plane; pure. Source:
// proto/wire/inference.proto.
import {
  INFER_PARAMETER,
  MODEL_INFER_REQUEST,
  MODEL_INFER_REQUEST_INFER_INPUT_TENSOR as INPUT_TENSOR,
  MODEL_INFER_REQUEST_INFER_REQUESTED_OUTPUT_TENSOR as OUTPUT_TENSOR,
} from '../protobuf/generated/inference-fields.js';
import { MAP_ENTRY } from '../protobuf/generated/map-entry-fields.js';
import type { ProtobufWriter } from '../protobuf/writer.js';
import type { EncodedTensor } from '../library/types.js';

export type InferParameters = Readonly<Record<string, unknown>>;

/** An input without its elements. */
export interface InferInput {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly parameters: InferParameters;
}

/** `version` "": the server's choice. */
export function writeModel(out: ProtobufWriter, model: string, version: string): void {
  out.string(MODEL_INFER_REQUEST.modelName, model);
  if (version !== '') out.string(MODEL_INFER_REQUEST.modelVersion, version);
}

/** The parameters of the request. */
export function writeRequestParameters(out: ProtobufWriter, parameters: InferParameters): void {
  writeParameters(out, MODEL_INFER_REQUEST.parameters, parameters);
}

/** `contents` writes the typed elements, if the input has them. */
export function writeInput(
  out: ProtobufWriter,
  { name, datatype, shape, parameters }: InferInput,
  contents?: (into: ProtobufWriter) => void,
): void {
  out.message(MODEL_INFER_REQUEST.inputs, (input) => {
    input.string(INPUT_TENSOR.name, name).string(INPUT_TENSOR.datatype, datatype);
    input.packed(INPUT_TENSOR.shape, 'varint', shape);
    writeParameters(input, INPUT_TENSOR.parameters, parameters);
    if (contents !== undefined) input.message(INPUT_TENSOR.contents, contents);
  });
}

/** Inputs, requested outputs (none: all), and the inputs' elements as raw contents. */
export function writeTensors(
  out: ProtobufWriter,
  tensors: readonly EncodedTensor[],
  outputs: readonly string[] = [],
): void {
  for (const tensor of tensors) writeInput(out, tensor);
  for (const name of outputs) {
    out.message(MODEL_INFER_REQUEST.outputs, (output) => output.string(OUTPUT_TENSOR.name, name));
  }
  for (const { bytes } of tensors) out.bytes(MODEL_INFER_REQUEST.rawInputContents, bytes);
}

function writeParameters(out: ProtobufWriter, field: number, parameters: InferParameters): void {
  for (const [name, value] of Object.entries(parameters)) {
    out.message(field, (entry) => {
      entry.string(MAP_ENTRY.key, name).message(MAP_ENTRY.value, (choice) => {
        if (typeof value === 'boolean') choice.varint(INFER_PARAMETER.boolParam, Number(value));
        else if (typeof value === 'string') choice.string(INFER_PARAMETER.stringParam, value);
        else if (Number.isSafeInteger(value)) {
          choice.varint(INFER_PARAMETER.int64Param, value as number);
        } else choice.double(INFER_PARAMETER.doubleParam, Number(value));
      });
    });
  }
}
