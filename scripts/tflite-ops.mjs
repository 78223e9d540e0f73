// Writes the table of TensorFlow Lite's operators into docs/reference/tflite.md from dist/, between
// two marks. With --check compares instead and exits 1 when the table is stale. Build time only;
// needs dist/.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const DOCUMENT = join(root, 'docs', 'reference', 'tflite.md');
const MARKS =
  /(<!-- operators: written by scripts\/tflite-ops.mjs -->\n)[^]*(<!-- operators end -->)/;

/** Returns the Markdown of the operators; those with the same note share a row. */
export function liteTable(operators) {
  const rows = new Map();
  for (const name of Object.keys(operators).sort()) {
    const { note = '' } = operators[name];
    rows.set(note, [...(rows.get(note) ?? []), `\`${name}\``]);
  }
  const lines = [...rows].map(([note, names]) => `| ${names.join(', ')} | ${note} |`);
  const count = Object.keys(operators).length;
  return [`${count} operators.`, '', '| operators | note |', '| --- | --- |', ...lines, ''].join(
    '\n',
  );
}

/** Returns the text with the part between the marks replaced. Throws if a mark is missing. */
export function withLiteTable(text, table) {
  if (!MARKS.test(text)) throw new Error('docs/reference/tflite.md has no marks for the table');
  return text.replace(MARKS, (_, start, end) => `${start}${table}\n${end}`);
}

/** Returns the text that the document should have. */
export async function wantedLiteDocument(folder) {
  const path = join(folder, 'importers', 'tensorflow', 'lite', 'ops', 'index.js');
  const { LITE_OPERATORS } = await import(pathToFileURL(path).href);
  return withLiteTable(readFileSync(DOCUMENT, 'utf8'), liteTable(LITE_OPERATORS));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const wanted = await wantedLiteDocument(join(root, 'dist'));
  const isStale = wanted !== readFileSync(DOCUMENT, 'utf8');
  if (isStale && process.argv.includes('--check')) {
    process.stderr.write('docs/reference/tflite.md: stale table: node scripts/tflite-ops.mjs\n');
    process.exitCode = 1;
  } else if (isStale) writeFileSync(DOCUMENT, wanted);
}
