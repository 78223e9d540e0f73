// Writes tables into pages, between marks: the other servers' flags and fields (ts/config/peers)
// into "coming from TensorFlow Serving" and "coming from Triton", and the options of ONNX Runtime
// that a model's configuration may set into their page. With --check it compares instead and exits
// 1 when a page is stale. Reads the sources, so nothing has to be built. Build time only.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { RUNTIME_OPTIONS, expectedText } from '../proto/runtime-options.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const DOCS = join(root, 'docs');
const WRITER = 'scripts/peer-tables.mjs';

const SOURCES = `
export { TENSORFLOW_SERVING_FLAGS } from './ts/config/peers/tensorflow-serving.ts';
export { TRITON_FLAGS } from './ts/config/peers/triton.ts';
export * from './ts/config/peers/serving-fields.ts';
export * from './ts/config/peers/triton-fields.ts';
export * from './ts/config/peers/triton-parameters.ts';
export { findFlag } from './ts/config/flags.ts';
export { MODEL_CONFIG } from './ts/protobuf/generated/model-config.ts';
export { MODEL_SERVER_CONFIG } from './ts/protobuf/generated/tensorflow-serving.ts';
export * from './ts/protobuf/generated/platform-config.ts';
export * from './ts/protobuf/generated/serving-config.ts';
`;

// Reads the tables from the sources.
export async function readTables() {
  const { outputFiles } = await build({
    stdin: { contents: SOURCES, resolveDir: root, loader: 'ts' },
    bundle: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    // A data: URL is not a file, so sources could not find their package from it.
    define: { 'import.meta.url': JSON.stringify(pathToFileURL(join(root, 'ts', 'api.ts')).href) },
    write: false,
    logLevel: 'error',
  });
  const code = Buffer.from(outputFiles[0].contents).toString('base64');
  return import(`data:text/javascript;base64,${code}`);
}

const cell = (text) => text.replaceAll('|', '\\|');
// `page` is a path from docs/; the tables are on pages of docs/guides.
const fromGuides = (page) => (page.startsWith('guides/') ? page.slice(7) : `../${page}`);
const link = (page) =>
  page === '' ? '' : `[${page.replace(/\.md.*|.*\//g, '') || page}](${fromGuides(page)})`;
const joined = (...parts) => parts.filter((part) => part !== '').join('; ');

const WORDS = {
  mapped: 'read as another setting',
  'no effect': 'no effect',
  'not here': 'refused',
};

// Returns a table of flags. `spell` writes a flag's name as the peer does. Adjacent flags with only
// "the same" share a line.
export function flagTable(flags, peer, spell, findFlag) {
  const lines = [];
  let before = '';
  for (const { name, state, note, page, harmless } of flags) {
    const written = `\`--${spell(name)}\``;
    const own = state === 'works' ? findFlag(name).name : name;
    const same = own === name ? 'the same' : `the same as \`--${own}\``;
    const taken = harmless.map((value) => `\`${value}\``).join(', ');
    const what = state === 'works' ? same : WORDS[state];
    const said = joined(
      note,
      taken === '' ? '' : `${taken} is accepted`,
      page === '' ? '' : `see ${link(page)}`,
    );
    const right = `| ${what} | ${cell(said)} |`;
    if (right === before && state === 'works' && own === name) {
      lines[lines.length - 1] = lines.at(-1).replace(` ${right}`, `, ${written} ${right}`);
    } else lines.push(`| ${written} ${right}`);
    before = right;
  }
  return [`| ${peer} | here | |`, '| --- | --- | --- |', ...lines].join('\n');
}

// Maps each message to the place where it is first reached from the root: "optimization.cuda".
function pathsOf(schema, table) {
  const paths = new Map([[schema.name, '']]);
  const waiting = [schema];
  for (const message of waiting) {
    for (const [name, { type }] of Object.entries(message.fields)) {
      const works = table[message.name]?.[name]?.state === 'works';
      if (!works || type.kind !== 'message' || paths.has(type.name)) continue;
      const path = paths.get(message.name);
      paths.set(type.name, path === '' ? name : `${path}.${name}`);
      waiting.push(type);
    }
  }
  return paths;
}

// Writes one line for the fields of a message that work unchanged, and one for each other field.
export function fieldLines(schema, table) {
  const lines = [];
  for (const [message, path] of pathsOf(schema, table)) {
    const rows = Object.entries(table[message] ?? {});
    const prefix = path === '' ? '' : `${path}.`;
    const plain = rows.filter(([, { state, note }]) => state === 'works' && note === '');
    if (plain.length > 0) {
      const names = plain.map(([name]) => `\`${prefix}${name}\``).join(', ');
      lines.push(`| ${names} | works | |`);
    }
    for (const [name, { state, note }] of rows) {
      if (state === 'works' && note === '') continue;
      const what = WORDS[state] ?? state;
      lines.push(`| \`${prefix}${name}\` | ${what} | ${cell(note)} |`);
    }
  }
  return lines;
}

function parameterLines(rows) {
  return [
    ...rowLines(rows),
    '| `session.*` | works | those of [the table](../reference/runtime-options.md#session-options); others are refused |',
    '| others | no effect | |',
  ];
}

function rowLines(rows) {
  const isPlain = ({ state, note }) => state === 'works' && note === '';
  const plain = Object.keys(rows).filter((name) => isPlain(rows[name]));
  const others = Object.entries(rows).filter(([, row]) => !isPlain(row));
  return [
    `| ${plain.map((name) => `\`${name}\``).join(', ')} | works | |`,
    ...others.map(([name, { state, note }]) => `| \`${name}\` | ${state} | ${cell(note)} |`),
  ];
}

// Joins options with the same value in one row.
function optionTable(scope) {
  const byValue = new Map();
  for (const option of RUNTIME_OPTIONS.filter((one) => one.scope === scope)) {
    const expected = expectedText(option);
    byValue.set(expected, [...(byValue.get(expected) ?? []), `\`${option.name}\``]);
  }
  const lines = [...byValue].map(
    ([expected, names]) => `| ${names.join(', ')} | ${cell(expected)} |`,
  );
  return ['| option | value |', '| --- | --- |', ...lines].join('\n');
}

const fieldTable = (heading, lines) =>
  [`| ${heading} | here | |`, '| --- | --- | --- |', ...lines].join('\n');

// Maps page -> block -> text.
export function pageBlocks(tables) {
  const snake = (name) => name.replaceAll('-', '_');
  const { findFlag } = tables;
  return {
    'guides/coming-from-tensorflow-serving.md': {
      flags: flagTable(tables.TENSORFLOW_SERVING_FLAGS, 'TensorFlow Serving', snake, findFlag),
      fields: [
        fieldTable(
          '`--model_config_file`',
          fieldLines(tables.MODEL_SERVER_CONFIG, tables.MODELS_CONFIG_FIELDS),
        ),
        fieldTable(
          '`--batching_parameters_file`, `batching_params.pbtxt`',
          fieldLines(tables.BATCHING_PARAMETERS, tables.BATCHING_FIELDS),
        ),
        fieldTable(
          '`--monitoring_config_file`',
          fieldLines(tables.MONITORING_CONFIG, tables.MONITORING_FIELDS),
        ),
        fieldTable(
          '`--platform_config_file`',
          fieldLines(tables.PLATFORM_CONFIG_MAP, tables.PLATFORM_FIELDS),
        ),
        fieldTable(
          'in `[tensorflow.serving.SavedModelBundleSourceAdapterConfig]`',
          fieldLines(tables.SAVED_MODEL_BUNDLE_SOURCE_ADAPTER_CONFIG, tables.PLATFORM_FIELDS),
        ),
        fieldTable('`--ssl_config_file`', fieldLines(tables.SSLCONFIG, tables.SSL_FIELDS)),
      ].join('\n\n'),
    },
    'reference/runtime-options.md': Object.fromEntries(
      ['session', 'cuda', 'tensorrt', 'openvino'].map((scope) => [scope, optionTable(scope)]),
    ),
    'guides/coming-from-triton.md': {
      flags: flagTable(tables.TRITON_FLAGS, 'Triton', (name) => name, findFlag),
      fields: [
        fieldTable('`config.pbtxt`', fieldLines(tables.MODEL_CONFIG, tables.TRITON_FIELDS)),
        fieldTable('`parameters`', parameterLines(tables.TRITON_PARAMETERS)),
        fieldTable('`parameters` with `backend: "fil"`', rowLines(tables.FIL_PARAMETERS)),
      ].join('\n\n'),
    },
  };
}

// Returns the text with the part between the block's marks replaced. Throws if a mark is missing.
export function withBlock(text, name, block) {
  const begin = `<!-- ${name}: written by ${WRITER} -->`;
  const end = `<!-- ${name} end -->`;
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`there is no "${begin}" ... "${end}"`);
  return `${text.slice(0, from)}${begin}\n\n${block}\n\n${text.slice(to)}`;
}

async function main(check) {
  let stale = 0;
  for (const [page, blocks] of Object.entries(pageBlocks(await readTables()))) {
    const path = join(DOCS, page);
    const text = readFileSync(path, 'utf8');
    let wanted = text;
    for (const [name, block] of Object.entries(blocks)) wanted = withBlock(wanted, name, block);
    if (wanted === text) continue;
    stale += 1;
    if (check) process.stderr.write(`docs/${page}: stale tables: node ${WRITER}\n`);
    else writeFileSync(path, wanted);
  }
  return check && stale > 0 ? 1 : 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.exit(await main(process.argv.includes('--check')));
}
