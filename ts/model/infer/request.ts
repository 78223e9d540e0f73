// Writes V2 ModelInferRequest messages with raw contents, the form that EngineControl.warmUp
// accepts. Model and version stay empty: the engine gets the handle instead. Control plane; pure.
// Source: proto/wire/inference.proto.
import { ErrorCode, ServalError } from '../../base/errors.js';
import type { Tensor } from './tensor.js';
import { WARMUP_BYTES_MAX } from './tensor.js';

const WIRE_BYTES = 2;

const REQUEST_INPUTS = 5;
const REQUEST_OUTPUTS = 6;
const REQUEST_RAW_INPUT_CONTENTS = 7;
const TENSOR_NAME = 1;
const TENSOR_DATATYPE = 2;
const TENSOR_SHAPE = 3;

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
  return Uint8Array.from([...varintBytes(field * 8 + WIRE_BYTES), ...varintBytes(bytes)]);
}

function bytesField(field: number, bytes: Uint8Array): Uint8Array {
  return Buffer.concat([fieldHead(field, bytes.length), bytes]);
}

const stringField = (field: number, text: string): Uint8Array =>
  bytesField(field, Buffer.from(text, 'utf8'));

function inputBytes(tensor: Tensor): Uint8Array {
  const shape = Uint8Array.from(tensor.shape.flatMap(varintBytes));
  return Buffer.concat([
    stringField(TENSOR_NAME, tensor.name),
    stringField(TENSOR_DATATYPE, tensor.datatype),
    ...(shape.length > 0 ? [bytesField(TENSOR_SHAPE, shape)] : []),
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
    ...inputs.map((tensor) => bytesField(REQUEST_INPUTS, inputBytes(tensor))),
    ...outputs.map((name) => bytesField(REQUEST_OUTPUTS, stringField(TENSOR_NAME, name))),
    ...inputs.flatMap(({ raw }) => [fieldHead(REQUEST_RAW_INPUT_CONTENTS, raw.length), raw]),
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
