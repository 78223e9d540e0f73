// Encodes one request in the forms that the paths of a bench send. Pure; control plane. Source:
// docs/reference/protocols/v2-rest.md; proto/wire/inference.proto.
import { BINARY_TYPE, JSON_TYPE, JSON_LENGTH_HEADER } from '../../../base/media-types.js';
import { elementCount } from '../../../model/shape.js';
import { configError } from '../../../config/values/values.js';
import { ErrorCode, ServalError } from '../../../base/errors.js';
import { elementValues } from '../../../library/elements.js';
import { columnsOf, tableBody } from '../../../library/table-request.js';
import { encodeInputs, tensorBody, type RequestBody } from '../../../library/tensor-request.js';
import type { EncodedTensor, InputInfo, Inputs } from '../../../library/types.js';
import { BENCH_ELEMENTS_MAX, BENCH_REQUEST_BYTES_MAX } from '../../../base/limits.js';
import { INFER_TENSOR_CONTENTS } from '../../../protobuf/generated/inference-fields.js';
import { ProtobufWriter } from '../../../protobuf/writer.js';
import {
  writeInput,
  writeModel,
  writeRequestParameters,
  writeTensors,
} from '../../infer-message.js';
import type { LoadRequest } from '../load/sender.js';
import { callOf, carrierOf } from '../paths.js';
import type { BenchPath } from '../types.js';
import { prefixed } from './message-prefix.js';
import { requestPath, type RequestPlace } from './place.js';
import { columnsOfRows, tensorsOfRows } from './rows.js';
import { predictMessage, predictTableMessage, v1Body, v1TableBody } from './serving-bodies.js';

type Rows = readonly Readonly<Record<string, unknown>>[];

export interface RequestModel {
  readonly inputs: readonly InputInfo[];
  readonly isTable: boolean;
  /** Whether every output has the same rows, if known: V1's row format needs it. */
  readonly rowsOut: boolean;
}

/**
 * The request of a path; `batch` 0: unchanged. The engine needs no place. Errors: InvalidArgument;
 * Unimplemented: the path has no such request.
 */
export function loadRequest(
  path: BenchPath,
  {
    model,
    values,
    batch,
    place,
  }: {
    readonly model: RequestModel;
    readonly values: Inputs | Rows;
    readonly batch: number;
    readonly place: RequestPlace | undefined;
  },
): LoadRequest {
  const wanted = { path, model, batch, place };
  const isTable = model.isTable || (path === 'v1-json' && Array.isArray(values));
  const request = isTable
    ? tableRequest(wanted, values)
    : tensorRequest(wanted, Array.isArray(values) ? columnsOf(values as Rows) : (values as Inputs));
  const body = carriedBody(path, request, place);
  checkSize('bytes', body.length, BENCH_REQUEST_BYTES_MAX);
  const { jsonBytes } = request;
  if (place === undefined) return { path: '', fields: [], body, jsonBytes };
  if (carrierOf(path) === 'grpc') {
    return { path: callOf(path), fields: Object.entries(place.headers), body, jsonBytes };
  }
  const fields = [...typeFields(jsonBytes), ...Object.entries(place.headers)];
  return { path: requestPath(path, place), fields, body, jsonBytes };
}

function checkSize(what: string, got: number, most: number): void {
  if (got <= most) return;
  const text = `expected at most ${most} ${what} in a request, got ${Math.ceil(got)}`;
  throw configError('--batch', text);
}

/** How often the available rows are repeated in a request. */
const timesOf = ([rows = 1]: readonly number[], batch: number): number =>
  batch === 0 ? 1 : batch / Math.max(1, rows);

/** Adds gRPC's prefix and V2's model name. */
function carriedBody(
  path: BenchPath,
  { body }: RequestBody,
  place: RequestPlace | undefined,
): Uint8Array {
  const rest = new Uint8Array(body);
  if (path === 'grpc-predict') return prefixed(rest);
  if (path !== 'grpc' || place === undefined) return rest;
  const names = new ProtobufWriter();
  writeModel(names, place.model, place.version);
  return prefixed(Buffer.concat([names.concat(), rest]));
}

interface Wanted {
  readonly path: BenchPath;
  readonly model: RequestModel;
  readonly batch: number;
  readonly place: RequestPlace | undefined;
}

const plainBody = (bytes: Uint8Array): RequestBody => ({
  body: new Uint8Array(bytes).buffer,
  jsonBytes: -1,
});

/** The place of a path that goes to a server. */
function placed(place: RequestPlace | undefined): RequestPlace {
  if (place === undefined) throw new TypeError('a request without a place');
  return place;
}

function tensorRequest({ path, model, batch, place }: Wanted, values: Inputs): RequestBody {
  const own = encodeInputs(model.inputs, values);
  const all = (size: (tensor: EncodedTensor) => number): number =>
    own.reduce((sum, one) => sum + size(one) * timesOf(one.shape, batch), 0);
  checkSize(
    'bytes',
    all(({ bytes }) => bytes.length),
    BENCH_REQUEST_BYTES_MAX,
  );
  const count = all(({ shape }) => elementCount(shape));
  const isJson = path === 'rest-json' || path === 'v1-json';
  if (isJson) checkSize('JSON values', count, BENCH_ELEMENTS_MAX);
  const tensors = batch > 0 ? tensorsOfRows(own, batch) : own;
  switch (path) {
    case 'engine':
    case 'rest-binary':
      return tensorBody(tensors, {});
    case 'rest-json':
      return jsonBody(tensors);
    case 'grpc':
      return { body: tensorMessage(tensors), jsonBytes: -1 };
    case 'v1-json':
      return plainBody(v1Body(tensors, placed(place).signature, batch > 0 && model.rowsOut));
    case 'grpc-predict':
      return plainBody(predictMessage(tensors, placed(place)));
  }
}

function tableRequest(
  { path, model: { inputs }, batch, place }: Wanted,
  values: Inputs | Rows,
): RequestBody {
  const columns = Array.isArray(values) ? columnsOf(values as Rows) : (values as Inputs);
  checkSize('cells', Object.keys(columns).length * batch, BENCH_ELEMENTS_MAX);
  const own = batch > 0 ? columnsOfRows(columns, batch) : columns;
  switch (path) {
    case 'engine':
    case 'rest-json':
      return tableBody(inputs, own, {});
    case 'rest-binary': {
      const text = 'tabular models are called with JSON or by gRPC';
      throw new ServalError(ErrorCode.Unimplemented, text);
    }
    case 'grpc':
      return { body: tableMessage(tableBody(inputs, own, {}).body), jsonBytes: -1 };
    case 'v1-json':
      return plainBody(v1TableBody(own, placed(place).signature));
    case 'grpc-predict':
      return plainBody(predictTableMessage(inputs, own, placed(place)));
  }
}

/** V2's JSON, as sent by clients without binary data. */
function jsonBody(tensors: readonly EncodedTensor[]): RequestBody {
  const inputs = tensors.map(({ name, datatype, shape, bytes, parameters }) => {
    const values = Array.from(elementValues(datatype, bytes) as ArrayLike<unknown>);
    const texts = values.map((value) => jsonValue(name, datatype, value));
    const own = {
      name,
      datatype,
      shape,
      ...(Object.keys(parameters).length > 0 && { parameters }),
    };
    return `${JSON.stringify(own).slice(0, -1)},"data":[${texts.join(',')}]}`;
  });
  const text = Buffer.from(`{"inputs":[${inputs.join(',')}]}`);
  return { body: new Uint8Array(text).buffer, jsonBytes: -1 };
}

function jsonValue(name: string, datatype: string, value: unknown): string {
  if (datatype === 'BOOL') return value === 0 ? 'false' : 'true';
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'number' && Number.isFinite(value)) {
    // Enough digits to distinguish adjacent floats.
    return String(datatype === 'FP32' ? Number(value.toPrecision(9)) : value);
  }
  const what = typeof value === 'number' ? String(value) : 'bytes that are not text';
  throw new ServalError(ErrorCode.Unimplemented, `input '${name}': JSON has no ${what}`);
}

/** ModelInferRequest without the model's name, which comes first. */
function tensorMessage(tensors: readonly EncodedTensor[]): ArrayBuffer {
  const writer = new ProtobufWriter();
  writeTensors(writer, tensors);
  return new Uint8Array(writer.concat()).buffer;
}

interface JsonColumn {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly data: readonly unknown[];
}

/** InferTensorContents, by datatype: field and form. */
const CONTENTS: Readonly<Record<string, readonly [number, 'varint' | 'float' | 'double']>> = {
  BOOL: [INFER_TENSOR_CONTENTS.boolContents, 'varint'],
  INT8: [INFER_TENSOR_CONTENTS.intContents, 'varint'],
  INT16: [INFER_TENSOR_CONTENTS.intContents, 'varint'],
  INT32: [INFER_TENSOR_CONTENTS.intContents, 'varint'],
  INT64: [INFER_TENSOR_CONTENTS.int64Contents, 'varint'],
  UINT8: [INFER_TENSOR_CONTENTS.uintContents, 'varint'],
  UINT16: [INFER_TENSOR_CONTENTS.uintContents, 'varint'],
  UINT32: [INFER_TENSOR_CONTENTS.uintContents, 'varint'],
  UINT64: [INFER_TENSOR_CONTENTS.uint64Contents, 'varint'],
  FP32: [INFER_TENSOR_CONTENTS.fp32Contents, 'float'],
  FP64: [INFER_TENSOR_CONTENTS.fp64Contents, 'double'],
  VECTOR: [INFER_TENSOR_CONTENTS.fp64Contents, 'double'],
};

/** The same for a tabular model, from its JSON. */
function tableMessage(body: ArrayBuffer): ArrayBuffer {
  const json = JSON.parse(Buffer.from(body).toString('utf8')) as {
    readonly parameters?: Readonly<Record<string, unknown>>;
    readonly inputs: readonly JsonColumn[];
  };
  const writer = new ProtobufWriter();
  writeRequestParameters(writer, json.parameters ?? {});
  for (const { name, datatype, shape, parameters = {}, data } of json.inputs) {
    const values = data.flat(Infinity);
    if (shape.some((dim) => dim < 0) || values.includes(null)) {
      const text = `input '${name}': missing cells or lists of different lengths`;
      throw new ServalError(ErrorCode.Unimplemented, `${text} can only be sent as JSON`);
    }
    writeInput(writer, { name, datatype, shape, parameters }, (contents) => {
      const [field, form] = CONTENTS[datatype] ?? [INFER_TENSOR_CONTENTS.bytesContents, undefined];
      if (form !== undefined) contents.packed(field, form, values.map(Number));
      else for (const value of values) contents.bytes(field, Buffer.from(String(value)));
    });
  }
  return new Uint8Array(writer.concat()).buffer;
}

/** REST headers that describe a body. */
const typeFields = (jsonBytes: number): LoadRequest['fields'] =>
  jsonBytes < 0
    ? [['content-type', JSON_TYPE]]
    : [
        ['content-type', BINARY_TYPE],
        [JSON_LENGTH_HEADER.toLowerCase(), String(jsonBytes)],
      ];
