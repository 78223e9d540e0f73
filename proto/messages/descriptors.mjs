// Writes the text of ts/protocols/grpc/generated/descriptors.ts: the descriptors of server
// reflection. Build time only.
import protobuf from 'protobufjs';
import descriptor from 'protobufjs/ext/descriptor/index.js';
import { isOpaque, knownAs, parseInto } from './parse.mjs';

const PATH = 'ts/protocols/grpc/generated/descriptors.ts';
const FILES = [
  'inference.proto',
  'model_config.proto',
  'tensorflow_serving.proto',
  'tensorflow.proto',
  'tensorflow_error.proto',
  'any.proto',
  'wrappers.proto',
  'health.proto',
  'reflection.proto',
  'reflection_v1alpha.proto',
];

const LABEL_OPTIONAL = 1;
const LABEL_REPEATED = 3;
const TYPE_MESSAGE = 11;
const TYPE_ENUM = 14;
const SCALARS = {
  double: 1,
  float: 2,
  int64: 3,
  uint64: 4,
  int32: 5,
  fixed64: 6,
  fixed32: 7,
  bool: 8,
  string: 9,
  bytes: 12,
  uint32: 13,
  sfixed32: 15,
  sfixed64: 16,
  sint32: 17,
  sint64: 18,
};

function typeOf(field, typeName) {
  if (SCALARS[typeName] !== undefined) return { type: SCALARS[typeName] };
  const resolved = field.resolvedType;
  return {
    type: resolved instanceof protobuf.Enum ? TYPE_ENUM : TYPE_MESSAGE,
    typeName: resolved.fullName,
  };
}

const pascal = (name) =>
  name
    .split('_')
    .map((word) => word[0].toUpperCase() + word.slice(1))
    .join('');

// Returns the repeated message that a map field stands for, as protoc makes it.
function mapEntry(field) {
  const name = `${pascal(field.name)}Entry`;
  return {
    name,
    field: [
      { name: 'key', number: 1, label: LABEL_OPTIONAL, type: SCALARS[field.keyType] },
      { name: 'value', number: 2, label: LABEL_OPTIONAL, ...typeOf(field, field.type) },
    ],
    options: { mapEntry: true },
  };
}

function fieldOf(field, message) {
  const jsonName = field.options?.json_name;
  const at = { name: field.name, number: field.id, ...(jsonName ? { jsonName } : {}) };
  if (field.map) {
    const typeName = `${message.fullName}.${pascal(field.name)}Entry`;
    return { ...at, label: LABEL_REPEATED, type: TYPE_MESSAGE, typeName };
  }
  const oneofIndex = field.partOf ? { oneofIndex: message.oneofsArray.indexOf(field.partOf) } : {};
  const label = field.repeated ? LABEL_REPEATED : LABEL_OPTIONAL;
  return { ...at, label, ...typeOf(field, field.type), ...oneofIndex };
}

const enumOf = (type) => ({
  name: type.name,
  value: Object.entries(type.values).map(([name, number]) => ({ name, number })),
});

function messageOf(message) {
  const nested = message.nestedArray;
  const fields = message.fieldsArray.filter((field) => !isOpaque(field.resolvedType));
  return {
    name: message.name,
    field: fields.map((field) => fieldOf(field, message)),
    nestedType: [
      ...nested.filter((one) => one instanceof protobuf.Type).map(messageOf),
      ...fields.filter((field) => field.map).map(mapEntry),
    ],
    enumType: nested.filter((one) => one instanceof protobuf.Enum).map(enumOf),
    oneofDecl: message.oneofsArray.map((oneof) => ({ name: oneof.name })),
  };
}

const isShownMessage = (one) => one instanceof protobuf.Type && !isOpaque(one);

const serviceOf = (service) => ({
  name: service.name,
  method: service.methodsArray.map((method) => ({
    name: method.name,
    inputType: method.resolvedRequestType.fullName,
    outputType: method.resolvedResponseType.fullName,
    ...(method.requestStream ? { clientStreaming: true } : {}),
    ...(method.responseStream ? { serverStreaming: true } : {}),
  })),
});

// Returns every name that clients can request, fully qualified without the leading dot.
function symbolsOf(scope, file) {
  const symbols = [];
  const add = (parent, name) => {
    symbols.push(`${parent}.${name}`);
    return `${parent}.${name}`;
  };
  const addEnum = (parent, one) => {
    add(parent, one.name);
    for (const value of one.value) add(parent, value.name);
  };
  const addMessage = (parent, message) => {
    const self = add(parent, message.name);
    for (const part of [...message.field, ...(message.oneofDecl ?? [])]) add(self, part.name);
    for (const nested of message.nestedType ?? []) addMessage(self, nested);
    for (const one of message.enumType ?? []) addEnum(self, one);
  };
  for (const message of file.messageType) addMessage(scope, message);
  for (const one of file.enumType) addEnum(scope, one);
  for (const service of file.service) {
    const self = add(scope, service.name);
    for (const method of service.method) add(self, method.name);
  }
  return symbols.sort();
}

function fileOf(source) {
  const root = new protobuf.Root();
  const parsed = parseInto(root, source);
  root.resolveAll();
  const name = knownAs(source);
  const nested = parsed.own.map((one) => root.lookup(parsed.package).get(one));
  const file = {
    name,
    package: parsed.package,
    dependency: parsed.imports,
    messageType: nested.filter(isShownMessage).map(messageOf),
    enumType: nested.filter((one) => one instanceof protobuf.Enum).map(enumOf),
    service: nested.filter((one) => one instanceof protobuf.Service).map(serviceOf),
    syntax: 'proto3',
  };
  const problem = descriptor.FileDescriptorProto.verify(file);
  if (problem) throw new Error(`${source}: ${problem}`);
  const bytes = Buffer.from(descriptor.FileDescriptorProto.encode(file).finish());
  return { name, base64: bytes.toString('base64'), symbols: symbolsOf(parsed.package, file) };
}

// Writes base64 in lines of 88, symbols one per line, so that a diff shows the place of a change.
function entryText(file) {
  const pieces = file.base64.match(/.{1,88}/g) ?? [];
  const base64 = pieces.map((piece) => `      '${piece}'`).join(',\n');
  const symbols = file.symbols.map((symbol) => `      '${symbol}',`).join('\n');
  return (
    `  {\n    name: '${file.name}',\n    base64: [\n${base64},\n    ].join(''),\n` +
    `    symbols: [\n${symbols}\n    ],\n  },\n`
  );
}

/** Maps path -> text. */
export function descriptorFiles() {
  const text = `// Generated from proto/wire by proto/generate-wire.mjs; do not edit.
/** One serialized google.protobuf.FileDescriptorProto and the names it declares. */
export interface FileDescriptorText {
  readonly name: string;
  readonly base64: string;
  readonly symbols: readonly string[];
}

export const DESCRIPTORS: readonly FileDescriptorText[] = [
${FILES.map((source) => entryText(fileOf(source))).join('')}];
`;
  return [[PATH, text]];
}
