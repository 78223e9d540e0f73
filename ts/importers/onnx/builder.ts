// Writes ONNX models: deterministic, minimal, without checks of operators (the runtime makes those
// at load). Used by importers and by the scripts that make example and fixture models. Control
// plane. Source: field numbers of onnx/onnx.proto (ONNX IR version 8).
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
  out.varint(1, model.irVersion ?? DEFAULT_IR_VERSION);
  out.string(2, model.producerName ?? 'serval');
  if (model.producerVersion !== undefined) out.string(3, model.producerVersion);
  if (model.domain !== undefined) out.string(4, model.domain);
  if (model.modelVersion !== undefined) out.varint(5, model.modelVersion);
  if (model.doc !== undefined) out.string(6, model.doc);
  out.message(7, (inner) => writeGraph(inner, model.graph));
  for (const [domain, version] of Object.entries(model.opsets ?? DEFAULT_OPSETS)) {
    out.message(8, (inner) => inner.string(1, domain).varint(2, version));
  }
  for (const [key, value] of Object.entries(model.metadata ?? {})) {
    out.message(14, (inner) => inner.string(1, key).string(2, value));
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
  for (const node of graph.nodes) out.message(1, (inner) => writeNode(inner, node));
  out.string(2, graph.name);
  for (const tensor of graph.initializers ?? []) {
    out.message(5, (inner) => writeTensor(inner, tensor));
  }
  if (graph.doc !== undefined) out.string(10, graph.doc);
  for (const value of graph.inputs) out.message(11, (inner) => writeValue(inner, value));
  for (const value of graph.outputs) out.message(12, (inner) => writeValue(inner, value));
  for (const value of graph.valueInfos ?? []) out.message(13, (inner) => writeValue(inner, value));
}

function writeNode(out: ProtobufWriter, node: OnnxNode): void {
  for (const input of node.inputs) out.string(1, input);
  for (const output of node.outputs) out.string(2, output);
  if (node.name !== undefined) out.string(3, node.name);
  out.string(4, node.op);
  for (const [name, attribute] of Object.entries(node.attributes ?? {})) {
    out.message(5, (inner) => writeAttribute(inner, name, attribute));
  }
  if (node.domain !== undefined) out.string(7, node.domain);
}

function writeAttribute(out: ProtobufWriter, name: string, attribute: OnnxAttribute): void {
  out.string(1, name);
  const type = 20;
  if ('float' in attribute) {
    out.float(2, attribute.float).varint(type, 1);
  } else if ('int' in attribute) {
    out.varint(3, attribute.int).varint(type, 2);
  } else if ('string' in attribute) {
    writeText(out, 4, attribute.string);
    out.varint(type, 3);
  } else if ('tensor' in attribute) {
    out.message(5, (inner) => writeTensor(inner, attribute.tensor)).varint(type, 4);
  } else if ('graph' in attribute) {
    out.message(6, (inner) => writeGraph(inner, attribute.graph)).varint(type, 5);
  } else if ('floats' in attribute) {
    for (const value of attribute.floats) out.float(7, value);
    out.varint(type, 6);
  } else if ('ints' in attribute) {
    for (const value of attribute.ints) out.varint(8, value);
    out.varint(type, 7);
  } else {
    for (const value of attribute.strings) out.string(9, value);
    out.varint(type, 8);
  }
}

function writeText(out: ProtobufWriter, field: number, text: string | Uint8Array): void {
  if (typeof text === 'string') out.string(field, text);
  else out.bytes(field, text);
}

function isExternal(data: OnnxTensor['data']): data is OnnxExternalData {
  return 'location' in data;
}

const EXTERNAL = 1;

function writeTensor(out: ProtobufWriter, tensor: OnnxTensor): void {
  checkTensor(tensor);
  const { name, data } = tensor;
  for (const dim of tensor.dims) out.varint(1, dim);
  out.varint(2, ELEMENT_TYPES[tensor.type]);
  if (data instanceof Uint8Array) {
    out.string(8, name).bytes(9, data);
  } else if (isExternal(data)) {
    out.string(8, name);
    const { location, offset, byteLength } = data;
    const entries = { location, offset: String(offset), length: String(byteLength) };
    for (const [key, value] of Object.entries(entries)) {
      out.message(13, (inner) => inner.string(1, key).string(2, value));
    }
    out.varint(14, EXTERNAL);
  } else {
    for (const text of data) writeText(out, 6, text);
    out.string(8, name);
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
  out.string(1, value.name);
  const { container, type, shape } = value;
  const tensor = (out: ProtobufWriter): void => {
    out.message(1, (inner) => {
      inner.varint(1, ELEMENT_TYPES[type]);
      if (shape !== undefined) inner.message(2, (dims) => writeShape(dims, shape));
    });
  };
  const map = (out: ProtobufWriter): void => {
    out.message(5, (inner) => {
      inner.varint(1, ELEMENT_TYPES[type]);
      inner.message(2, (float) => float.message(1, (one) => one.varint(1, ELEMENT_TYPES.float)));
    });
  };
  out.message(2, (outer) => {
    if (container === undefined) return tensor(outer);
    const field = container === 'optional' ? 9 : 4;
    outer.message(field, (inner) => inner.message(1, container === 'maps' ? map : tensor));
  });
}

function writeShape(out: ProtobufWriter, shape: readonly OnnxDim[]): void {
  for (const dim of shape) {
    out.message(1, (inner) => {
      if (typeof dim === 'number') inner.varint(1, dim);
      if (typeof dim === 'string') inner.string(2, dim);
    });
  }
}
