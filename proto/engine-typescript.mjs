// TypeScript's side of engine.fbs: its types and enums, and tables by which
// ts/native/table-codec.ts writes and reads them. An enum that a table has a member of is its names
// in small letters ('on'), any other one is numbers. Build time only.

const SCALARS = { bool: 'boolean', ubyte: 'number', int: 'number', uint: 'number' };
const WIDE = ['long', 'ulong'];
const ORIGIN = 'Generated from proto/engine.fbs by proto/generate.mjs.';

const comment = (text, indent = '') =>
  text === undefined || text === '' ? '' : `${indent}/** ${text} */\n`;
const camel = (name) => name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());
const constant = (name) => name.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase();

// A data type is called as the protocols call it.
function wordsOf({ name, values }) {
  const word = (value) => (name === 'DType' ? value.toUpperCase() : value.toLowerCase());
  const words = [];
  for (const value of values)
    words[value.number] = value.name === 'Invalid' ? '' : word(value.name);
  return words;
}

const isOptional = (table, { attribute, fallback }) =>
  fallback === 'null' ||
  attribute === 'optional' ||
  (table.attribute === 'optional' && attribute !== 'required');

function typeOf({ type, many, attribute }) {
  if (type === 'KeyValue') return 'Readonly<Record<string, string>>';
  if (type === 'ubyte' && many) return 'Uint8Array';
  const one = WIDE.includes(type) ? (attribute === 'text' ? 'string' : 'number') : SCALARS[type];
  return many ? `readonly ${one ?? type}[]` : (one ?? type);
}

function tableType(table) {
  const members = table.members.map((member) => {
    const mark = isOptional(table, member) ? '?' : '';
    return `${comment(member.comment, '  ')}  readonly ${camel(member.name)}${mark}: ${typeOf(member)};\n`;
  });
  return `${comment(table.comment)}export interface ${table.name} {\n${members.join('')}}\n`;
}

function enumType(one, isWorded) {
  if (isWorded) {
    const words = wordsOf(one).filter((word) => word !== '');
    const list = words.map((word) => `'${word}'`).join(' | ');
    return `${comment(one.comment)}export type ${one.name} = ${list};\n`;
  }
  const values = one.values.map(
    (value) => `${comment(value.comment, '  ')}  ${value.name} = ${value.number},\n`,
  );
  return `${comment(one.comment)}export enum ${one.name} {\n${values.join('')}}\n`;
}

function kindOf({ type, many, attribute }, named) {
  if (type === 'KeyValue') return "'pairs'";
  if (type === 'ubyte' && many) return "'bytes'";
  if (WIDE.includes(type) && attribute === 'text') return "'decimal'";
  return named.has(type) ? constant(type) : `'${type}'`;
}

function tableRows(table, named) {
  const rows = table.members.map((member) => {
    const { name, type, many, fallback } = member;
    const parts = [`name: '${camel(name)}'`, `kind: ${kindOf(member, named)}`];
    if (many && type !== 'KeyValue' && type !== 'ubyte') parts.push('many: true');
    if (/^-?\d+$|^null$/.test(fallback ?? '')) parts.push(`fallback: ${fallback}`);
    if (isOptional(table, member)) parts.push('optional: true');
    return `  { ${parts.join(', ')} },\n`;
  });
  const { name } = table;
  const members = `[\n${rows.join('')}]`;
  return `export const ${constant(name)}: Table<engine.${name}> = { name: '${name}', members: ${members} };\n`;
}

/** [types and enums, tables]: the text of both files. */
export function writeTypeScript(enums, tables) {
  const used = new Set(tables.flatMap(({ members }) => members.map(({ type }) => type)));
  const plain = tables.filter(({ name }) => name !== 'KeyValue');
  const named = new Set([...enums, ...plain].map(({ name }) => name));
  const types = [
    `// What both languages name. Data only; any thread. ${ORIGIN}\n`,
    ...enums.map((one) => enumType(one, used.has(one.name))),
    ...plain.map(tableType),
  ];
  const worded = enums.filter(({ name }) => used.has(name));
  const rows = [
    `// How the tables of engine.fbs lie in bytes. Data only; any thread. ${ORIGIN}\n` +
      "import type * as engine from '../../model/generated/engine.js';\n" +
      "import type { Table } from '../table-codec.js';\n",
    ...worded.map((one) => {
      const words = wordsOf(one).map((word) => `'${word}'`);
      return `const ${constant(one.name)}: readonly string[] = [${words.join(', ')}];\n`;
    }),
    ...plain.map((one) => tableRows(one, named)),
  ];
  return [types.join('\n'), rows.join('\n')];
}
