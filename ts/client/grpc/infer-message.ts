// V2's ModelInfer messages. Pure; Node only, any thread. Source: proto/wire/inference.proto.
import { fromBytes, fromJson, toBytes, isBinary } from '../core/elements.js';
import { badResponse, wrongInput } from '../core/errors.js';
import { elementCount, type FlatTensor } from '../core/tensors.js';
import type { InferOptions, InferResult, Tensor } from '../core/types.js';
import {
  INFER_PARAMETER,
  INFER_TENSOR_CONTENTS,
  MODEL_INFER_REQUEST,
  MODEL_INFER_REQUEST_INFER_INPUT_TENSOR as INPUT_TENSOR,
  MODEL_INFER_REQUEST_INFER_REQUESTED_OUTPUT_TENSOR as REQUESTED,
  MODEL_INFER_RESPONSE,
  MODEL_INFER_RESPONSE_INFER_OUTPUT_TENSOR as OUTPUT_TENSOR,
} from '../../protobuf/generated/inference-fields.js';
import { MAP_ENTRY } from '../../protobuf/generated/map-entry-fields.js';
import { WireReader } from '../../protobuf/reader.js';
import { ProtobufWriter } from '../../protobuf/writer.js';
import { byName, requestParameters, requestedOutputs } from '../rest/v2-message.js';
import { contentValues, signed } from './contents.js';

/** Datatypes of tabular models and the ones that carry them. Source: docs/reference/tabular.md. */
const CARRIERS: Readonly<Record<string, string>> = {
  STRING: 'BYTES',
  DATE: 'BYTES',
  TIMESTAMP: 'BYTES',
  VECTOR: 'FP64',
  DECIMAL: 'FP64',
};
const carrierOf = (datatype: string): string => CARRIERS[datatype] ?? datatype;

/** Errors: INVALID_ARGUMENT naming the input. */
export function inferRequest(
  model: string,
  tensors: readonly FlatTensor[],
  options: InferOptions,
): Uint8Array {
  const out = new ProtobufWriter().string(MODEL_INFER_REQUEST.modelName, model);
  const { version = '', id } = options;
  if (version !== '') out.string(MODEL_INFER_REQUEST.modelVersion, String(version));
  if (id !== undefined) out.string(MODEL_INFER_REQUEST.id, id);
  writeParameters(out, MODEL_INFER_REQUEST.parameters, requestParameters(options));
  for (const { name, datatype, shape, parameters } of tensors) {
    out.message(MODEL_INFER_REQUEST.inputs, (input) => {
      input.string(INPUT_TENSOR.name, name).string(INPUT_TENSOR.datatype, datatype);
      input.packed(INPUT_TENSOR.shape, 'varint', shape);
      writeParameters(input, INPUT_TENSOR.parameters, parameters);
    });
  }
  for (const { name, parameters, classification } of requestedOutputs(options)) {
    out.message(MODEL_INFER_REQUEST.outputs, (output) => {
      output.string(REQUESTED.name, name);
      const all = { ...parameters, ...(classification !== undefined && { classification }) };
      writeParameters(output, REQUESTED.parameters, all);
    });
  }
  for (const { name, datatype, values } of tensors) {
    const where = `input '${name}'`;
    const carrier = carrierOf(datatype);
    if (!isBinary(carrier)) throw wrongInput(where, 'a datatype of V2', datatype);
    out.bytes(MODEL_INFER_REQUEST.rawInputContents, toBytes(where, carrier, values));
  }
  return out.concat();
}

export function writeParameters(out: ProtobufWriter, field: number, parameters: object): void {
  for (const [name, value] of Object.entries(parameters) as [string, unknown][]) {
    out.message(field, (entry) => {
      entry.string(MAP_ENTRY.key, name).message(MAP_ENTRY.value, (choice) => {
        if (typeof value === 'boolean') choice.varint(INFER_PARAMETER.boolParam, Number(value));
        else if (typeof value === 'string') choice.string(INFER_PARAMETER.stringParam, value);
        else if (typeof value === 'bigint') {
          const isWide = value >= 2n ** 63n;
          choice.varint(isWide ? INFER_PARAMETER.uint64Param : INFER_PARAMETER.int64Param, value);
        } else if (Number.isSafeInteger(value)) {
          choice.varint(INFER_PARAMETER.int64Param, value as number);
        } else choice.double(INFER_PARAMETER.doubleParam, Number(value));
      });
    });
  }
}

/** Errors: INTERNAL: contents that do not fit the outputs. */
export function inferResult(reader: WireReader, raw: boolean | undefined): InferResult {
  let [model, version, id] = ['', '', ''];
  const parameters: Record<string, Parameter> = {};
  const tensors: WireTensor[] = [];
  const pieces: Uint8Array[] = [];
  while (reader.next()) {
    if (reader.field === MODEL_INFER_RESPONSE.modelName) model = reader.string();
    else if (reader.field === MODEL_INFER_RESPONSE.modelVersion) version = reader.string();
    else if (reader.field === MODEL_INFER_RESPONSE.id) id = reader.string();
    else if (reader.field === MODEL_INFER_RESPONSE.parameters) readParameter(reader, parameters);
    else if (reader.field === MODEL_INFER_RESPONSE.outputs) tensors.push(readTensor(reader));
    else if (reader.field === MODEL_INFER_RESPONSE.rawOutputContents) pieces.push(reader.view());
    else reader.skip();
  }
  let next = 0;
  const outputs = tensors.map((tensor): Tensor => {
    const { contents, ...facts } = tensor;
    if (contents !== undefined) return { ...facts, data: typedData(tensor, contents, raw) };
    const bytes = pieces[next++];
    const where = `output '${facts.name}'`;
    if (bytes === undefined) throw badResponse(where, 'contents', 'none');
    const count = facts.shape.includes(-1) ? undefined : elementCount(facts.shape);
    return { ...facts, data: rawData(where, facts.datatype, bytes, count, raw) };
  });
  return { model, version, id, parameters, outputs: byName(outputs) };
}

/** `count`: undefined if a tabular model returns lists of different lengths. */
function rawData(
  where: string,
  datatype: string,
  bytes: Uint8Array,
  count: number | undefined,
  raw?: boolean,
): Tensor['data'] {
  const carrier = carrierOf(datatype);
  const known = count ?? bytes.length / (carrier === 'FP64' || carrier.endsWith('64') ? 8 : 4);
  return fromBytes(where, carrier, bytes, known, raw);
}

type Parameter = string | number | bigint | boolean;
interface WireTensor {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly parameters: Readonly<Record<string, Parameter>>;
  readonly contents: WireReader | undefined;
}

function readTensor(outer: WireReader): WireTensor {
  const reader = outer.nested('outputs');
  let [name, datatype] = ['', ''];
  let contents: WireReader | undefined;
  const shape: number[] = [];
  const parameters: Record<string, Parameter> = {};
  while (reader.next()) {
    if (reader.field === OUTPUT_TENSOR.name) name = reader.string();
    else if (reader.field === OUTPUT_TENSOR.datatype) datatype = reader.string();
    else if (reader.field === OUTPUT_TENSOR.shape) {
      reader.varints((one) => shape.push(Number(signed(one))));
    } else if (reader.field === OUTPUT_TENSOR.parameters) readParameter(reader, parameters);
    else if (reader.field === OUTPUT_TENSOR.contents) contents = reader.nested('contents');
    else reader.skip();
  }
  return { name, datatype, shape, parameters, contents };
}

function readParameter(outer: WireReader, into: Record<string, Parameter>): void {
  const reader = outer.nested('parameters');
  let key = '';
  let value: Parameter = '';
  while (reader.next()) {
    if (reader.field === MAP_ENTRY.key) key = reader.string();
    else if (reader.field === MAP_ENTRY.value) value = readChoice(reader.nested('InferParameter'));
    else reader.skip();
  }
  into[key] = value;
}

function readChoice(reader: WireReader): Parameter {
  let value: Parameter = '';
  while (reader.next()) {
    if (reader.field === INFER_PARAMETER.boolParam) value = reader.number() !== 0;
    else if (reader.field === INFER_PARAMETER.stringParam) value = reader.string();
    else if (reader.field === INFER_PARAMETER.doubleParam) {
      value = Buffer.from(reader.fixed(8)).readDoubleLE();
    } else if (reader.field === INFER_PARAMETER.int64Param) value = shortest(reader.int64());
    else if (reader.field === INFER_PARAMETER.uint64Param) {
      value = shortest(BigInt.asUintN(64, reader.int64()));
    } else reader.skip();
  }
  return value;
}

const shortest = (value: bigint): number | bigint =>
  BigInt(Number(value)) === value && Number.isSafeInteger(Number(value)) ? Number(value) : value;

function typedData(tensor: WireTensor, contents: WireReader, raw?: boolean): Tensor['data'] {
  const where = `output '${tensor.name}'`;
  const datatype = carrierOf(tensor.datatype);
  const values = contentValues(contents, INFER_TENSOR_CONTENTS, datatype);
  if (values.length !== elementCount(tensor.shape)) {
    throw badResponse(where, `${elementCount(tensor.shape)} elements`, `${values.length}`);
  }
  return fromJson(where, datatype, values, raw);
}
