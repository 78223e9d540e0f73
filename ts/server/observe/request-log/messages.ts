// Converts messages of V2 and of TensorFlow Serving's Predict to JSON text with a list of tensors,
// in V2's form. Control plane, main thread; pure. Errors: ServalError if the bytes are not such a
// message. Source: proto/wire/inference.proto; tfserving.md 2.
import {
  PREDICT_REQUEST,
  PREDICT_RESPONSE,
} from '../../../protobuf/generated/tensorflow-serving-fields.js';
import {
  TENSOR_PROTO,
  TENSOR_SHAPE_PROTO,
  TENSOR_SHAPE_PROTO_DIM as DIM,
} from '../../../protobuf/generated/tensorflow-fields.js';
import {
  INFER_PARAMETER,
  MODEL_INFER_REQUEST_INFER_INPUT_TENSOR as INPUT_TENSOR,
  MODEL_INFER_REQUEST_INFER_REQUESTED_OUTPUT_TENSOR as REQUESTED_OUTPUT,
  MODEL_INFER_REQUEST,
  MODEL_INFER_RESPONSE,
  MODEL_STREAM_INFER_RESPONSE,
} from '../../../protobuf/generated/inference-fields.js';
import { MAP_ENTRY } from '../../../protobuf/generated/map-entry-fields.js';
import { DATA_TYPES, dataTypeOf, dtypeOfCode } from '../../../model/datatype.js';
import type { DataType } from '../../../model/datatype.js';
import type { Datatype } from '../../../model/snapshot.js';
import { emptyModelSpec, readModelSpec } from '../../../protobuf/serving-messages.js';
import { WireReader } from '../../../protobuf/reader.js';
import type { ValuesMax } from '../../../config/observation/request-log-settings.js';
import { TensorValues } from './tensor-values.js';

/** Fields of ModelInferRequest and ModelInferResponse. */
interface V2Fields {
  readonly tensors: number;
  readonly raw: number;
  readonly member: 'inputs' | 'outputs';
}
const REQUEST: V2Fields = {
  tensors: MODEL_INFER_REQUEST.inputs,
  raw: MODEL_INFER_REQUEST.rawInputContents,
  member: 'inputs',
};
const RESPONSE: V2Fields = {
  tensors: MODEL_INFER_RESPONSE.outputs,
  raw: MODEL_INFER_RESPONSE.rawOutputContents,
  member: 'outputs',
};
const UNKNOWN: DataType = DATA_TYPES.resource;

const typeOf = (datatype: string): DataType => dataTypeOf(datatype as Datatype) ?? UNKNOWN;

/** The beginning of a tensor's object. */
function tensorText(name: string, datatype: string, shape: readonly bigint[], rest: string) {
  const head = `"name":${JSON.stringify(name)},"datatype":${JSON.stringify(datatype)}`;
  return `{${head},"shape":[${shape.join(',')}]${rest}}`;
}

interface V2Tensor {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly bigint[];
  readonly parameters: string;
  readonly contents: Uint8Array | undefined;
}

/** One entry of a map of InferParameter as a member of an object. */
function parameterText(reader: WireReader): string {
  let key = '';
  let value = 'null';
  while (reader.next()) {
    if (reader.field === MAP_ENTRY.key) key = reader.string();
    else if (reader.field === MAP_ENTRY.value)
      value = parameterValue(reader.nested('InferParameter'));
    else reader.skip();
  }
  return `${JSON.stringify(key)}:${value}`;
}

function parameterValue(reader: WireReader): string {
  let value = 'null';
  while (reader.next()) {
    if (reader.field === INFER_PARAMETER.boolParam) value = String(reader.number() !== 0);
    else if (reader.field === INFER_PARAMETER.int64Param) value = String(reader.int64());
    else if (reader.field === INFER_PARAMETER.stringParam) value = JSON.stringify(reader.string());
    else if (reader.field === INFER_PARAMETER.doubleParam) {
      const bytes = reader.fixed(8);
      const double = new DataView(bytes.buffer, bytes.byteOffset, 8).getFloat64(0, true);
      value = Number.isFinite(double) ? String(double) : `"${double}"`;
    } else if (reader.field === INFER_PARAMETER.uint64Param)
      value = String(BigInt.asUintN(64, reader.int64()));
    else reader.skip();
  }
  return value;
}

const parametersMember = (entries: readonly string[]): string =>
  entries.length === 0 ? '' : `,"parameters":{${entries.join(',')}}`;

function readTensor(reader: WireReader): V2Tensor {
  let [name, datatype] = ['', ''];
  let contents: Uint8Array | undefined;
  const shape: bigint[] = [];
  const parameters: string[] = [];
  while (reader.next()) {
    if (reader.field === INPUT_TENSOR.name) name = reader.string();
    else if (reader.field === INPUT_TENSOR.datatype) datatype = reader.string();
    else if (reader.field === INPUT_TENSOR.shape) {
      reader.varints(({ low, high }) => {
        shape.push(BigInt.asIntN(64, (BigInt(high) << 32n) | BigInt(low)));
      });
    } else if (reader.field === INPUT_TENSOR.parameters)
      parameters.push(parameterText(reader.nested('parameters')));
    else if (reader.field === INPUT_TENSOR.contents) contents = reader.view();
    else reader.skip();
  }
  return { name, datatype, shape, parameters: parametersMember(parameters), contents };
}

function requestedOutputText(reader: WireReader): string {
  let name = '';
  const parameters: string[] = [];
  while (reader.next()) {
    if (reader.field === REQUESTED_OUTPUT.name) name = reader.string();
    else if (reader.field === REQUESTED_OUTPUT.parameters)
      parameters.push(parameterText(reader.nested('parameters')));
    else reader.skip();
  }
  return `{"name":${JSON.stringify(name)}${parametersMember(parameters)}}`;
}

function v2TensorText(tensor: V2Tensor, raw: Uint8Array | undefined, max: ValuesMax): string {
  const { name, datatype, shape, parameters, contents } = tensor;
  const values = new TensorValues(typeOf(datatype), max);
  if (raw !== undefined) values.addRaw(raw);
  else if (contents !== undefined) {
    // Reads its only field: others would have another type.
    const reader = new WireReader(contents, 'InferTensorContents');
    while (reader.next()) values.addField(reader);
  }
  const hasNoValues = raw === undefined && contents === undefined;
  return tensorText(name, datatype, shape, parameters + (hasNoValues ? '' : values.members));
}

function v2Text(message: Uint8Array, fields: V2Fields, max: ValuesMax): string {
  const reader = new WireReader(message, fields === REQUEST ? 'request' : 'response');
  const tensors: V2Tensor[] = [];
  const raws: Uint8Array[] = [];
  const parameters: string[] = [];
  const outputs: string[] = [];
  while (reader.next()) {
    if (reader.field === fields.tensors) tensors.push(readTensor(reader.nested('tensor')));
    else if (reader.field === fields.raw) raws.push(reader.view());
    else if (reader.field === MODEL_INFER_REQUEST.parameters)
      parameters.push(parameterText(reader.nested('parameters')));
    else if (fields === REQUEST && reader.field === MODEL_INFER_REQUEST.outputs) {
      outputs.push(requestedOutputText(reader.nested('outputs')));
    } else reader.skip();
  }
  // A tensor with typed contents, or in shared memory, has no raw ones.
  let next = 0;
  const texts = tensors.map((tensor) =>
    v2TensorText(tensor, tensor.contents === undefined ? raws[next++] : undefined, max),
  );
  const asked = outputs.length === 0 ? '' : `,"outputs":[${outputs.join(',')}]`;
  const rest = `${parametersMember(parameters)}${asked}`;
  return `{"${fields.member}":[${texts.join(',')}]${rest}}`;
}

export const v2RequestText = (message: Uint8Array, max: ValuesMax): string =>
  v2Text(message, REQUEST, max);

export const v2ResponseText = (message: Uint8Array, max: ValuesMax): string =>
  v2Text(message, RESPONSE, max);

/** Converts a ModelStreamInferResponse that has a response. */
export function v2StreamText(message: Uint8Array, max: ValuesMax): string {
  const reader = new WireReader(message, 'ModelStreamInferResponse');
  let text = '{}';
  while (reader.next()) {
    if (reader.field === MODEL_STREAM_INFER_RESPONSE.inferResponse)
      text = v2ResponseText(reader.view(), max);
    else reader.skip();
  }
  return text;
}

/** A TensorProto as the rest of a tensor's object. */
function tensorProtoText(name: string, bytes: Uint8Array, max: ValuesMax): string {
  let type: DataType = UNKNOWN;
  const shape: bigint[] = [];
  const head = new WireReader(bytes, 'TensorProto');
  while (head.next()) {
    if (head.field === TENSOR_PROTO.dtype) {
      const dtype = dtypeOfCode(head.number());
      type = dtype === undefined ? UNKNOWN : DATA_TYPES[dtype];
    } else if (head.field === TENSOR_PROTO.tensorShape)
      readShape(head.nested('TensorShapeProto'), shape);
    else head.skip();
  }
  const values = new TensorValues(type, max);
  const reader = new WireReader(bytes, 'TensorProto');
  while (reader.next()) {
    if (reader.field === TENSOR_PROTO.tensorContent) values.addRaw(reader.view());
    else if (reader.field === type.valueField) values.addField(reader);
    else reader.skip();
  }
  return tensorText(name, type.v2 ?? '', shape, values.members);
}

function readShape(reader: WireReader, shape: bigint[]): void {
  while (reader.next()) {
    if (reader.field !== TENSOR_SHAPE_PROTO.dim) {
      reader.skip();
      continue;
    }
    const dim = reader.nested('Dim');
    let size = 0n;
    while (dim.next()) {
      if (dim.field === DIM.size) size = dim.int64();
      else dim.skip();
    }
    shape.push(size);
  }
}

function predictText(message: Uint8Array, isRequest: boolean, max: ValuesMax): string {
  const reader = new WireReader(message, isRequest ? 'PredictRequest' : 'PredictResponse');
  const tensors = isRequest ? PREDICT_REQUEST.inputs : PREDICT_RESPONSE.outputs;
  const model = isRequest ? PREDICT_REQUEST.modelSpec : PREDICT_RESPONSE.modelSpec;
  const spec = emptyModelSpec();
  const texts: string[] = [];
  const filter: string[] = [];
  while (reader.next()) {
    if (reader.field === tensors) texts.push(entryText(reader.nested('entry'), max));
    else if (reader.field === model) readModelSpec(reader.nested('ModelSpec'), spec);
    else if (isRequest && reader.field === PREDICT_REQUEST.outputFilter)
      filter.push(reader.string());
    else reader.skip();
  }
  const named = [
    ...(spec.signature === '' ? [] : [`"signature_name":${JSON.stringify(spec.signature)}`]),
    ...(spec.label === undefined ? [] : [`"version_label":${JSON.stringify(spec.label)}`]),
    ...(filter.length === 0 ? [] : [`"output_filter":${JSON.stringify(filter)}`]),
    `"${isRequest ? 'inputs' : 'outputs'}":[${texts.join(',')}]`,
  ];
  return `{${named.join(',')}}`;
}

function entryText(reader: WireReader, max: ValuesMax): string {
  let name = '';
  let tensor = new Uint8Array();
  while (reader.next()) {
    if (reader.field === MAP_ENTRY.key) name = reader.string();
    else if (reader.field === MAP_ENTRY.value) tensor = new Uint8Array(reader.view());
    else reader.skip();
  }
  return tensorProtoText(name, tensor, max);
}

export const predictRequestText = (message: Uint8Array, max: ValuesMax): string =>
  predictText(message, true, max);

export const predictResponseText = (message: Uint8Array, max: ValuesMax): string =>
  predictText(message, false, max);
