// C++'s side of engine.fbs and plan.fbs besides flatc's output: the enums in a separate header, and
// the tables that the engine keeps as plain structs with their readers. Build time only.

const TYPES = {
  bool: 'bool',
  double: 'double',
  ubyte: 'uint8_t',
  int: 'int32_t',
  uint: 'uint32_t',
  long: 'int64_t',
  ulong: 'uint64_t',
  string: 'std::string',
};
const originOf = (schema) =>
  `// Generated from proto/${schema}.fbs by proto/generate.mjs.\n#pragma once\n\n`;

/**
 * Splits flatc's header of `<schema>.fbs` in two: nearly every source names an enum, and few need
 * the tables, which take 0.6 s to compile. `space`: the namespace within serval's. Returns [[name,
 * text], ...].
 */
export function splitHeader(header, schema, space) {
  const [enums] = /enum class [^]*?(?=struct \w+ FLATBUFFERS_FINAL_CLASS)/.exec(header);
  const names = `${originOf(schema)}#include "flatbuffers/base.h"\n\nnamespace serval {\nnamespace ${space} {\n\n${enums}}  // namespace ${space}\n}  // namespace serval\n`;
  const include = '#include "flatbuffers/flatbuffers.h"\n';
  const tables = header
    .replace(enums, '')
    .replace(include, `${include}\n#include "base/generated/${schema}_names.h"\n`);
  return [
    [`${schema}_names.h`, names],
    [`${schema}_generated.h`, tables],
  ];
}

function memberOf({ name, type, many, fallback, comment }, enums) {
  const isEnum = enums.has(type);
  const one = TYPES[type] ?? (isEnum ? `fb::${type}` : type);
  const text = comment === '' ? '' : `  // ${comment}`;
  if (type === 'KeyValue')
    return `  std::vector<std::pair<std::string, std::string>> ${name};${text}\n`;
  if (many) return `  std::vector<${one}> ${name};${text}\n`;
  if (fallback === 'null') return `  std::optional<${one}> ${name};${text}\n`;
  if (isEnum) return `  ${one} ${name} = ${one}::${enums.get(type)};${text}\n`;
  if (!(type in TYPES) || type === 'string') return `  ${one} ${name};${text}\n`;
  return `  ${one} ${name} = ${type === 'bool' ? 'false' : (fallback ?? 0)};${text}\n`;
}

/**
 * Writes the header of the structs. each_member() visits the members of a table and of its struct
 * together.
 */
export function writeStructs(enums, tables) {
  const defaults = new Map(enums.map(({ name, values }) => [name, values[0].name]));
  const structs = tables
    .filter(({ attribute }) => attribute === 'plain')
    .map(({ name, comment, members }) => {
      const fields = members.map((member) => memberOf(member, defaults)).join('');
      const visits = members
        .map((one) => `  visit(from.${one.name}(), to.${one.name});\n`)
        .join('');
      return (
        `${comment === '' ? '' : `// ${comment}\n`}struct ${name} {\n${fields}};\n\n` +
        'template <typename Table, typename Visit>\n' +
        `void each_member(const Table& from, ${name}& to, Visit visit) {\n${visits}}\n`
      );
    });
  const includes = ['cstdint', 'optional', 'string', 'utility', 'vector'];
  return (
    originOf('engine') +
    includes.map((name) => `#include <${name}>\n`).join('') +
    '\n#include "base/generated/engine_names.h"\n\nnamespace serval {\n\n' +
    `${structs.join('\n')}\n}  // namespace serval\n`
  );
}
