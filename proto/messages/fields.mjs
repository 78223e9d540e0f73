// Writes the field numbers and enum values of the messages in proto/wire as named constants, for
// the code of both languages that reads and writes messages field by field. Build time only.
import { basename } from 'node:path';
import protobuf from 'protobufjs';
import { isOpaque, parseInto } from './parse.mjs';

export const CPP_FOLDER = 'native/base/bytes/generated';
export const TYPESCRIPT_FOLDER = 'ts/protobuf/generated';

// Schemas by the languages that name their fields.
const BOTH = [
  'inference.proto',
  'onnx.proto',
  'prediction_log.proto',
  'tensorflow.proto',
  'tensorflow_example.proto',
  'tensorflow_serving.proto',
  'wrappers.proto',
];
const TYPESCRIPT_ONLY = [
  'any.proto',
  'files/boosted_trees.proto',
  'files/checkpoint.proto',
  'files/descriptor.proto',
  'files/mleap.proto',
  'files/yggdrasil.proto',
  'health.proto',
  'reflection.proto',
  'session_bundle.proto',
  'tensorflow_graph.proto',
];

const NOTE = 'by proto/generate-wire.mjs; do not edit.';
const ENTRY = `// The fields of every entry of a map field.`;

const pascal = (name) =>
  name
    .split('_')
    .filter((word) => word !== '')
    .map((word) => word[0].toUpperCase() + word.slice(1).toLowerCase())
    .join('');
const camel = (name) => {
  const joined = pascal(name);
  return joined[0].toLowerCase() + joined.slice(1);
};
const constant = (name) => name.replace(/([a-z0-9])([A-Z])/g, '$1_$2').toUpperCase();

const isShown = (type) =>
  type instanceof protobuf.Enum ||
  (type instanceof protobuf.Type && !isOpaque(type) && hasContent(type));
const nestedOf = (type) => (type.nestedArray ?? []).filter(isShown);
const hasContent = (type) => type.fieldsArray.length > 0 || nestedOf(type).length > 0;

/** Returns the messages and enums that a file of proto/wire declares, and its package. */
export function declaredBy(source) {
  const root = new protobuf.Root();
  const { package: scope, own } = parseInto(root, source);
  root.resolveAll();
  const types = own.map((name) => root.lookup(scope).get(name)).filter(isShown);
  return { scope, types };
}

// A namespace for each message and enum.
function cppOf(type, indent) {
  const numbers =
    type instanceof protobuf.Enum
      ? Object.entries(type.values)
      : type.fieldsArray.map(({ name, id }) => [name, id]);
  return [
    `${indent}namespace ${type.name} {`,
    ...numbers.map(([name, id]) => `${indent}inline constexpr uint32_t k${pascal(name)} = ${id};`),
    ...nestedOf(type).flatMap((nested) => cppOf(nested, indent)),
    `${indent}}  // namespace ${type.name}`,
  ];
}

function cppText(source) {
  const { scope, types } = declaredBy(source);
  const space = `serval::proto::${scope.replaceAll('.', '::')}`;
  const lines = [
    '// Field numbers and enum values: a namespace for each message and enum. Data for hot and control',
    `// plane, any thread. Generated from proto/wire/${source} ${NOTE}`,
    '#pragma once',
    '',
    '#include <cstdint>',
    '',
    `namespace ${space} {`,
    ...types.flatMap((type) => ['', ...cppOf(type, '')]),
    '',
    `}  // namespace ${space}`,
  ];
  return `${lines.join('\n')}\n`;
}

// A constant for each message and enum; nested ones have their parents' names before their own.
function typescriptOf(type, parents) {
  const path = [...parents, type.name];
  const rows =
    type instanceof protobuf.Enum
      ? Object.entries(type.values)
      : type.fieldsArray.map(({ name, id }) => [camel(name), id]);
  return [
    `export const ${path.map(constant).join('_')} = {`,
    ...rows.map(([name, id]) => `  ${name}: ${id},`),
    '} as const;',
    ...nestedOf(type).flatMap((nested) => typescriptOf(nested, path)),
  ];
}

function typescriptText(source) {
  const lines = [
    `// Field numbers and enum values. Data only; any thread. Generated from`,
    `// proto/wire/${source} ${NOTE}`,
    ...declaredBy(source).types.flatMap((type) => ['', ...typescriptOf(type, [])]),
  ];
  return `${lines.join('\n')}\n`;
}

function mapEntryFiles() {
  const cpp = `${ENTRY} Data for hot and control plane, any thread. Generated
// ${NOTE}
#pragma once

#include <cstdint>

namespace serval::proto::MapEntry {
inline constexpr uint32_t kKey = 1;
inline constexpr uint32_t kValue = 2;
}  // namespace serval::proto::MapEntry
`;
  const typescript = `${ENTRY} Data only; any thread. Generated
// ${NOTE}

export const MAP_ENTRY = {
  key: 1,
  value: 2,
} as const;
`;
  return [
    [`${CPP_FOLDER}/map_entry.h`, cpp],
    [`${TYPESCRIPT_FOLDER}/map-entry-fields.ts`, typescript],
  ];
}

/** Maps path -> text. */
export function fieldFiles() {
  const cpp = (source) => `${CPP_FOLDER}/${source.replace('.proto', '.h')}`;
  const typescript = (source) =>
    `${TYPESCRIPT_FOLDER}/${basename(source, '.proto').replaceAll('_', '-')}-fields.ts`;
  return [
    ...BOTH.map((source) => [cpp(source), cppText(source)]),
    ...[...BOTH, ...TYPESCRIPT_ONLY].map((source) => [typescript(source), typescriptText(source)]),
    ...mapEntryFiles(),
  ];
}
