// Model and node files in protobuf. Importer's worker thread; pure.
// Source: tabular.md 4.1 (the messages of ml.bundle).
import { MAP_ENTRY } from '../../../protobuf/generated/map-entry-fields.js';
import {
  MODEL,
  NODE,
  NODE_SHAPE,
  SOCKET,
  ATTRIBUTES,
  VALUE,
  SCALAR,
  TENSOR,
  TENSOR_SHAPE,
  TENSOR_SHAPE_TENSOR_DIMENSION as DIMENSION,
  DATA_SHAPE,
} from '../../../protobuf/generated/mleap-fields.js';
import { modelInvalid } from '../../../base/errors.js';
import { WireReader } from '../../../protobuf/reader.js';
import { rawValues } from './json.js';
import {
  type BasicType,
  type BundleModel,
  type BundleNode,
  type BundleValue,
  type DataShape,
  EMPTY_VALUE,
  type Socket,
} from './values.js';

const BASIC_TYPES = new Map<number, BasicType>([
  [1, 'boolean'],
  [2, 'byte'],
  [3, 'short'],
  [4, 'int'],
  [5, 'long'],
  [6, 'float'],
  [7, 'double'],
  [100, 'string'],
  [101, 'byte_string'],
]);
const SHAPES = ['scalar', 'list', 'tensor'] as const;
const UINT32_RANGE = 4_294_967_296;
const INT64_SIGN = 2_147_483_648;

export function modelOfProto(bytes: Uint8Array, file: string): BundleModel {
  const reader = new WireReader(bytes, file);
  const attributes = new Map<string, BundleValue>();
  let op = '';
  while (reader.next()) {
    if (reader.field === MODEL.op) op = reader.string();
    else if (reader.field === MODEL.attributes)
      readAttributes(reader.nested(file), file, attributes);
    else reader.skip();
  }
  if (op === '') throw modelInvalid(`${file}: expected an op, got none`);
  return { op, attributes };
}

export function nodeOfProto(bytes: Uint8Array, file: string): BundleNode {
  const reader = new WireReader(bytes, file);
  let name = '';
  const inputs: Socket[] = [];
  const outputs: Socket[] = [];
  while (reader.next()) {
    if (reader.field === NODE.name) {
      name = reader.string();
    } else if (reader.field === NODE.shape) {
      const shape = reader.nested(file);
      while (shape.next()) {
        if (shape.field === NODE_SHAPE.inputs) inputs.push(readSocket(shape.nested(file)));
        else if (shape.field === NODE_SHAPE.outputs) outputs.push(readSocket(shape.nested(file)));
        else shape.skip();
      }
    } else {
      reader.skip();
    }
  }
  return { name, inputs, outputs };
}

function readSocket(reader: WireReader): Socket {
  let port = '';
  let name = '';
  while (reader.next()) {
    if (reader.field === SOCKET.port) port = reader.string();
    else if (reader.field === SOCKET.name) name = reader.string();
    else reader.skip();
  }
  return { port, name };
}

function readAttributes(reader: WireReader, file: string, to: Map<string, BundleValue>): void {
  while (reader.next()) {
    if (reader.field !== ATTRIBUTES.list) {
      reader.skip();
      continue;
    }
    const entry = reader.nested(file);
    let name = '';
    let value = EMPTY_VALUE;
    while (entry.next()) {
      if (entry.field === MAP_ENTRY.key) name = entry.string();
      else if (entry.field === MAP_ENTRY.value) value = readValue(entry.nested(file), file);
      else entry.skip();
    }
    to.set(name, value);
  }
}

function readValue(reader: WireReader, file: string): BundleValue {
  let value = EMPTY_VALUE;
  while (reader.next()) {
    const { field } = reader;
    if (field === VALUE.scalar) value = readMembers(reader.nested(file), file, 'scalar');
    else if (field === VALUE.list) value = readMembers(reader.nested(file), file, 'list');
    else if (field === VALUE.tensor) value = readTensor(reader.nested(file), file);
    else reader.skip();
  }
  return value;
}

/** Scalar and List have the same members, once or many times. */
function readMembers(reader: WireReader, file: string, form: 'scalar' | 'list'): BundleValue {
  const numbers: number[] = [];
  const texts: string[] = [];
  const booleans: boolean[] = [];
  const shapes: DataShape[] = [];
  const types: BasicType[] = [];
  const tensors: BundleValue[] = [];
  while (reader.next()) {
    switch (reader.field) {
      case SCALAR.boolean:
        reader.varints((each) => booleans.push(each.low !== 0));
        break;
      case SCALAR.string:
        texts.push(reader.string());
        break;
      case SCALAR.int:
      case SCALAR.long:
        reader.varints((each) => numbers.push(signed(each)));
        break;
      case SCALAR.float:
      case SCALAR.double:
        pushReals(reader, reader.field === SCALAR.float ? 4 : 8, numbers);
        break;
      case SCALAR.tensor:
        tensors.push(readTensor(reader.nested(file), file));
        break;
      case SCALAR.basicType:
        reader.varints((each) => types.push(basicType(each.low, file)));
        break;
      case SCALAR.dataShape:
        shapes.push(readShape(reader.nested(file), file));
        break;
      case SCALAR.model:
        throw modelInvalid(`${file}: models inside of attributes are not supported`);
      default:
        reader.skip();
    }
  }
  return {
    ...EMPTY_VALUE,
    form,
    numbers: Float64Array.from(numbers),
    texts,
    booleans,
    shapes,
    types,
    tensors,
  };
}

function pushReals(reader: WireReader, size: 4 | 8, to: number[]): void {
  const bytes = reader.fixed(size);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = 0; at < bytes.length; at += size) {
    to.push(size === 4 ? view.getFloat32(at, true) : view.getFloat64(at, true));
  }
}

function signed({ low, high }: WireReader): number {
  return (high >= INT64_SIGN ? high - UINT32_RANGE : high) * UINT32_RANGE + low;
}

function readTensor(reader: WireReader, file: string): BundleValue {
  let type: BasicType | undefined;
  let dimensions: readonly number[] = [];
  let bytes: Uint8Array = new Uint8Array();
  while (reader.next()) {
    if (reader.field === TENSOR.base) type = basicType(reader.number(), file);
    else if (reader.field === TENSOR.shape) dimensions = readDimensions(reader.nested(file), file);
    else if (reader.field === TENSOR.value) bytes = reader.view();
    else reader.skip();
  }
  if (type === undefined) throw modelInvalid(`${file}: a tensor has no type`);
  return { ...EMPTY_VALUE, form: 'tensor', dimensions, ...rawValues(bytes, type, file) };
}

function readDimensions(reader: WireReader, file: string): readonly number[] {
  const dimensions: number[] = [];
  while (reader.next()) {
    if (reader.field !== TENSOR_SHAPE.dimensions) {
      reader.skip();
      continue;
    }
    const dimension = reader.nested(file);
    let size = 0;
    while (dimension.next()) {
      if (dimension.field === DIMENSION.size) {
        dimension.varint();
        size = signed(dimension);
      } else {
        dimension.skip();
      }
    }
    dimensions.push(size);
  }
  return dimensions;
}

function readShape(reader: WireReader, file: string): DataShape {
  let base: DataShape['base'] = 'scalar';
  let nullable = false;
  let dimensions: readonly number[] = [];
  while (reader.next()) {
    if (reader.field === DATA_SHAPE.base) {
      const number = reader.number();
      const known = SHAPES[number];
      if (known === undefined) throw modelInvalid(`${file}: shape ${number} is not known`);
      base = known;
    } else if (reader.field === DATA_SHAPE.isNullable) {
      nullable = reader.number() !== 0;
    } else if (reader.field === DATA_SHAPE.tensorShape) {
      dimensions = readDimensions(reader.nested(file), file);
    } else {
      reader.skip();
    }
  }
  return { base, nullable, dimensions };
}

function basicType(number: number, file: string): BasicType {
  const type = BASIC_TYPES.get(number);
  if (type === undefined) throw modelInvalid(`${file}: basic type ${number} is not known`);
  return type;
}
