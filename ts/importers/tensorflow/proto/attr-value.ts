// Reads tensorflow.AttrValue and NameAttrList. Importer's worker thread; pure.
// Source: tensorflow/core/framework/attr_value.proto.
import {
  ATTR_VALUE,
  NAME_ATTR_LIST,
  ATTR_VALUE_LIST_VALUE as LIST_VALUE,
} from '../../../protobuf/generated/tensorflow-graph-fields.js';
import { modelInvalid } from '../../../base/errors.js';
import type { WireReader } from '../../../protobuf/reader.js';
import type {
  Attribute,
  AttributeList,
  Attributes,
  Dtype,
  FunctionRef,
  Shape,
  Tensor,
} from '../types.js';
import { dtypeOfCode } from '../../../model/datatype.js';
import {
  ATTRIBUTE_ITEMS,
  NESTING_MAX,
  OBJECT_ITEMS,
  STRING_ITEMS,
  lastInt64,
  readBool,
  readBytes,
  readFloats,
  readInt64,
  readMapEntry,
} from './read-context.js';
import type { ReadContext } from './read-context.js';
import { readTensor } from './tensor-proto.js';
import { readShape } from './tensor-shape.js';

/** Attribute lists by their field's name. */
type Lists = { -readonly [K in keyof AttributeList]: AttributeList[K][number][] };

/**
 * Reads one entry of a map of attributes into `into`. An attribute without a value, or of a data
 * type that the importer does not know, is omitted: code that needs it reports it missing.
 */
export function readAttribute(
  reader: WireReader,
  into: Map<string, Attribute>,
  context: ReadContext,
  depth = 0,
): void {
  context.count(ATTRIBUTE_ITEMS);
  const [key, value] = readMapEntry(
    reader,
    (entry) => readAttrValue(entry.nested('AttrValue'), context, depth),
    () => undefined,
  );
  if (value === undefined) into.delete(key);
  else into.set(context.shared(key), value);
}

/** undefined: no value, or of an unknown data type. Errors: ModelInvalid. */
export function readAttrValue(
  reader: WireReader,
  context: ReadContext,
  depth = 0,
): Attribute | undefined {
  let found: Attribute | undefined;
  // A oneof: the last one wins.
  while (reader.next()) {
    if (reader.field >= 1 && reader.field <= 10) found = readMember(reader, context, depth);
    else reader.skip();
  }
  return found;
}

function readMember(
  reader: WireReader,
  context: ReadContext,
  depth: number,
): Attribute | undefined {
  switch (reader.field) {
    case ATTR_VALUE.list:
      return readList(reader.nested('AttrValue.ListValue'), context, depth);
    case ATTR_VALUE.s:
      return { kind: 'bytes', value: readBytes(reader) };
    case ATTR_VALUE.i:
      return { kind: 'int', value: readInt64(reader) };
    case ATTR_VALUE.f:
      return { kind: 'float', value: readFloats(reader).at(-1) ?? 0 };
    case ATTR_VALUE.b:
      return { kind: 'bool', value: readBool(reader) };
    case ATTR_VALUE.type: {
      reader.varint();
      const value = dtypeOfCode(reader.low);
      return value === undefined ? unservedType(reader.low) : { kind: 'type', value };
    }
    case ATTR_VALUE.shape:
      return { kind: 'shape', value: readShape(reader.nested('TensorShapeProto')) };
    case ATTR_VALUE.tensor: {
      const value = readTensor(reader.nested('TensorProto'), context);
      return value === undefined ? undefined : { kind: 'tensor', value };
    }
    case ATTR_VALUE.placeholder:
      return { kind: 'placeholder', value: reader.string() };
    default:
      return { kind: 'function', value: readFunctionRef(reader, context, depth) };
  }
}

/** Types of types.proto that tensors may have inside a graph. */
const UNSERVED_TYPES: ReadonlyMap<number, string> = new Map([
  [24, 'float8_e5m2'],
  [25, 'float8_e4m3fn'],
  [26, 'float8_e4m3fnuz'],
  [27, 'float8_e4m3b11fnuz'],
  [28, 'float8_e5m2fnuz'],
  [29, 'int4'],
  [30, 'uint4'],
  [31, 'int2'],
  [32, 'uint2'],
  [33, 'float4_e2m1fn'],
]);

function unservedType(code: number): Attribute | undefined {
  const value = UNSERVED_TYPES.get(code);
  return value === undefined ? undefined : { kind: 'unserved type', value };
}

function readFunctionRef(outer: WireReader, context: ReadContext, depth: number): FunctionRef {
  if (depth >= NESTING_MAX) {
    throw modelInvalid(`AttrValue: expected functions at most ${NESTING_MAX} deep, got deeper`);
  }
  const reader = outer.nested('NameAttrList');
  const attributes = new Map<string, Attribute>();
  let name = '';
  while (reader.next()) {
    if (reader.field === NAME_ATTR_LIST.name) name = reader.string();
    else if (reader.field === NAME_ATTR_LIST.attr) {
      readAttribute(reader.nested('NameAttrList.AttrEntry'), attributes, context, depth + 1);
    } else reader.skip();
  }
  return { name, attributes: attributes as Attributes };
}

function readList(reader: WireReader, context: ReadContext, depth: number): Attribute | undefined {
  const lists: Lists = {
    bytes: [],
    ints: [],
    floats: [],
    bools: [],
    types: [],
    shapes: [],
    tensors: [],
    functions: [],
  };
  let isKnown = true;
  while (reader.next()) {
    if (!readListMember(reader, lists, context, depth)) isKnown = false;
  }
  return isKnown ? { kind: 'list', value: lists } : undefined;
}

/** false: of an unknown data type. */
function readListMember(
  reader: WireReader,
  lists: Lists,
  context: ReadContext,
  depth: number,
): boolean {
  const add = <T>(list: T[], value: T, items = 1): void => {
    context.count(items);
    list.push(value);
  };
  switch (reader.field) {
    case LIST_VALUE.s:
      add<Uint8Array>(lists.bytes, readBytes(reader), STRING_ITEMS);
      return true;
    case LIST_VALUE.i:
      reader.varints((number) => add<bigint>(lists.ints, lastInt64(number)));
      return true;
    case LIST_VALUE.f:
      for (const value of readFloats(reader)) add<number>(lists.floats, value);
      return true;
    case LIST_VALUE.b:
      reader.varints(({ low, high }) => add<boolean>(lists.bools, low !== 0 || high !== 0));
      return true;
    case LIST_VALUE.type:
      return readTypes(reader, (dtype) => add<Dtype>(lists.types, dtype));
    case LIST_VALUE.shape:
      add<Shape>(lists.shapes, readShape(reader.nested('TensorShapeProto')), STRING_ITEMS);
      return true;
    case LIST_VALUE.tensor: {
      const tensor = readTensor(reader.nested('TensorProto'), context);
      if (tensor !== undefined) add<Tensor>(lists.tensors, tensor);
      return tensor !== undefined;
    }
    case LIST_VALUE.func:
      add<FunctionRef>(lists.functions, readFunctionRef(reader, context, depth), OBJECT_ITEMS);
      return true;
    default:
      reader.skip();
      return true;
  }
}

function readTypes(reader: WireReader, add: (dtype: Dtype) => void): boolean {
  let isKnown = true;
  reader.varints(({ low }) => {
    const dtype = dtypeOfCode(low);
    if (dtype === undefined) isKnown = false;
    else add(dtype);
  });
  return isKnown;
}
