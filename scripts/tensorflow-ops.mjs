// Writes the table of TensorFlow operators into docs/reference/tensorflow.md from
// dist/importers/tensorflow, between two marks: a section for each folder of ops/. With --check
// compares instead and exits 1 when the table is stale. Build time only; needs dist/.
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const BEGIN = '<!-- operators: written by scripts/tensorflow-ops.mjs -->';
const END = '<!-- operators end -->';
const DEFAULT_DTYPES = 'numeric';

const TITLES = {
  arithmetic: 'Arithmetic, activations, random numbers',
  audio: 'Audio',
  'control-flow': 'Control flow and lists',
  complex: 'Complex numbers and Fourier transforms',
  conv: 'Convolution and pooling',
  decoders: 'Sequence decoders',
  image: 'Images',
  'image-bytes': 'Encoded images',
  linear: 'Matrices',
  norm: 'Normalization',
  plumbing: 'Constants, variables, pass-through',
  protos: 'Protobuf messages',
  quantize: 'Quantization',
  reduce: 'Reductions',
  rnn: 'Recurrent cells',
  select: 'Comparison and selection',
  shape: 'Shapes and slices',
  strings: 'Strings',
  features: 'Examples, tables, sparse and ragged tensors',
  forests: 'Decision forests',
  trees: 'Boosted trees',
};

const isOperator = (value) => typeof value === 'object' && value !== null && 'lower' in value;

const isGroup = (value) =>
  typeof value === 'object' &&
  value !== null &&
  Object.values(value).length > 0 &&
  Object.values(value).every(isOperator);

/**
 * Maps a family (a folder of ops/) to {operator: {dtypes, note}}. `folder` holds the compiled
 * modules. Throws if an operator of OPERATORS is in no family.
 */
export async function operatorFamilies(folder) {
  const families = new Map();
  for (const family of readdirSync(folder).sort()) {
    if (!statSync(join(folder, family)).isDirectory()) continue;
    const found = {};
    for (const file of readdirSync(join(folder, family)).filter((name) => name.endsWith('.js'))) {
      const module = await import(pathToFileURL(join(folder, family, file)).href);
      for (const value of Object.values(module)) {
        if (isGroup(value)) Object.assign(found, value);
      }
    }
    families.set(family, found);
  }
  const { OPERATORS } = await import(pathToFileURL(join(folder, 'index.js')).href);
  return servedFamilies(families, OPERATORS);
}

/** Returns the families' operators that are in `all`. Pure. */
export function servedFamilies(families, all) {
  const left = new Set(Object.keys(all));
  const served = new Map();
  for (const [family, operators] of families) {
    const kept = Object.keys(operators)
      .filter((name) => left.delete(name))
      .map((name) => [name, all[name]]);
    if (kept.length > 0) served.set(family, Object.fromEntries(kept));
  }
  if (left.size > 0) throw new Error(`in no folder of ops/: ${[...left].join(', ')}`);
  return served;
}

const cell = (text) => text.replaceAll('|', '\\|');

/**
 * Returns the Markdown of all families; operators of one family with the same words share a row.
 */
export function operatorTables(families) {
  const sections = [...families].map(([family, operators]) => {
    const rows = new Map();
    for (const name of Object.keys(operators).sort()) {
      const { dtypes = DEFAULT_DTYPES, note = '' } = operators[name];
      const words = `${cell(dtypes)} | ${cell(note)}`;
      rows.set(words, [...(rows.get(words) ?? []), `\`${name}\``]);
    }
    const lines = [...rows].map(([words, names]) => `| ${names.join(', ')} | ${words} |`);
    const head = ['| operators | types | note |', '| --- | --- | --- |'];
    return [`### ${TITLES[family] ?? family}`, '', ...head, ...lines, ''].join('\n');
  });
  const count = [...families.values()].reduce((sum, one) => sum + Object.keys(one).length, 0);
  return [`${count} operators.`, '', ...sections].join('\n');
}

/** Returns the text with the part between the marks replaced. Throws if a mark is missing. */
export function withOperators(text, tables) {
  const [from, to] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (from < 0 || to < from)
    throw new Error(`docs/reference/tensorflow.md has no "${BEGIN}" ... "${END}"`);
  return `${text.slice(0, from)}${BEGIN}\n${tables}\n${text.slice(to)}`;
}

async function main(check) {
  const folder = join(root, 'dist', 'importers', 'tensorflow', 'ops');
  const path = join(root, 'docs', 'reference', 'tensorflow.md');
  const text = readFileSync(path, 'utf8');
  const wanted = withOperators(text, operatorTables(await operatorFamilies(folder)));
  if (wanted === text) return 0;
  if (!check) writeFileSync(path, wanted);
  else
    process.stderr.write(
      'docs/reference/tensorflow.md: stale table: node scripts/tensorflow-ops.mjs\n',
    );
  return check ? 1 : 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.exit(await main(process.argv.includes('--check')));
}
