// Checks that documents and sources agree: the request trace, the errors, the changelog, the cited
// sections, the generated code. Test time only.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { lineAt } from '../lexer.mjs';

const REQUIRED = [
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'CODE_OF_CONDUCT.md',
  'SECURITY.md',
  'LICENSE',
  'docs/README.md',
  'docs/reference/errors.md',
  '.ci/run',
];
const FLATC_VERSION = '2.0.8';

const textOf = (files, path) => files.find((file) => file.path === path)?.text;

export function requiredFiles({ files }) {
  const present = new Set(files.map(({ path }) => path));
  return REQUIRED.filter((path) => !present.has(path)).map((path) => ({
    path,
    line: 1,
    message: 'missing',
  }));
}

const STAGES = ['receive', 'route', 'queue', 'decode', 'check', 'run', 'encode', 'reply'];

// Returns the rows `| stage | native/x.cc | function, function (note) | ...` of the section
// "Request trace".
export function traceRows(text) {
  const rows = [];
  let inside = false;
  text.split('\n').forEach((content, index) => {
    if (content.startsWith('#')) inside = /request trace/i.test(content);
    const cells = content.split('|').map((cell) => cell.trim().replaceAll('`', ''));
    const [, stage = '', file = '', functions = ''] = cells;
    if (!inside || !file.includes('/')) return;
    const names = functions
      .split(',')
      .map((text) => text.replace(/\(.*$/, '').trim().split(/::|\./).pop() ?? '');
    rows.push({ stage, file, names, line: index + 1 });
  });
  return rows;
}

// Returns the `Hot path: <stage>` comments as {path, line, stage}.
export function traceComments(files) {
  return files
    .filter(({ path, language }) => language !== undefined && /^(native|ts)\//.test(path))
    .flatMap(({ path, text }) =>
      [...text.matchAll(/\bHot path: (\w+)/g)].map((match) => ({
        path,
        line: lineAt(text, match.index),
        stage: match[1],
      })),
    );
}

export function requestTrace({ files }) {
  const page = 'docs/reference/request-trace.md';
  const text = textOf(files, page);
  if (text === undefined) return [{ path: page, line: 1, message: 'missing: the request trace' }];
  const rows = traceRows(text);
  const comments = traceComments(files);
  if (rows.length === 0) return [{ path: page, line: 1, message: 'no rows in "Request trace"' }];
  const found = STAGES.filter((stage) => !rows.some((row) => row.stage === stage)).map((stage) => ({
    path: page,
    line: rows[0].line,
    message: `stage ${stage} is missing`,
  }));
  for (const row of rows) {
    const message = rowViolation(row, files, comments);
    if (message !== undefined) found.push({ path: page, line: row.line, message });
  }
  for (const { path, line, stage } of comments) {
    if (rows.some((row) => row.stage === stage && row.file === path)) continue;
    found.push({
      path,
      line,
      message: `Hot path: ${stage}: ${page} has no such row for this file`,
    });
  }
  return found;
}

function rowViolation({ stage, file, names }, files, comments) {
  if (!STAGES.includes(stage)) return `no such stage: ${stage}`;
  const text = textOf(files, file);
  if (text === undefined) return `${stage}: no file ${file}`;
  const missing = names.find((name) => name === '' || !new RegExp(`\\b${name}\\b`).test(text));
  if (missing !== undefined) return `${stage}: no ${missing} in ${file}`;
  const marked = comments.some((comment) => comment.stage === stage && comment.path === file);
  return marked ? undefined : `${stage}: no comment "Hot path: ${stage}" in ${file}`;
}

// Returns {PascalCase: number} of engine.fbs's ErrorCode.
export function errorCodes(schema) {
  const body = /enum ErrorCode[^{]*\{([^}]*)\}/.exec(schema)?.[1] ?? '';
  const values = [...body.matchAll(/^\s*(\w+)\s*=\s*(\d+)/gm)];
  return Object.fromEntries(values.map((match) => [match[1], Number(match[2])]));
}

// Returns the rows of ts/base/errors.ts: {PascalCase: {name, v1Http, v2Http, grpc}}; grpc is the
// canonical name.
export function errorRows(source) {
  const pattern = /\[ErrorCode\.(\w+)\]:\s*row\(\s*'(\w+)',\s*(\d+),\s*(\d+),\s*'(\w+)'/g;
  return Object.fromEntries(
    [...source.matchAll(pattern)].map(([, code, name, v1, v2, grpc]) => [
      code,
      { name, v1Http: Number(v1), v2Http: Number(v2), grpc },
    ]),
  );
}

// Checks that every error code has a row in docs/reference/errors.md with the statuses of
// ts/base/errors.ts, a paragraph, and a test that names it.
export function errorPages({ files }) {
  const page = 'docs/reference/errors.md';
  const codes = errorCodes(textOf(files, 'proto/engine.fbs') ?? '');
  const rows = errorRows(textOf(files, 'ts/base/errors.ts') ?? '');
  const text = textOf(files, page) ?? '';
  const tests = files.filter(
    ({ path, language }) =>
      path.startsWith('test/') && !path.startsWith('test/tidy/') && language !== undefined,
  );
  const found = [];
  const say = (message) => found.push({ path: page, line: 1, message });
  if (Object.keys(codes).length === 0) say('proto/engine.fbs has no enum ErrorCode');
  for (const [code, number] of Object.entries(codes)) {
    const row = rows[code];
    if (row === undefined) {
      say(`${code} has no row in ts/base/errors.ts`);
      continue;
    }
    const cells = `| ${number} | ${row.name} | ${row.v1Http} | ${row.v2Http} | ${row.grpc} |`;
    if (!text.includes(cells)) say(`no table row "${cells}"`);
    if (code === 'Ok') continue;
    if (!new RegExp(`^### ${row.name}$`, 'm').test(text)) say(`no paragraph "### ${row.name}"`);
    const named = new RegExp(`\\b(${code}|${row.name}|k${code})\\b`);
    if (!tests.some((file) => named.test(file.text))) say(`no test names ${code} or ${row.name}`);
  }
  return found;
}

export function changelog({ files }) {
  const path = 'CHANGELOG.md';
  const version = JSON.parse(textOf(files, 'package.json') ?? '{}').version;
  const heading = new RegExp(`^## \\[?${String(version).replaceAll('.', '\\.')}\\b`, 'm');
  if (heading.test(textOf(files, path) ?? '')) return [];
  return [{ path, line: 1, message: `no section for version ${version}` }];
}

// Checks that "Source: tfserving.md 1.5" names an existing section of docs/spec/tfserving.md.
export function citedSections({ files }) {
  const sections = new Map();
  for (const { path, text } of files) {
    const page = /^docs\/spec\/([\w-]+\.md)$/.exec(path)?.[1];
    if (page === undefined) continue;
    sections.set(page, new Set([...text.matchAll(/^#+ ([\d.]*\d)/gm)].map((match) => match[1])));
  }
  const pages = [...sections.keys()].map((page) => page.replace('.', '\\.')).join('|');
  if (pages === '') return [{ path: 'docs/spec', line: 1, message: 'no pages' }];
  const citation = new RegExp(`\\b(${pages}),? (?:section )?(\\d+(?:\\.\\d+)*)`, 'g');
  return files
    .filter(({ path }) => !path.startsWith('docs/spec/'))
    .flatMap(({ path, text }) =>
      [...text.matchAll(citation)]
        .filter(([, page, section]) => !sections.get(page).has(section))
        .map((match) => ({
          path,
          line: lineAt(text, match.index),
          message: `docs/spec/${match[1]} has no ${match[2]}`,
        })),
    );
}

// Runs the generators' own comparison of generated code. Returns {skipped: why} without the flatc
// version that wrote it.
export function generatedFresh({ root }) {
  const wire = staleBy(root, 'generate-wire.mjs', 'proto/wire');
  if (wire.length > 0) return wire;
  const flatc = spawnSync('flatc', ['--version'], { encoding: 'utf8' });
  if (flatc.status !== 0) return { skipped: 'no flatc (apt-get install flatbuffers-compiler)' };
  if (!flatc.stdout.includes(FLATC_VERSION)) {
    return { skipped: `${flatc.stdout.trim()}, not ${FLATC_VERSION}: its output differs` };
  }
  return staleBy(root, 'generate.mjs', 'proto/engine.fbs');
}

/**
 * Compares the tables of other servers' flags and fields on the pages "coming from" with the
 * sources.
 */
export function peerTables({ root }) {
  return staleBy(root, '../scripts/peer-tables.mjs', 'ts/config/peers');
}

function staleBy(root, generator, path) {
  const generate = join(root, 'proto', generator);
  const result = spawnSync(process.execPath, [generate, '--check'], { encoding: 'utf8' });
  if (result.status === 0) return [];
  return result.stderr
    .trim()
    .split('\n')
    .map((message) => ({ path, line: 1, message }));
}
