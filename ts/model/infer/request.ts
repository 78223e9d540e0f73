// Writes V2 ModelInferRequest messages with raw contents, the form that EngineControl.warmUp
// accepts. Model and version stay empty: the engine gets the handle instead. Control plane; pure.
// Source: proto/wire/inference.proto.
import { WIRE_LENGTH } from '../../protobuf/wire.js';
import {
  MODEL_INFER_REQUEST,
  MODEL_INFER_REQUEST_INFER_INPUT_TENSOR as INPUT_TENSOR,
  MODEL_INFER_REQUEST_INFER_REQUESTED_OUTPUT_TENSOR as REQUESTED_OUTPUT,
} from '../../protobuf/generated/inference-fields.js';
import { ErrorCode, ServalError } from '../../base/errors.js';
import type { Tensor } from './tensor.js';
import { WARMUP_BYTES_MAX } from './tensor.js';

function varintBytes(value: number): number[] {
  const out: number[] = [];
  let rest = value;
  while (rest >= 128) {
    out.push((rest % 128) + 128);
    rest = Math.floor(rest / 128);
  }
  out.push(rest);
  return out;
}

/** Tag and length of a length-delimited field. */
function fieldHead(field: number, bytes: number): Uint8Array {
  return Uint8Array.from([...varintBytes(field * 8 + WIRE_LENGTH), ...varintBytes(bytes)]);
}

function bytesField(field: number, bytes: Uint8Array): Uint8Array {
  return Buffer.concat([fieldHead(field, bytes.length), bytes]);
}

const stringField = (field: number, text: string): Uint8Array =>
  bytesField(field, Buffer.from(text, 'utf8'));

function inputBytes(tensor: Tensor): Uint8Array {
  const shape = Uint8Array.from(tensor.shape.flatMap(varintBytes));
  return Buffer.concat([
    stringField(INPUT_TENSOR.name, tensor.name),
    stringField(INPUT_TENSOR.datatype, tensor.datatype),
    ...(shape.length > 0 ? [bytesField(INPUT_TENSOR.shape, shape)] : []),
  ]);
}

/**
 * A request with these inputs for these outputs (none = all), in the given order. Errors:
 * BodyTooLarge above WARMUP_BYTES_MAX.
 */
export function encodeInferRequest(
  inputs: readonly Tensor[],
  outputs: readonly string[],
): Uint8Array {
  const chunks = [
    ...inputs.map((tensor) => bytesField(MODEL_INFER_REQUEST.inputs, inputBytes(tensor))),
    ...outputs.map((name) =>
      bytesField(MODEL_INFER_REQUEST.outputs, stringField(REQUESTED_OUTPUT.name, name)),
    ),
    ...inputs.flatMap(({ raw }) => [
      fieldHead(MODEL_INFER_REQUEST.rawInputContents, raw.length),
      raw,
    ]),
  ];
  const bytes = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  if (bytes > WARMUP_BYTES_MAX) {
    throw new ServalError(
      ErrorCode.BodyTooLarge,
      `the request: expected at most ${WARMUP_BYTES_MAX} bytes, got ${bytes}`,
    );
  }
  return Buffer.concat(chunks, bytes);
}
