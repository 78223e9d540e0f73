// Writes the table of scikit-learn's estimators into docs/reference/sklearn.md from dist/, between
// two marks. With --check compares instead and exits 1 when the table is stale. Build time only;
// needs dist/.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const DOCUMENT = join(root, 'docs', 'reference', 'sklearn.md');
const MARKS =
  /(<!-- estimators: written by scripts\/tabular\/sklearn-estimators.mjs -->\n)[^]*(<!-- estimators end -->)/;

/** Returns the Markdown of the estimators by group. */
export function estimatorTable(estimators) {
  const rows = new Map();
  for (const [name, { group }] of estimators) {
    rows.set(group, [...(rows.get(group) ?? []), `\`${name}\``]);
  }
  const lines = [...rows].map(([group, names]) => `| ${group} | ${names.join(', ')} |`);
  const title = `${estimators.size} classes of estimators:`;
  return [title, '', '| group | classes |', '| --- | --- |', ...lines, ''].join('\n');
}

/** Returns the text with the part between the marks replaced. Throws if a mark is missing. */
export function withEstimatorTable(text, table) {
  if (!MARKS.test(text)) throw new Error('docs/reference/sklearn.md has no marks for the table');
  return text.replace(MARKS, (_, start, end) => `${start}${table}\n${end}`);
}

/** Returns the text that the document should have. */
export async function wantedSklearnDocument(folder) {
  const path = join(folder, 'importers', 'sklearn', 'estimators.js');
  const { ESTIMATORS } = await import(pathToFileURL(path).href);
  return withEstimatorTable(readFileSync(DOCUMENT, 'utf8'), estimatorTable(ESTIMATORS));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const wanted = await wantedSklearnDocument(join(root, 'dist'));
  const isStale = wanted !== readFileSync(DOCUMENT, 'utf8');
  if (isStale && process.argv.includes('--check')) {
    process.stderr.write(
      'docs/reference/sklearn.md: stale table: node scripts/tabular/sklearn-estimators.mjs\n',
    );
    process.exitCode = 1;
  } else if (isStale) writeFileSync(DOCUMENT, wanted);
}
