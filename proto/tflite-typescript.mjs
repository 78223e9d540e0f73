// TypeScript's reader of tflite.fbs: for each table with members, its type and a function that
// reads it from a checked table. Build time only.

const ENUM = /^enum (\w+) : \w+ \{([^}]*)\}/gm;
const TABLE = /^table (\w+) \{([^}]*)\}/gm;
const UNION = /^union (\w+) \{([^}]*)\}/gm;
const VALUE = /(\w+) = (\d+)/g;
const MEMBER = /^ *(\w+): (\[?)(\w+)\]?(?: = (\d+))?;/gm;

/** Types of members: what TypeScript names them, the reader's method, and that of a list. */
const SCALARS = {
  bool: ['boolean', 'flag'],
  byte: ['number', 'byte'],
  ubyte: ['number', 'byte', 'Span', 'span'],
  int: ['number', 'int', 'Int32Array', 'ints'],
  uint: ['number', 'uint'],
  long: ['bigint', undefined, 'readonly number[]', 'longs'],
  ulong: ['number', 'ulong'],
  float: ['number', 'float', 'Float32Array', 'floats'],
  string: ['string', 'text', 'readonly string[]', 'texts'],
};

const camel = (name) => name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());
const constant = (name) => name.replace(/(?<=[a-z\d])(?=[A-Z])/g, '_').toUpperCase();

/** [members in TypeScript, members of the reader, the next number] of one member. */
function memberOf({ name, many, type, fallback }, number, { enums, unions }) {
  const key = camel(name);
  if (unions.has(type)) {
    const types = [`  readonly ${key}Type: number;`, `  readonly ${key}?: FlatTable | undefined;`];
    const reads = [
      `  ${key}Type: from.byte(${number}, 0),`,
      `  ${key}: from.table(${number + 1}),`,
    ];
    return [types, reads, number + 2];
  }
  const [word, read, words, reads] = SCALARS[enums.has(type) ? 'byte' : type] ?? [];
  if (many && words !== undefined) {
    return [[`  readonly ${key}: ${words};`], [`  ${key}: from.${reads}(${number}),`], number + 1];
  }
  if (read === 'text') {
    return [[`  readonly ${key}: string;`], [`  ${key}: from.text(${number}),`], number + 1];
  }
  if (read !== undefined) {
    const call = `from.${read}(${number}, ${word === 'boolean' ? 'false' : (fallback ?? 0)})`;
    return [[`  readonly ${key}: ${word};`], [`  ${key}: ${call},`], number + 1];
  }
  if (many) {
    const call = `from.tables(${number}).map(read${type})`;
    return [[`  readonly ${key}: readonly ${type}[];`], [`  ${key}: ${call},`], number + 1];
  }
  const call = `optional(from.table(${number}), read${type})`;
  return [[`  readonly ${key}: ${type} | undefined;`], [`  ${key}: ${call},`], number + 1];
}

function tableOf(name, body, schema) {
  const types = [];
  const reads = [];
  let number = 0;
  for (const [, member, list, type, fallback] of body.matchAll(MEMBER)) {
    const parts = memberOf({ name: member, many: list !== '', type, fallback }, number, schema);
    types.push(...parts[0]);
    reads.push(...parts[1]);
    number = parts[2];
  }
  const type = [`export interface ${name} {`, ...types, '}'];
  const reader = [`export const read${name} = (from: FlatTable): ${name} => ({`, ...reads, '});'];
  return [...type, '', ...reader, ''];
}

const wordsOf = (name, body) => {
  const words = [];
  for (const [, word, number] of body.matchAll(VALUE)) words[number] = word;
  const items = words.map((word) => `'${word}'`).join(', ');
  return [`export const ${constant(name)}: readonly string[] = [${items}];`, ''];
};

/** The text of the module. */
export function writeLiteReader(text) {
  const enums = new Map([...text.matchAll(ENUM)].map(([, name, body]) => [name, body]));
  const unions = new Map([...text.matchAll(UNION)].map(([, name, body]) => [name, body]));
  const tables = [...text.matchAll(TABLE)].filter(([, , body]) => body.trim() !== '');
  const known = { enums, unions };
  const members = [...unions.values()].flatMap((body) => body.match(/\w+/g) ?? []);
  const options = tables
    .map(([, name]) => name)
    .filter((name) => members.includes(name))
    .map((name) => `  ${name}: { type: ${members.indexOf(name) + 1}, read: read${name} },`);
  return [
    "// What TensorFlow Lite's files contain, and how it is read. Importer's worker thread; pure." +
      ' Generated from proto/tflite.fbs by proto/generate.mjs.',
    "import type { FlatTable, Span } from '../../../../base/flat-reader.js';",
    '',
    'const optional = <T>(',
    '  from: FlatTable | undefined,',
    '  read: (from: FlatTable) => T,',
    '): T | undefined => (from === undefined ? undefined : read(from));',
    '',
    ...[...enums].flatMap(([name, body]) => wordsOf(name, body)),
    ...tables.flatMap(([, name, body]) => tableOf(name, body, known)),
    '/** Options of operators: their number in the union, and how they are read. */',
    'export const OPTIONS = {',
    ...options,
    '} as const;',
    '',
  ].join('\n');
}
