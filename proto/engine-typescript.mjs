// TypeScript's side of engine.fbs and plan.fbs: their types and enums, and the tables with which
// ts/model/flat-table.ts writes and reads them. An enum that is the type of a table's member
// consists of names in small letters ('on'); any other one is numbers. Build time only.

const SCALARS = {
  bool: 'boolean',
  ubyte: 'number',
  int: 'number',
  uint: 'number',
  double: 'number',
};
const WIDE = ['long', 'ulong'];

/**
 * For each schema: how its tables' file imports the types, and whether it holds large numbers: if
 * so, its vectors of numbers are typed arrays, and its 64-bit integers bigints.
 */
const SCHEMAS = {
  engine: {
    about: 'What both languages name.',
    types: '../../base/generated/engine.js',
    codec: '../../model/flat-table.js',
  },
  plan: {
    about: 'What a plan is made of.',
    types: './plan.js',
    codec: '../../../model/flat-table.js',
    large: true,
  },
};
const TYPED = { double: 'Float64Array', int: 'Int32Array' };

const comment = (text, indent = '') =>
  text === undefined || text === '' ? '' : `${indent}/** ${text} */\n`;
const camel = (name) => name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());
const constant = (name) => name.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase();

// A data type has the name that the protocols use.
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

const isTyped = ({ type, many }, large) => large === true && many && type in TYPED;

function typeOf(member, large) {
  const { type, many, attribute } = member;
  if (isTyped(member, large)) return TYPED[type];
  if (type === 'long' && large) return 'number | bigint';
  if (type === 'KeyValue') return 'Readonly<Record<string, string>>';
  if (type === 'ubyte' && many) return 'Uint8Array';
  const one = WIDE.includes(type) ? (attribute === 'text' ? 'string' : 'number') : SCALARS[type];
  return many ? `readonly ${one ?? type}[]` : (one ?? type);
}

function tableType(table, large) {
  const members = table.members.map((member) => {
    const mark = isOptional(table, member) ? '?' : '';
    return `${comment(member.comment, '  ')}  readonly ${camel(member.name)}${mark}: ${typeOf(member, large)};\n`;
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

function kindOf({ type, many, attribute }, { named, defined, large }) {
  if (type === 'long' && large) return "'bigint'";

  if (type === 'KeyValue') return "'pairs'";
  if (type === 'ubyte' && many) return "'bytes'";
  if (WIDE.includes(type) && attribute === 'text') return "'decimal'";
  return named.has(type) ? constant(type) : `'${type}'`;
}

function tableRows(table, known) {
  const rows = table.members.map((member) => {
    const { name, type, many, fallback } = member;
    const kind = kindOf(member, known);
    const isLater = known.named.has(type) && !known.defined.has(type);
    const parts = [
      `name: '${camel(name)}'`,
      isLater ? `get kind(): FlatTable { return ${kind}; }` : `kind: ${kind}`,
    ];
    if (isTyped(member, known.large)) parts.push('typed: true');
    if (many && type !== 'KeyValue' && type !== 'ubyte') parts.push('many: true');
    if (/^-?\d+$|^null$/.test(fallback ?? '')) parts.push(`fallback: ${fallback}`);
    if (isOptional(table, member)) parts.push('optional: true');
    return `  { ${parts.join(', ')} },\n`;
  });
  const { name } = table;
  known.defined.add(name);
  const members = `[\n${rows.join('')}]`;
  return `export const ${constant(name)}: FlatTable<${known.schema}.${name}> = { name: '${name}', members: ${members} };\n`;
}

/** Returns [types and enums, tables] of `<schema>.fbs`: the text of both files. */
export function writeTypeScript({ enums, tables }, schema) {
  const { about, types: typesPath, codec, large } = SCHEMAS[schema];
  const origin = `Generated from proto/${schema}.fbs by proto/generate.mjs.`;
  const used = new Set(tables.flatMap(({ members }) => members.map(({ type }) => type)));
  const plain = tables.filter(({ name }) => name !== 'KeyValue');
  const named = new Set([...enums, ...plain].map(({ name }) => name));
  const types = [
    `// ${about} Data only; any thread. ${origin}\n`,
    ...enums.map((one) => enumType(one, used.has(one.name))),
    ...plain.map((one) => tableType(one, large)),
  ];
  const worded = enums.filter(({ name }) => used.has(name));
  const known = { named, defined: new Set(worded.map(({ name }) => name)), large, schema };
  const rows = [
    `// How the tables of ${schema}.fbs lie in bytes. Data only; any thread. ${origin}\n` +
      `import type { FlatTable } from '${codec}';\n` +
      `import type * as ${schema} from '${typesPath}';\n`,
    ...worded.map((one) => {
      const words = wordsOf(one).map((word) => `'${word}'`);
      return `const ${constant(one.name)}: readonly string[] = [${words.join(', ')}];\n`;
    }),
    ...plain.map((one) => tableRows(one, known)),
  ];
  return [types.join('\n'), rows.join('\n')];
}
