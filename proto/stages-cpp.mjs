// C++'s side of proto/stages: constants by which native/tabular reads attributes and names kinds
// and functions, so that a misspelt one does not compile. Build time only.
import { attributesOf } from './stages.mjs';

const ORIGIN = 'Generated from proto/stages by proto/generate.mjs.';
const OPERATORS = { '+': 'plus', '-': 'minus', '*': 'times', '/': 'over' };

const pascal = (text) => text.replace(/(?:^|_)(\w)/g, (_, letter) => letter.toUpperCase());
const space = (name) => name.replaceAll('.', '_');

function constantOf(name) {
  const [dialect, ...rest] = name.split('.');
  const plain = rest.join('_');
  return `${dialect}_${(OPERATORS[plain] ?? plain).replaceAll('-', '_')}`;
}

function typeOf({ type, many, words }) {
  if (words === undefined) return `${pascal(type)}Attribute`;
  return `${many ? 'Choices' : 'Choice'}Attribute<${pascal(type)}>`;
}

function fallbackOf({ type, fallback, words, many }) {
  if (words !== undefined) {
    const list = `, k${pascal(type)}Words`;
    return fallback === undefined || many ? list : `${list}, ${pascal(type)}::${pascal(fallback)}`;
  }
  if (fallback === undefined) return '';
  return `, ${type === 'text' ? fallback : String(fallback)}`;
}

const constants = (attributes) =>
  attributes.map(
    (each) =>
      `inline constexpr ${typeOf(each)} ${each.name}{{"${each.name}", ${each.required}}` +
      `${fallbackOf(each)}};\n`,
  );

function kindText(kind) {
  const { name, group, attributes } = kind;
  const rules = attributesOf(kind).map((each) => `{"${each.name}", ${each.required}}`);
  const list =
    rules.length === 0
      ? `inline constexpr KindRule kind{"${name}", {}};\n`
      : `inline constexpr Attribute kAttributes[] = {${rules.join(', ')}};\n` +
        `inline constexpr KindRule kind{"${name}", kAttributes};\n`;
  const using = group === undefined ? '' : `using namespace ${space(group.name)};\n`;
  const body = `${using}${constants(attributes).join('')}${list}`;
  return `namespace ${space(name)} {\n${body}}  // namespace ${space(name)}\n`;
}

function enumText({ name, words }) {
  const values = words.map(pascal).join(', ');
  const texts = words.map((word) => `"${word}"`).join(', ');
  return (
    `enum class ${pascal(name)} : uint8_t { ${values} };\n` +
    `inline constexpr std::string_view k${pascal(name)}Words[] = {${texts}};\n`
  );
}

/** Returns the text of native/tabular/generated/stages.h. */
export function writeStagesHeader({ enums, groups, kinds, version }) {
  const groupText = ({ name, attributes }) =>
    `namespace ${space(name)} {\n${constants(attributes).join('')}}  // namespace ${space(name)}\n`;
  const all = kinds.map(({ name }) => `&${space(name)}::kind`).join(', ');
  return (
    `// The kinds of stage of a plan with their attributes. Data only; any thread. ${ORIGIN}\n` +
    '#pragma once\n\n#include <cstdint>\n#include <string_view>\n\n' +
    '#include "tabular/contract/attributes.h"\n\nnamespace serval::tabular {\n\n' +
    '// Plans of another version are refused.\n' +
    `inline constexpr uint32_t kPlanVersion = 0x${version.toString(16).padStart(8, '0')};\n\n` +
    '}  // namespace serval::tabular\n\nnamespace serval::tabular::stages {\n\n' +
    `${enums.map(enumText).join('\n')}\n${groups.map(groupText).join('\n')}\n` +
    `${kinds.map(kindText).join('\n')}\n` +
    `inline constexpr const KindRule* kAll[] = {${all}};\n\n` +
    '}  // namespace serval::tabular::stages\n'
  );
}

/** Returns the text of native/tabular/generated/functions.h. */
export function writeFunctionsHeader({ functions }) {
  const rows = functions.map(
    ({ name, min, max }) =>
      `inline constexpr FunctionName ${constantOf(name)}{"${name}", ${min}, ${max}};\n`,
  );
  const all = functions.map(({ name }) => constantOf(name)).join(', ');
  return (
    `// The functions of a plan's expressions. Data only; any thread. ${ORIGIN}\n` +
    '#pragma once\n\n#include "tabular/contract/attributes.h"\n\nnamespace serval::tabular::fn {\n\n' +
    `${rows.join('')}\ninline constexpr FunctionName kAll[] = {${all}};\n\n` +
    '}  // namespace serval::tabular::fn\n'
  );
}
