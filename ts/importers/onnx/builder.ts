// Writes ONNX models: deterministic, minimal, without checks of operators (the runtime makes those
// at load). Used by importers and by the scripts that make example and fixture models. Control
// plane. Source: field numbers of onnx/onnx.proto (ONNX IR version 8).
import {
  MODEL_PROTO,
  OPERATOR_SET_ID_PROTO,
  STRING_STRING_ENTRY_PROTO,
  GRAPH_PROTO,
  NODE_PROTO,
  ATTRIBUTE_PROTO,
  TENSOR_PROTO,
  VALUE_INFO_PROTO,
  TYPE_PROTO,
  TYPE_PROTO_TENSOR,
  TYPE_PROTO_MAP,
  TYPE_PROTO_SEQUENCE,
  TENSOR_SHAPE_PROTO,
  TENSOR_SHAPE_PROTO_DIMENSION as DIMENSION,
  ATTRIBUTE_PROTO_ATTRIBUTE_TYPE as ATTRIBUTE_TYPE,
  TENSOR_PROTO_DATA_LOCATION as DATA_LOCATION,
} from '../../protobuf/generated/onnx-fields.js';
import { elementCount } from '../../model/shape.js';
import { ErrorCode, ServalError } from '../../base/errors.js';
import { dataTypeOfOnnx, type ElementType } from '../../model/datatype.js';
import { ProtobufWriter } from '../../protobuf/writer.js';

/** ONNX TensorProto.DataType. */
export const ELEMENT_TYPES: Readonly<Record<ElementType, number>> = {
  float: 1,
  uint8: 2,
  int8: 3,
  uint16: 4,
  int16: 5,
  int32: 6,
  int64: 7,
  string: 8,
  bool: 9,
  float16: 10,
  double: 11,
  uint32: 12,
  uint64: 13,
  bfloat16: 16,
};

/** A fixed size, a symbolic name, or undefined for an unknown dimension. */
export type OnnxDim = number | string | undefined;

/** An input or output. Without `shape` even the rank is unknown; `[]` is a scalar. */
export interface OnnxValue {
  readonly name: string;
  readonly type: ElementType;
  readonly shape?: readonly OnnxDim[];
  /** The container of the tensors; maps: a sequence of maps from this type to floats. */
  readonly container?: 'sequence' | 'optional' | 'maps';
}

/**
 * A constant. `data`: little-endian elements, row-major; for type "string" the strings (or their
 * bytes); or the location of the elements: the runtime receives those of a `location` by name.
 */
export interface OnnxTensor {
  readonly name: string;
  readonly type: ElementType;
  readonly dims: readonly number[];
  readonly data: Uint8Array | readonly (string | Uint8Array)[] | OnnxExternalData;
}

/**
 * TensorProto.external_data. `location`: a path below the model's folder, or any word if the
 * runtime receives the initializer itself.
 */
export interface OnnxExternalData {
  readonly location: string;
  readonly offset: number;
  readonly byteLength: number;
}

export type OnnxAttribute =
  | { readonly float: number }
  | { readonly int: number | bigint }
  | { readonly string: string | Uint8Array }
  | { readonly tensor: OnnxTensor }
  | { readonly graph: OnnxGraph }
  | { readonly floats: readonly number[] }
  | { readonly ints: readonly (number | bigint)[] }
  | { readonly strings: readonly string[] };

/** An operator. "" in `inputs` or `outputs` omits an optional one. */
export interface OnnxNode {
  readonly op: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly name?: string;
  readonly domain?: string;
  readonly attributes?: Readonly<Record<string, OnnxAttribute>>;
}

export interface OnnxGraph {
  readonly name: string;
  readonly inputs: readonly OnnxValue[];
  readonly outputs: readonly OnnxValue[];
  readonly nodes: readonly OnnxNode[];
  readonly initializers?: readonly OnnxTensor[];
  /** Types of values that the runtime cannot infer: outputs of custom operators. */
  readonly valueInfos?: readonly OnnxValue[];
  readonly doc?: string;
}

export interface OnnxModel {
  readonly graph: OnnxGraph;
  readonly irVersion?: number;
  /** Operator set version per domain; "" is ONNX's own. */
  readonly opsets?: Readonly<Record<string, number>>;
  readonly producerName?: string;
  readonly producerVersion?: string;
  readonly domain?: string;
  readonly modelVersion?: number | bigint;
  readonly doc?: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

const DEFAULT_IR_VERSION = 8;
const DEFAULT_OPSETS: Readonly<Record<string, number>> = { '': 17 };

/** The model as the bytes of an .onnx file. Equal models give equal bytes.
 * Errors: InvalidArgument naming the tensor whose data does not fit its dims; Unimplemented above
 * 2 GiB. */
export function encodeModel(model: OnnxModel): Uint8Array {
  const out = new ProtobufWriter();
  out.varint(MODEL_PROTO.irVersion, model.irVersion ?? DEFAULT_IR_VERSION);
  out.string(MODEL_PROTO.producerName, model.producerName ?? 'serval');
  if (model.producerVersion !== undefined)
    out.string(MODEL_PROTO.producerVersion, model.producerVersion);
  if (model.domain !== undefined) out.string(MODEL_PROTO.domain, model.domain);
  if (model.modelVersion !== undefined) out.varint(MODEL_PROTO.modelVersion, model.modelVersion);
  if (model.doc !== undefined) out.string(MODEL_PROTO.docString, model.doc);
  out.message(MODEL_PROTO.graph, (inner) => writeGraph(inner, model.graph));
  for (const [domain, version] of Object.entries(model.opsets ?? DEFAULT_OPSETS)) {
    out.message(MODEL_PROTO.opsetImport, (inner) =>
      inner
        .string(OPERATOR_SET_ID_PROTO.domain, domain)
        .varint(OPERATOR_SET_ID_PROTO.version, version),
    );
  }
  for (const [key, value] of Object.entries(model.metadata ?? {})) {
    out.message(MODEL_PROTO.metadataProps, (inner) =>
      inner
        .string(STRING_STRING_ENTRY_PROTO.key, key)
        .string(STRING_STRING_ENTRY_PROTO.value, value),
    );
  }
  return out.concat();
}

/** Little-endian bytes of a FLOAT tensor's elements. */
export function floatBytes(values: readonly number[] | Float32Array): Uint8Array {
  const out = new Uint8Array(values.length * 4);
  const view = new DataView(out.buffer);
  for (let i = 0; i < values.length; i++) view.setFloat32(i * 4, values[i] ?? 0, true);
  return out;
}

/** Little-endian bytes of an INT64 tensor's elements. */
export function int64Bytes(values: readonly (number | bigint)[]): Uint8Array {
  const out = new Uint8Array(values.length * 8);
  const view = new DataView(out.buffer);
  values.forEach((value, i) => view.setBigInt64(i * 8, BigInt(value), true));
  return out;
}

function writeGraph(out: ProtobufWriter, graph: OnnxGraph): void {
  for (const node of graph.nodes) out.message(GRAPH_PROTO.node, (inner) => writeNode(inner, node));
  out.string(GRAPH_PROTO.name, graph.name);
  for (const tensor of graph.initializers ?? []) {
    out.message(GRAPH_PROTO.initializer, (inner) => writeTensor(inner, tensor));
  }
  if (graph.doc !== undefined) out.string(GRAPH_PROTO.docString, graph.doc);
  for (const value of graph.inputs)
    out.message(GRAPH_PROTO.input, (inner) => writeValue(inner, value));
  for (const value of graph.outputs)
    out.message(GRAPH_PROTO.output, (inner) => writeValue(inner, value));
  for (const value of graph.valueInfos ?? [])
    out.message(GRAPH_PROTO.valueInfo, (inner) => writeValue(inner, value));
}

function writeNode(out: ProtobufWriter, node: OnnxNode): void {
  for (const input of node.inputs) out.string(NODE_PROTO.input, input);
  for (const output of node.outputs) out.string(NODE_PROTO.output, output);
  if (node.name !== undefined) out.string(NODE_PROTO.name, node.name);
  out.string(NODE_PROTO.opType, node.op);
  for (const [name, attribute] of Object.entries(node.attributes ?? {})) {
    out.message(NODE_PROTO.attribute, (inner) => writeAttribute(inner, name, attribute));
  }
  if (node.domain !== undefined) out.string(NODE_PROTO.domain, node.domain);
}

function writeAttribute(out: ProtobufWriter, name: string, attribute: OnnxAttribute): void {
  out.string(ATTRIBUTE_PROTO.name, name);
  const { type } = ATTRIBUTE_PROTO;
  if ('float' in attribute) {
    out.float(ATTRIBUTE_PROTO.f, attribute.float).varint(type, ATTRIBUTE_TYPE.FLOAT);
  } else if ('int' in attribute) {
    out.varint(ATTRIBUTE_PROTO.i, attribute.int).varint(type, ATTRIBUTE_TYPE.INT);
  } else if ('string' in attribute) {
    writeText(out, ATTRIBUTE_PROTO.s, attribute.string);
    out.varint(type, ATTRIBUTE_TYPE.STRING);
  } else if ('tensor' in attribute) {
    out
      .message(ATTRIBUTE_PROTO.t, (inner) => writeTensor(inner, attribute.tensor))
      .varint(type, ATTRIBUTE_TYPE.TENSOR);
  } else if ('graph' in attribute) {
    out
      .message(ATTRIBUTE_PROTO.g, (inner) => writeGraph(inner, attribute.graph))
      .varint(type, ATTRIBUTE_TYPE.GRAPH);
  } else if ('floats' in attribute) {
    for (const value of attribute.floats) out.float(ATTRIBUTE_PROTO.floats, value);
    out.varint(type, ATTRIBUTE_TYPE.FLOATS);
  } else if ('ints' in attribute) {
    for (const value of attribute.ints) out.varint(ATTRIBUTE_PROTO.ints, value);
    out.varint(type, ATTRIBUTE_TYPE.INTS);
  } else {
    for (const value of attribute.strings) out.string(ATTRIBUTE_PROTO.strings, value);
    out.varint(type, ATTRIBUTE_TYPE.STRINGS);
  }
}

function writeText(out: ProtobufWriter, field: number, text: string | Uint8Array): void {
  if (typeof text === 'string') out.string(field, text);
  else out.bytes(field, text);
}

function isExternal(data: OnnxTensor['data']): data is OnnxExternalData {
  return 'location' in data;
}

function writeTensor(out: ProtobufWriter, tensor: OnnxTensor): void {
  checkTensor(tensor);
  const { name, data } = tensor;
  for (const dim of tensor.dims) out.varint(TENSOR_PROTO.dims, dim);
  out.varint(TENSOR_PROTO.dataType, ELEMENT_TYPES[tensor.type]);
  if (data instanceof Uint8Array) {
    out.string(TENSOR_PROTO.name, name).bytes(TENSOR_PROTO.rawData, data);
  } else if (isExternal(data)) {
    out.string(TENSOR_PROTO.name, name);
    const { location, offset, byteLength } = data;
    const entries = { location, offset: String(offset), length: String(byteLength) };
    for (const [key, value] of Object.entries(entries)) {
      out.message(TENSOR_PROTO.externalData, (inner) =>
        inner
          .string(STRING_STRING_ENTRY_PROTO.key, key)
          .string(STRING_STRING_ENTRY_PROTO.value, value),
      );
    }
    out.varint(TENSOR_PROTO.dataLocation, DATA_LOCATION.EXTERNAL);
  } else {
    for (const text of data) writeText(out, TENSOR_PROTO.stringData, text);
    out.string(TENSOR_PROTO.name, name);
  }
}

function checkTensor(tensor: OnnxTensor): void {
  const { data } = tensor;
  const isString = tensor.type === 'string';
  const raw = data instanceof Uint8Array || isExternal(data);
  const elements = elementCount(tensor.dims);
  const expected = isString ? elements : elements * dataTypeOfOnnx(tensor.type).bytes;
  const unit = isString ? 'strings' : 'bytes';
  const got = isExternal(data) ? data.byteLength : data.length;
  const ok = tensor.dims.every((dim) => Number.isSafeInteger(dim) && dim >= 0);
  if (ok && raw !== isString && got === expected) return;
  throw new ServalError(
    ErrorCode.InvalidArgument,
    `tensor '${tensor.name}' of type ${tensor.type} and dims [${tensor.dims.join(',')}]: ` +
      `expected ${expected} ${unit}, got ${got}${raw ? ' bytes' : ' strings'}`,
  );
}

function writeValue(out: ProtobufWriter, value: OnnxValue): void {
  out.string(VALUE_INFO_PROTO.name, value.name);
  const { container, type, shape } = value;
  const tensor = (out: ProtobufWriter): void => {
    out.message(TYPE_PROTO.tensorType, (inner) => {
      inner.varint(TYPE_PROTO_TENSOR.elemType, ELEMENT_TYPES[type]);
      if (shape !== undefined)
        inner.message(TYPE_PROTO_TENSOR.shape, (dims) => writeShape(dims, shape));
    });
  };
  const map = (out: ProtobufWriter): void => {
    out.message(TYPE_PROTO.mapType, (inner) => {
      inner.varint(TYPE_PROTO_MAP.keyType, ELEMENT_TYPES[type]);
      inner.message(TYPE_PROTO_MAP.valueType, (float) =>
        float.message(TYPE_PROTO.tensorType, (one) =>
          one.varint(TYPE_PROTO_TENSOR.elemType, ELEMENT_TYPES.float),
        ),
      );
    });
  };
  out.message(VALUE_INFO_PROTO.type, (outer) => {
    if (container === undefined) return tensor(outer);
    const field = container === 'optional' ? TYPE_PROTO.optionalType : TYPE_PROTO.sequenceType;
    outer.message(field, (inner) =>
      inner.message(TYPE_PROTO_SEQUENCE.elemType, container === 'maps' ? map : tensor),
    );
  });
}

function writeShape(out: ProtobufWriter, shape: readonly OnnxDim[]): void {
  for (const dim of shape) {
    out.message(TENSOR_SHAPE_PROTO.dim, (inner) => {
      if (typeof dim === 'number') inner.varint(DIMENSION.dimValue, dim);
      if (typeof dim === 'string') inner.string(DIMENSION.dimParam, dim);
    });
  }
}
