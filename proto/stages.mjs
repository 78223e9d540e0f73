// Reads proto/stages/*.txt: the declarations of a plan's stages, their attributes, the words of
// attributes and the functions of expressions, once for both languages. Build time only.
//
//   enum NAME: word word ...                    the words that an attribute may have
//   group NAME: Meaning.                        attributes that several kinds have
//   kind NAME [uses GROUP]: Meaning.            a kind of stage; its attributes follow, one a line:
//     name type: meaning                        required
//     name type?: meaning                       optional, and without a default
//     name type = value: meaning                optional, with a default
//   functions DIALECT:                          names with their count of arguments, "if:2-3",
//     name:2 name:1+                            on lines that follow
//
// Types: real, integer, flag (always optional: false), text, reals, integers, texts, values,
// expressions, blocks, an enum, or a list of an enum's words: enum[].
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const FILES = ['general', 'features', 'models', 'pmml', 'pmml-models', 'functions'];
const PLAIN = new Set([
  'real',
  'integer',
  'flag',
  'text',
  'reals',
  'integers',
  'texts',
  'values',
  'expressions',
  'blocks',
]);
const HEAD = /^(enum|group|kind|functions) ([\w.]+)(?: uses ([\w.]+))?: ?(.*)$/;
const ATTRIBUTE = /^ {2}(\w+) (\w+)(\[\])?(\?)?(?: = ([^:]+))?: (.+)$/;
const CALL = /^(\S+):(\d+)(?:-(\d+)|(\+))?$/;

function attributeOf(line, enums, where) {
  const found = ATTRIBUTE.exec(line);
  if (found === null) throw new Error(`${where}: expected 'name type: meaning', got '${line}'`);
  const [, name, type, list, optional, fallback, about] = found;
  const words = enums.get(type)?.words;
  if (words === undefined && !PLAIN.has(type)) throw new Error(`${where}: no type '${type}'`);
  if (words !== undefined && fallback !== undefined && !words.includes(fallback)) {
    throw new Error(`${where}: '${fallback}' is no word of ${type}`);
  }
  const required = optional === undefined && fallback === undefined && type !== 'flag';
  return { name, type, many: list !== undefined, required, fallback, about, words };
}

function functionsOf(dialect, line, where) {
  return line
    .trim()
    .split(/\s+/)
    .map((word) => {
      const found = CALL.exec(word);
      if (found === null) throw new Error(`${where}: expected 'name:arguments', got '${word}'`);
      const [, name, least, most, any] = found;
      const max = any === undefined ? Number(most ?? least) : -1;
      return { name: `${dialect}.${name}`, min: Number(least), max };
    });
}

function readLines(text, file, contract) {
  let open;
  for (const [i, line] of text.split('\n').entries()) {
    const where = `${file}:${i + 1}`;
    if (line === '' || line.startsWith('#')) continue;
    if (line.startsWith('  ') && open?.what === 'functions') {
      contract.functions.push(...functionsOf(open.name, line, where));
    } else if (line.startsWith('  ') && open?.attributes !== undefined) {
      const made = attributeOf(line, contract.enums, where);
      if (open.attributes.some(({ name }) => name === made.name)) {
        throw new Error(`${where}: '${made.name}' is declared twice`);
      }
      open.attributes.push(made);
    } else {
      const found = HEAD.exec(line);
      if (found === null) throw new Error(`${where}: cannot read '${line}'`);
      const [, what, name, uses, about] = found;
      open = { what, name };
      if (what === 'functions') continue;
      const into = contract[`${what}s`];
      if (into.has(name)) throw new Error(`${where}: ${what} ${name} is declared twice`);
      if (what === 'enum') {
        into.set(name, { name, words: about.split(' ') });
        continue;
      }
      const group = uses === undefined ? undefined : contract.groups.get(uses);
      if (uses !== undefined && group === undefined) throw new Error(`${where}: no group ${uses}`);
      open.attributes = [];
      into.set(name, { name, group, about, attributes: open.attributes });
    }
  }
}

/** Returns all attributes of a kind, those of its group first. */
export const attributesOf = ({ group, attributes }) => [
  ...(group?.attributes ?? []),
  ...attributes,
];

/** Returns the contract: {enums, groups, kinds, functions, version}. `folder`: proto/. */
export function readStages(folder) {
  const contract = { enums: new Map(), groups: new Map(), kinds: new Map(), functions: [] };
  const names = readdirSync(join(folder, 'stages')).sort();
  const known = FILES.map((name) => `${name}.txt`);
  if (names.join() !== [...known].sort().join()) throw new Error(`proto/stages has ${names}`);
  for (const name of known) {
    readLines(readFileSync(join(folder, 'stages', name), 'utf8'), name, contract);
  }
  return {
    enums: [...contract.enums.values()],
    groups: [...contract.groups.values()],
    kinds: [...contract.kinds.values()],
    functions: contract.functions,
    version: versionOf(contract, readFileSync(join(folder, 'plan.fbs'), 'utf8')),
  };
}

// Returns the first 32 bits of a digest of the declarations that plans depend on, without comments
// and meanings: a plan of another contract has another version.
function versionOf({ enums, kinds, functions }, schema) {
  const facts = [
    [...enums.values()].map(({ name, words }) => [name, words]),
    [...kinds.values()].map((kind) => [
      kind.name,
      attributesOf(kind).map((each) => [each.name, each.type, each.many, each.required]),
      attributesOf(kind).map((each) => each.fallback ?? ''),
    ]),
    functions,
    schema
      .replace(/\/\/.*/g, '')
      .replace(/\s+/g, ' ')
      .trim(),
  ];
  const digest = createHash('sha256').update(JSON.stringify(facts)).digest();
  return digest.readUInt32BE(0);
}

/** Returns the table of docs: a section for each kind. */
export function writeStagesTable({ kinds, enums, functions }) {
  const shown = ({ type, many, words, required, fallback }) => {
    const name = words === undefined ? type : `${words.map((word) => `\`${word}\``).join(', ')}`;
    const list = many ? `list of ${name}` : name;
    if (required || type === 'flag') return list;
    return `${list}; ${fallback === undefined ? 'optional' : `default \`${fallback}\``}`;
  };
  const sections = kinds.map((kind) => {
    const rows = attributesOf(kind).map(
      (each) => `| \`${each.name}\` | ${shown(each)} | ${each.about} |\n`,
    );
    const table = `| attribute | type | meaning |\n| --- | --- | --- |\n${rows.join('')}`;
    return `### \`${kind.name}\`\n\n${kind.about}\n${rows.length > 0 ? `\n${table}` : ''}`;
  });
  const counts = `${kinds.length} kinds of stage, ${enums.length} enums, ${functions.length} functions.`;
  return `${counts}\n\n${sections.join('\n')}`;
}
