// TypeScript's side of proto/stages: the types of stages by kind, the words of enums and the names
// of functions, so that a misspelt one does not compile. Build time only.
import { attributesOf } from './stages.mjs';

const ORIGIN = 'Generated from proto/stages by proto/generate.mjs.';
const TYPES = {
  real: 'Real',
  integer: 'number',
  flag: 'boolean',
  text: 'string',
  reals: 'Float64Array',
  integers: 'Int32Array',
  texts: 'readonly string[]',
  values: 'Values',
  expressions: 'Expressions',
  blocks: 'Blocks',
};

const pascal = (text) => text.replace(/(?:^|[_.])(\w)/g, (_, letter) => letter.toUpperCase());
const constant = (text) => text.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase();
const quoted = (words) => words.map((word) => `'${word}'`).join(', ');

function typeOf({ type, many, words }) {
  if (words === undefined) return TYPES[type];
  return many ? `readonly ${pascal(type)}[]` : pascal(type);
}

function member(attribute) {
  const { name, required, about } = attribute;
  const type = typeOf(attribute);
  const mark = required ? `: ${type}` : `?: ${type} | undefined`;
  return `  /** ${about} */\n  readonly ${name}${mark};\n`;
}

const attributesName = (name) => `${pascal(name)}Attributes`;

function kindType(kind) {
  const { name, about } = kind;
  const members = attributesOf(kind).map(member).join('');
  if (members === '') return `/** ${about} */\nexport type ${attributesName(name)} = Empty;\n`;
  return `/** ${about} */\nexport interface ${attributesName(name)} {\n${members}}\n`;
}

/** Returns the text of ts/importers/plan/generated/stages.ts. */
export function writeStagesModule({ enums, kinds }) {
  const words = enums.map(
    ({ name, words: list }) =>
      `export const ${constant(name)} = [${quoted(list)}] as const;\n` +
      `export type ${pascal(name)} = (typeof ${constant(name)})[number];\n`,
  );
  const all = kinds.map(({ name }) => `  readonly '${name}': ${attributesName(name)};\n`);
  return (
    '// The kinds of stage of a plan with their attributes. Data only; any thread.\n' +
    `// ${ORIGIN}\n` +
    "import type { Blocks, Empty, Expressions, Real, Values } from '../attributes.js';\n\n" +
    `${words.join('\n')}\n${kinds.map(kindType).join('\n')}\n` +
    `export interface StageAttributes {\n${all.join('')}}\n`
  );
}

/**
 * Returns the text of ts/base/generated/plan-version.ts: a separate file, since the model cache
 * needs it at start-up.
 */
export function writeVersionModule({ version }) {
  return (
    `// The version of plans. Data only; any thread. ${ORIGIN}\n\n` +
    '/** Plans of another version are refused. */\n' +
    `export const PLAN_VERSION = 0x${version.toString(16).padStart(8, '0')};\n`
  );
}

/** Returns the text of ts/importers/plan/generated/functions.ts. */
export function writeFunctionsModule({ functions }) {
  const rows = functions.map(({ name, min, max }) => `  '${name}': [${min}, ${max}],\n`);
  return (
    "// The functions of a plan's expressions: the least and the greatest count of arguments, -1 = any.\n" +
    `// Data only; any thread. ${ORIGIN}\n` +
    `export const FUNCTIONS = {\n${rows.join('')}} as const;\n\n` +
    'export type FunctionName = keyof typeof FUNCTIONS;\n'
  );
}
