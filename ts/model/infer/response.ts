// Reads the response of EngineControl.warmUp() to a V2 ModelInferRequest of one row: a value of
// each output. Control plane; pure. Source: proto/wire/inference.proto.
import {
  MODEL_INFER_RESPONSE_INFER_OUTPUT_TENSOR as OUTPUT_TENSOR,
  MODEL_INFER_RESPONSE,
} from '../../protobuf/generated/inference-fields.js';
import { MAP_ENTRY } from '../../protobuf/generated/map-entry-fields.js';
import { ErrorCode } from '../../base/errors.js';
import { WireReader } from '../../protobuf/reader.js';
import { LENGTH_BYTES } from './tensor.js';

/** undefined: missing. */
export type Value = string | number | bigint | boolean | undefined;

interface Head {
  readonly name: string;
  readonly datatype: string;
  readonly hasNull: boolean;
}

const ANSWER = 'ModelInferResponse';
const NULL_INDICES = 'null_indices';

function readParameterKey(reader: WireReader): string {
  let key = '';
  while (reader.next()) {
    if (reader.field === MAP_ENTRY.key) key = reader.string();
    else reader.skip();
  }
  return key;
}

function readHead(reader: WireReader): Head {
  let name = '';
  let datatype = '';
  let hasNull = false;
  while (reader.next()) {
    if (reader.field === OUTPUT_TENSOR.name) name = reader.string();
    else if (reader.field === OUTPUT_TENSOR.datatype) datatype = reader.string();
    else if (reader.field === OUTPUT_TENSOR.parameters) {
      hasNull = readParameterKey(reader.nested('parameters')) === NULL_INDICES || hasNull;
    } else reader.skip();
  }
  return { name, datatype, hasNull };
}

const textOf = (raw: Buffer): string => raw.toString('utf8', LENGTH_BYTES);

const READ: Readonly<Record<string, (raw: Buffer) => Value>> = {
  BOOL: (raw) => raw[0] !== 0,
  INT8: (raw) => raw.readInt8(),
  INT16: (raw) => raw.readInt16LE(),
  INT32: (raw) => raw.readInt32LE(),
  INT64: (raw) => raw.readBigInt64LE(),
  FP32: (raw) => raw.readFloatLE(),
  FP64: (raw) => raw.readDoubleLE(),
  BYTES: textOf,
  STRING: textOf,
  DATE: textOf,
  TIMESTAMP: textOf,
};

function valueOf({ datatype, hasNull }: Head, raw: Uint8Array | undefined): Value {
  if (hasNull || raw === undefined || raw.length === 0) return undefined;
  const value = READ[datatype]?.(Buffer.from(raw.buffer, raw.byteOffset, raw.length));
  return typeof value === 'number' && Number.isNaN(value) ? undefined : value;
}

/**
 * Values by output, from a response of one row with raw contents. NaN counts as missing, and so do
 * outputs of other datatypes. Errors: Internal if it is not such a message.
 */
export function readInferAnswer(message: Uint8Array): ReadonlyMap<string, Value> {
  const reader = new WireReader(message, ANSWER, 0, ErrorCode.Internal);
  const heads: Head[] = [];
  const raws: Uint8Array[] = [];
  while (reader.next()) {
    if (reader.field === MODEL_INFER_RESPONSE.outputs)
      heads.push(readHead(reader.nested('outputs')));
    else if (reader.field === MODEL_INFER_RESPONSE.rawOutputContents) raws.push(reader.view());
    else reader.skip();
  }
  return new Map(heads.map((head, i) => [head.name, valueOf(head, raws[i])]));
}
