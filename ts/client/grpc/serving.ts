// TensorFlow Serving's Predict and its metadata over gRPC. Pure; Node only, any thread. Source:
// proto/wire/tensorflow_serving.proto, proto/wire/tensorflow.proto; tfserving.md 2.
import { fromBytes, fromJson, textOf, toBytes } from '../core/elements.js';
import { badResponse, wrongInput } from '../core/errors.js';
import { elementCount, type FlatTensor } from '../core/tensors.js';
import type { InferResult, Tensor, TensorInfo } from '../core/types.js';
import { MAP_ENTRY } from '../../protobuf/generated/map-entry-fields.js';
import {
  DATA_TYPE,
  SIGNATURE_DEF,
  TENSOR_INFO,
  TENSOR_PROTO,
  TENSOR_SHAPE_PROTO,
  TENSOR_SHAPE_PROTO_DIM as DIM,
} from '../../protobuf/generated/tensorflow-fields.js';
import {
  GET_MODEL_METADATA_REQUEST,
  GET_MODEL_METADATA_RESPONSE,
  MODEL_SPEC,
  PREDICT_REQUEST,
  PREDICT_RESPONSE,
  SIGNATURE_DEF_MAP,
} from '../../protobuf/generated/tensorflow-serving-fields.js';
import { INT64_VALUE } from '../../protobuf/generated/wrappers-fields.js';
import { ANY } from '../../protobuf/generated/any-fields.js';
import type { WireReader } from '../../protobuf/reader.js';
import { ProtobufWriter } from '../../protobuf/writer.js';
import { byName } from '../rest/v2-message.js';
import { addFloats, signed } from './contents.js';
import type { PredictOptions } from './options.js';

/** TensorFlow's data types by V2's datatypes. */
const TYPES: Readonly<Record<string, number>> = {
  FP32: DATA_TYPE.DT_FLOAT,
  FP64: DATA_TYPE.DT_DOUBLE,
  INT32: DATA_TYPE.DT_INT32,
  UINT8: DATA_TYPE.DT_UINT8,
  INT16: DATA_TYPE.DT_INT16,
  INT8: DATA_TYPE.DT_INT8,
  BYTES: DATA_TYPE.DT_STRING,
  INT64: DATA_TYPE.DT_INT64,
  BOOL: DATA_TYPE.DT_BOOL,
  BF16: DATA_TYPE.DT_BFLOAT16,
  UINT16: DATA_TYPE.DT_UINT16,
  FP16: DATA_TYPE.DT_HALF,
  UINT32: DATA_TYPE.DT_UINT32,
  UINT64: DATA_TYPE.DT_UINT64,
};
/** Types of references follow those of values by this number. */
const REFERENCE = 100;
const SIGNATURES = 'signature_def';
export const DEFAULT_SIGNATURE = 'serving_default';

const datatypeOf = (type: number): string =>
  Object.keys(TYPES).find((name) => TYPES[name] === type % REFERENCE) ?? `DT_${type}`;

/** Errors: INVALID_ARGUMENT naming the input. */
export function predictRequest(
  model: string,
  tensors: readonly FlatTensor[],
  options: PredictOptions,
): Uint8Array {
  const out = new ProtobufWriter();
  out.message(PREDICT_REQUEST.modelSpec, (spec) => writeSpec(spec, model, options));
  for (const { name, datatype, shape, values } of tensors) {
    const type = TYPES[datatype];
    if (type === undefined) {
      throw wrongInput(`input '${name}'`, `one of ${Object.keys(TYPES).join(', ')}`, datatype);
    }
    const where = `input '${name}'`;
    out.message(PREDICT_REQUEST.inputs, (entry) => {
      entry.string(MAP_ENTRY.key, name).message(MAP_ENTRY.value, (tensor) => {
        tensor.varint(TENSOR_PROTO.dtype, type).message(TENSOR_PROTO.tensorShape, (dims) => {
          for (const size of shape) {
            dims.message(TENSOR_SHAPE_PROTO.dim, (dim) => dim.varint(DIM.size, size));
          }
        });
        const bytes = toBytes(where, datatype, values);
        if (datatype !== 'BYTES') tensor.bytes(TENSOR_PROTO.tensorContent, bytes);
        else for (const text of textsOf(bytes)) tensor.bytes(TENSOR_PROTO.stringVal, text);
      });
    });
  }
  for (const name of options.outputs ?? []) out.string(PREDICT_REQUEST.outputFilter, name);
  return out.concat();
}

function* textsOf(bytes: Uint8Array): Generator<Uint8Array> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < bytes.length; ) {
    const end = at + 4 + view.getUint32(at, true);
    yield bytes.subarray(at + 4, end);
    at = end;
  }
}

function writeSpec(
  out: ProtobufWriter,
  model: string,
  { version = '', label, signature }: PredictOptions,
): void {
  out.string(MODEL_SPEC.name, model);
  if (label !== undefined) out.string(MODEL_SPEC.versionLabel, label);
  else if (version !== '') {
    if (!/^\d+$/.test(String(version)))
      throw wrongInput('version', 'a whole number', String(version));
    out.message(MODEL_SPEC.version, (value) => value.varint(INT64_VALUE.value, BigInt(version)));
  }
  if (signature !== undefined) out.string(MODEL_SPEC.signatureName, signature);
}

/** Errors: INTERNAL: a tensor whose values do not fit its shape. */
export function predictResult(reader: WireReader, raw: boolean | undefined): InferResult {
  const outputs: Tensor[] = [];
  let [model, version] = ['', ''];
  while (reader.next()) {
    if (reader.field === PREDICT_RESPONSE.outputs) {
      const { key, value } = entryOf(reader.nested('outputs'));
      outputs.push(tensorOf(key, value, raw));
    } else if (reader.field === PREDICT_RESPONSE.modelSpec) {
      const spec = reader.nested('ModelSpec');
      while (spec.next()) {
        if (spec.field === MODEL_SPEC.name) model = spec.string();
        else if (spec.field === MODEL_SPEC.version) version = int64Of(spec.nested('Int64Value'));
        else spec.skip();
      }
    } else reader.skip();
  }
  return { model, version, id: '', parameters: {}, outputs: byName(outputs) };
}

function int64Of(reader: WireReader): string {
  let value = 0n;
  while (reader.next()) {
    if (reader.field === INT64_VALUE.value) value = reader.int64();
    else reader.skip();
  }
  return String(value);
}

function entryOf(reader: WireReader): { key: string; value: WireReader | undefined } {
  let key = '';
  let value: WireReader | undefined;
  while (reader.next()) {
    if (reader.field === MAP_ENTRY.key) key = reader.string();
    else if (reader.field === MAP_ENTRY.value) value = reader.nested('value');
    else reader.skip();
  }
  return { key, value };
}

function tensorOf(name: string, reader: WireReader | undefined, raw?: boolean): Tensor {
  let type = 0;
  let shape: readonly number[] = [];
  let content: Uint8Array | undefined;
  const values: unknown[] = [];
  while (reader?.next() === true) {
    switch (reader.field) {
      case TENSOR_PROTO.dtype:
        type = reader.number();
        break;
      case TENSOR_PROTO.tensorShape:
        shape = shapeOf(reader.nested('TensorShapeProto'));
        break;
      case TENSOR_PROTO.tensorContent:
        content = reader.view();
        break;
      case TENSOR_PROTO.stringVal:
        values.push(textOf(reader.view(), true));
        break;
      case TENSOR_PROTO.floatVal:
        addFloats(values, reader, 4);
        break;
      case TENSOR_PROTO.doubleVal:
        addFloats(values, reader, 8);
        break;
      case TENSOR_PROTO.uint32Val:
      case TENSOR_PROTO.uint64Val:
        reader.varints((one) => values.push(BigInt.asUintN(64, signed(one))));
        break;
      case TENSOR_PROTO.intVal:
      case TENSOR_PROTO.int64Val:
      case TENSOR_PROTO.boolVal:
      case TENSOR_PROTO.halfVal:
        reader.varints((one) => values.push(signed(one)));
        break;
      default:
        reader.skip();
    }
  }
  const datatype = datatypeOf(type);
  const facts = { name, datatype, shape, parameters: {} };
  const where = `output '${name}'`;
  const count = elementCount(shape);
  if (content !== undefined && content.length > 0) {
    return { ...facts, data: fromBytes(where, datatype, content, count, raw) };
  }
  return { ...facts, data: valueData(where, datatype, values, count, raw) };
}

/** TensorFlow repeats the last value of a short list. */
function valueData(
  where: string,
  datatype: string,
  values: unknown[],
  count: number,
  raw?: boolean,
): Tensor['data'] {
  if (values.length > count || (values.length === 0 && count > 0)) {
    throw badResponse(where, `${count} elements of ${datatype}`, `${values.length}`);
  }
  while (values.length < count) values.push(values.at(-1));
  if (datatype === 'BYTES') return values.map((one) => textOf(one as Uint8Array, raw));
  if (datatype !== 'FP16' && datatype !== 'BF16') {
    const own = datatype === 'BOOL' ? values.map(Boolean) : values;
    return fromJson(where, datatype, own, raw);
  }
  const bits = Uint16Array.from(values, Number);
  return fromBytes(where, datatype, new Uint8Array(bits.buffer), count, raw);
}

function shapeOf(reader: WireReader): number[] {
  const shape: number[] = [];
  let isUnknown = false;
  while (reader.next()) {
    if (reader.field === TENSOR_SHAPE_PROTO.unknownRank) isUnknown = reader.number() !== 0;
    else if (reader.field === TENSOR_SHAPE_PROTO.dim) {
      const dim = reader.nested('Dim');
      let size = 0;
      while (dim.next()) {
        if (dim.field === DIM.size) size = Number(dim.int64());
        else dim.skip();
      }
      shape.push(size);
    } else reader.skip();
  }
  return isUnknown ? [-1] : shape;
}

/** GetModelMetadataRequest for the signatures. */
export function metadataRequest(model: string, options: PredictOptions): Uint8Array {
  const { signature: _, ...spec } = options;
  return new ProtobufWriter()
    .message(GET_MODEL_METADATA_REQUEST.modelSpec, (out) => writeSpec(out, model, spec))
    .string(GET_MODEL_METADATA_REQUEST.metadataField, SIGNATURES)
    .concat();
}

/** The inputs of every signature. */
export function signatureInputs(reader: WireReader): ReadonlyMap<string, readonly TensorInfo[]> {
  const signatures = new Map<string, readonly TensorInfo[]>();
  while (reader.next()) {
    if (reader.field !== GET_MODEL_METADATA_RESPONSE.metadata) {
      reader.skip();
      continue;
    }
    const { key, value: packed } = entryOf(reader.nested('metadata'));
    while (key === SIGNATURES && packed?.next() === true) {
      if (packed.field !== ANY.value) packed.skip();
      else readSignatures(packed.nested('SignatureDefMap'), signatures);
    }
  }
  return signatures;
}

function readSignatures(reader: WireReader, into: Map<string, readonly TensorInfo[]>): void {
  while (reader.next()) {
    if (reader.field !== SIGNATURE_DEF_MAP.signatureDef) {
      reader.skip();
      continue;
    }
    const { key, value: signature } = entryOf(reader.nested('signature_def'));
    const inputs: TensorInfo[] = [];
    while (signature?.next() === true) {
      if (signature.field === SIGNATURE_DEF.inputs) {
        const input = entryOf(signature.nested('inputs'));
        inputs.push(infoOf(input.key, input.value));
      } else signature.skip();
    }
    into.set(key, inputs);
  }
}

function infoOf(name: string, reader: WireReader | undefined): TensorInfo {
  let datatype = '';
  let shape: readonly number[] = [];
  while (reader?.next() === true) {
    if (reader.field === TENSOR_INFO.dtype) datatype = datatypeOf(reader.number());
    else if (reader.field === TENSOR_INFO.tensorShape) shape = shapeOf(reader.nested('shape'));
    else reader.skip();
  }
  return { name, datatype, shape };
}
