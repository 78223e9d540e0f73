// Model and node files in protobuf. Importer's worker thread; pure.
// Source: tabular.md 4.1 (the messages of ml.bundle).
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
    if (reader.field === 1) op = reader.string();
    else if (reader.field === 2) readAttributes(reader.nested(file), file, attributes);
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
    if (reader.field === 1) {
      name = reader.string();
    } else if (reader.field === 2) {
      const shape = reader.nested(file);
      while (shape.next()) {
        if (shape.field === 1) inputs.push(readSocket(shape.nested(file)));
        else if (shape.field === 2) outputs.push(readSocket(shape.nested(file)));
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
    if (reader.field === 1) port = reader.string();
    else if (reader.field === 2) name = reader.string();
    else reader.skip();
  }
  return { port, name };
}

function readAttributes(reader: WireReader, file: string, to: Map<string, BundleValue>): void {
  while (reader.next()) {
    if (reader.field !== 1) {
      reader.skip();
      continue;
    }
    const entry = reader.nested(file);
    let name = '';
    let value = EMPTY_VALUE;
    while (entry.next()) {
      if (entry.field === 1) name = entry.string();
      else if (entry.field === 2) value = readValue(entry.nested(file), file);
      else entry.skip();
    }
    to.set(name, value);
  }
}

function readValue(reader: WireReader, file: string): BundleValue {
  let value = EMPTY_VALUE;
  while (reader.next()) {
    const { field } = reader;
    if (field === 1) value = readMembers(reader.nested(file), file, 'scalar');
    else if (field === 2) value = readMembers(reader.nested(file), file, 'list');
    else if (field === 3) value = readTensor(reader.nested(file), file);
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
      case 1:
        reader.varints((each) => booleans.push(each.low !== 0));
        break;
      case 2:
        texts.push(reader.string());
        break;
      case 3:
      case 4:
        reader.varints((each) => numbers.push(signed(each)));
        break;
      case 5:
      case 6:
        pushReals(reader, reader.field === 5 ? 4 : 8, numbers);
        break;
      case 8:
        tensors.push(readTensor(reader.nested(file), file));
        break;
      case 9:
        reader.varints((each) => types.push(basicType(each.low, file)));
        break;
      case 10:
        shapes.push(readShape(reader.nested(file), file));
        break;
      case 11:
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
    if (reader.field === 1) type = basicType(reader.number(), file);
    else if (reader.field === 2) dimensions = readDimensions(reader.nested(file), file);
    else if (reader.field === 3) bytes = reader.view();
    else reader.skip();
  }
  if (type === undefined) throw modelInvalid(`${file}: a tensor has no type`);
  return { ...EMPTY_VALUE, form: 'tensor', dimensions, ...rawValues(bytes, type, file) };
}

function readDimensions(reader: WireReader, file: string): readonly number[] {
  const dimensions: number[] = [];
  while (reader.next()) {
    if (reader.field !== 1) {
      reader.skip();
      continue;
    }
    const dimension = reader.nested(file);
    let size = 0;
    while (dimension.next()) {
      if (dimension.field === 1) {
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
    if (reader.field === 1) {
      const number = reader.number();
      const known = SHAPES[number];
      if (known === undefined) throw modelInvalid(`${file}: shape ${number} is not known`);
      base = known;
    } else if (reader.field === 2) {
      nullable = reader.number() !== 0;
    } else if (reader.field === 3) {
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
