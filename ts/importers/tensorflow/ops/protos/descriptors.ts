// The fields of messages by their descriptors: a FileDescriptorSet in the graph, and those of
// tf.train.Example, which TensorFlow has built in. Importer's worker thread; pure. Source:
// google/protobuf/descriptor.proto.
import {
  FILE_DESCRIPTOR_SET,
  FILE_DESCRIPTOR_PROTO,
  DESCRIPTOR_PROTO,
  ENUM_DESCRIPTOR_PROTO,
  ENUM_VALUE_DESCRIPTOR_PROTO,
  FIELD_DESCRIPTOR_PROTO,
  FIELD_OPTIONS,
  FIELD_DESCRIPTOR_PROTO_LABEL as LABEL,
} from '../../../../protobuf/generated/descriptor-fields.js';
import { WireReader } from '../../../../protobuf/reader.js';

/** FieldDescriptorProto.Type. */
export const TYPES = {
  double: 1,
  float: 2,
  int64: 3,
  uint64: 4,
  int32: 5,
  fixed64: 6,
  fixed32: 7,
  bool: 8,
  string: 9,
  group: 10,
  message: 11,
  bytes: 12,
  uint32: 13,
  enum: 14,
  sfixed32: 15,
  sfixed64: 16,
  sint32: 17,
  sint64: 18,
} as const;

export interface ProtoField {
  readonly name: string;
  readonly number: number;
  readonly type: number;
  /** Full name of the message or enum. */
  readonly typeName: string;
  readonly isRepeated: boolean;
  /** undefined: the syntax decides. */
  readonly packed: boolean | undefined;
  readonly isProto3: boolean;
  /** Default as text, as in descriptors; undefined: the type's own. */
  readonly fallback: string | undefined;
  /** For an extension: the message that it extends. */
  readonly extendee: string;
}

export interface Descriptors {
  /** Fields by the full name of their message, without a leading dot. */
  readonly messages: ReadonlyMap<string, readonly ProtoField[]>;
  /** By full name: the values in their order. */
  readonly enums: ReadonlyMap<string, readonly (readonly [name: string, number: number])[]>;
  /** By full name. */
  readonly extensions: ReadonlyMap<string, ProtoField>;
}

interface Tables {
  readonly messages: Map<string, readonly ProtoField[]>;
  readonly enums: Map<string, readonly (readonly [string, number])[]>;
  readonly extensions: Map<string, ProtoField>;
}

const NESTING_MAX = 64;

/** Errors: ModelInvalid: not a FileDescriptorSet. */
export function readDescriptors(bytes: Uint8Array): Descriptors {
  const tables: Tables = { messages: new Map(), enums: new Map(), extensions: new Map() };
  const set = new WireReader(bytes, 'FileDescriptorSet');
  while (set.next()) {
    if (set.field === FILE_DESCRIPTOR_SET.file) readFile(set.nested('FileDescriptorProto'), tables);
    else set.skip();
  }
  return tables;
}

function readFile(reader: WireReader, tables: Tables): void {
  const head = reader.again();
  let scope = '';
  let isProto3 = false;
  while (head.next()) {
    if (head.field === FILE_DESCRIPTOR_PROTO.package) scope = head.string();
    else if (head.field === FILE_DESCRIPTOR_PROTO.syntax) isProto3 = head.string() === 'proto3';
    else head.skip();
  }
  const inside: Inside = { tables, isProto3, depth: 0 };
  while (reader.next()) {
    if (reader.field === FILE_DESCRIPTOR_PROTO.messageType)
      readMessage(reader.nested('DescriptorProto'), scope, inside);
    else if (reader.field === FILE_DESCRIPTOR_PROTO.enumType)
      readEnum(reader.nested('EnumDescriptorProto'), scope, tables);
    else if (reader.field === FILE_DESCRIPTOR_PROTO.extension) addExtension(reader, scope, inside);
    else reader.skip();
  }
}

interface Inside {
  readonly tables: Tables;
  readonly isProto3: boolean;
  readonly depth: number;
}

const within = (scope: string, name: string): string => (scope === '' ? name : `${scope}.${name}`);

function readMessage(reader: WireReader, scope: string, inside: Inside): void {
  const full = within(scope, nameOf(reader.again()));
  const fields: ProtoField[] = [];
  const inner = { ...inside, depth: inside.depth + 1 };
  while (reader.next()) {
    if (reader.field === DESCRIPTOR_PROTO.field) {
      fields.push(readField(reader.nested('FieldDescriptorProto'), inside.isProto3));
    } else if (reader.field === DESCRIPTOR_PROTO.nestedType && inner.depth < NESTING_MAX) {
      readMessage(reader.nested('DescriptorProto'), full, inner);
    } else if (reader.field === DESCRIPTOR_PROTO.enumType) {
      readEnum(reader.nested('EnumDescriptorProto'), full, inside.tables);
    } else if (reader.field === DESCRIPTOR_PROTO.extension) {
      addExtension(reader, full, inside);
    } else {
      reader.skip();
    }
  }
  inside.tables.messages.set(full, fields);
}

function addExtension(reader: WireReader, scope: string, { tables, isProto3 }: Inside): void {
  const field = readField(reader.nested('FieldDescriptorProto'), isProto3);
  tables.extensions.set(within(scope, field.name), field);
}

function nameOf(reader: WireReader): string {
  let name = '';
  while (reader.next()) {
    if (reader.field === DESCRIPTOR_PROTO.name) name = reader.string();
    else reader.skip();
  }
  return name;
}

function readEnum(reader: WireReader, scope: string, tables: Tables): void {
  let name = '';
  const values: [string, number][] = [];
  while (reader.next()) {
    if (reader.field === ENUM_DESCRIPTOR_PROTO.name) name = reader.string();
    else if (reader.field === ENUM_DESCRIPTOR_PROTO.value)
      values.push(readEnumValue(reader.nested('EnumValue')));
    else reader.skip();
  }
  tables.enums.set(within(scope, name), values);
}

function readEnumValue(reader: WireReader): [string, number] {
  let name = '';
  let number = 0;
  while (reader.next()) {
    if (reader.field === ENUM_VALUE_DESCRIPTOR_PROTO.name) name = reader.string();
    else if (reader.field === ENUM_VALUE_DESCRIPTOR_PROTO.number) number = Number(reader.int64());
    else reader.skip();
  }
  return [name, number];
}

const plainName = (name: string): string => name.replace(/^\./, '');

function readField(reader: WireReader, isProto3: boolean): ProtoField {
  const texts = new Map<number, string>();
  const numbers = new Map<number, number>();
  let packed: boolean | undefined;
  while (reader.next()) {
    switch (reader.field) {
      case FIELD_DESCRIPTOR_PROTO.name:
      case FIELD_DESCRIPTOR_PROTO.extendee:
      case FIELD_DESCRIPTOR_PROTO.typeName:
      case FIELD_DESCRIPTOR_PROTO.defaultValue:
        texts.set(reader.field, reader.string());
        break;
      case FIELD_DESCRIPTOR_PROTO.number:
      case FIELD_DESCRIPTOR_PROTO.label:
      case FIELD_DESCRIPTOR_PROTO.type:
        numbers.set(reader.field, reader.number());
        break;
      case FIELD_DESCRIPTOR_PROTO.options:
        packed = readPacked(reader.nested('FieldOptions')) ?? packed;
        break;
      default:
        reader.skip();
    }
  }
  return {
    name: texts.get(FIELD_DESCRIPTOR_PROTO.name) ?? '',
    extendee: plainName(texts.get(FIELD_DESCRIPTOR_PROTO.extendee) ?? ''),
    number: numbers.get(FIELD_DESCRIPTOR_PROTO.number) ?? 0,
    isRepeated: numbers.get(FIELD_DESCRIPTOR_PROTO.label) === LABEL.LABEL_REPEATED,
    type: numbers.get(FIELD_DESCRIPTOR_PROTO.type) ?? 0,
    typeName: plainName(texts.get(FIELD_DESCRIPTOR_PROTO.typeName) ?? ''),
    fallback: texts.get(FIELD_DESCRIPTOR_PROTO.defaultValue),
    packed,
    isProto3,
  };
}

function readPacked(reader: WireReader): boolean | undefined {
  let packed: boolean | undefined;
  while (reader.next()) {
    if (reader.field === FIELD_OPTIONS.packed) packed = reader.number() !== 0;
    else reader.skip();
  }
  return packed;
}

const linked = (
  name: string,
  number: number,
  type: keyof typeof TYPES,
  isRepeated = false,
): ProtoField => ({
  name,
  number,
  type: TYPES[type],
  typeName: '',
  isRepeated,
  packed: undefined,
  isProto3: true,
  fallback: undefined,
  extendee: '',
});

/** tensorflow/core/example/{example,feature}.proto. */
export const LINKED: Descriptors = {
  enums: new Map(),
  extensions: new Map(),
  messages: new Map([
    ['tensorflow.Example', [linked('features', 1, 'message')]],
    [
      'tensorflow.SequenceExample',
      [linked('context', 1, 'message'), linked('feature_lists', 2, 'message')],
    ],
    ['tensorflow.Features', [linked('feature', 1, 'message', true)]],
    ['tensorflow.FeatureLists', [linked('feature_list', 1, 'message', true)]],
    ['tensorflow.FeatureList', [linked('feature', 1, 'message', true)]],
    [
      'tensorflow.Feature',
      [
        linked('bytes_list', 1, 'message'),
        linked('float_list', 2, 'message'),
        linked('int64_list', 3, 'message'),
      ],
    ],
    ['tensorflow.BytesList', [linked('value', 1, 'bytes', true)]],
    ['tensorflow.FloatList', [linked('value', 1, 'float', true)]],
    ['tensorflow.Int64List', [linked('value', 1, 'int64', true)]],
  ]),
};
