// Which lines the tests run: those of native/ by the native tests, built with gcc's --coverage into
// build/native-coverage, those of ts/ by the unit tests, counted by V8.
//   node test/run/coverage.mjs [native] [ts] [--filter TEXT]     default: both
// `--filter` picks native test executables. Prints a table of folders for each language; what the
// other suites run on top is not counted. Ends with 1 where a test failed. Test time only.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { buildFolder, runBuild } from '../native/run.mjs';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const GCOV_FILES_AT_ONCE = 20;
const OUTPUT_BYTES_MAX = 1024 * 2 ** 20;

/** Adds gcov's JSON (one object a line) to `files` (path -> line -> whether it ran). */
export function addGcov(files, json, folder) {
  for (const object of json.split('\n').filter((line) => line !== '')) {
    const { current_working_directory: compiledIn, files: sources } = JSON.parse(object);
    for (const { file, lines } of sources) {
      const path = relative(folder, resolve(compiledIn, file));
      if (!path.startsWith('native/')) continue;
      const ran = files.get(path) ?? new Map();
      files.set(path, ran);
      for (const { line_number, count } of lines) {
        ran.set(line_number, count > 0 || ran.get(line_number) === true);
      }
    }
  }
}

const lineStarts = (text) => [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)];
// Blank lines, comments and closing brackets count as run together with the code around them.
const hasCode = (line) => !/^\s*(?:$|\/\/|\/?\*|[\])}]+[;,]?$)/.test(line);

/**
 * Adds the coverage of one Node process (NODE_V8_COVERAGE): ranges of characters with counts, inner
 * ranges after those around them. `textOf(url)` returns a compiled file of ts/ or undefined.
 */
export function addV8(files, json, textOf) {
  for (const { url, functions } of JSON.parse(json).result) {
    const source = textOf(url);
    if (source === undefined) continue;
    const { path, text } = source;
    const counts = new Uint8Array(text.length).fill(1);
    for (const { startOffset, endOffset, count } of functions.flatMap(({ ranges }) => ranges)) {
      counts.fill(Math.min(count, 1), startOffset, endOffset);
    }
    const ran = files.get(path) ?? new Map();
    files.set(path, ran);
    const starts = lineStarts(text);
    starts.forEach((start, at) => {
      const end = starts[at + 1] ?? text.length;
      const line = text.slice(start, end).trimEnd();
      if (!hasCode(line)) return;
      const first = start + line.search(/\S/);
      ran.set(at, ran.get(at) === true || counts.subarray(first, end).includes(1));
    });
  }
}

/**
 * Returns rows {folder, lines, ran} of the folders two levels deep, in order, and one row for all.
 */
export function folderRows(files) {
  const rows = new Map();
  for (const [path, lines] of files) {
    const folder = dirname(path).split('/').slice(0, 2).join('/');
    for (const key of [folder, 'all']) {
      const row = rows.get(key) ?? { folder: key, lines: 0, ran: 0 };
      rows.set(key, row);
      row.lines += lines.size;
      row.ran += [...lines.values()].filter((ran) => ran).length;
    }
  }
  const all = rows.get('all');
  rows.delete('all');
  const sorted = [...rows.values()].sort((a, b) => (a.folder < b.folder ? -1 : 1));
  return all === undefined ? sorted : [...sorted, all];
}

function printTable(files) {
  const line = (...cells) => {
    const [first, ...numbers] = cells;
    process.stdout.write(`${first.padEnd(24)}${numbers.map((n) => n.padStart(9)).join('')}\n`);
  };
  line('folder', 'lines', 'run', 'per cent');
  for (const { folder, lines, ran } of folderRows(files)) {
    line(folder, `${lines}`, `${ran}`, ((100 * ran) / Math.max(lines, 1)).toFixed(1));
  }
}

function filesOf(folder, ending) {
  const objects = join(folder, 'CMakeFiles');
  return readdirSync(objects, { recursive: true })
    .filter((path) => path.endsWith(ending))
    .map((path) => join(objects, path));
}

async function native(filter) {
  const folder = buildFolder('coverage');
  mkdirSync(join(folder, 'CMakeFiles'), { recursive: true });
  for (const old of filesOf(folder, '.gcda')) rmSync(old);
  const counts = await runBuild('coverage', filter);
  const files = new Map();
  // Reads every source file's notes: a file that no test links has notes but no counts.
  const wanted = filesOf(folder, '.gcno').filter((path) => path.includes('.dir/native/'));
  for (let at = 0; at < wanted.length; at += GCOV_FILES_AT_ONCE) {
    const args = ['--json-format', '--stdout', ...wanted.slice(at, at + GCOV_FILES_AT_ONCE)];
    const options = { cwd: folder, encoding: 'utf8', maxBuffer: OUTPUT_BYTES_MAX };
    const { status, stdout, stderr } = spawnSync('gcov', args, options);
    if (status !== 0) throw new Error(`gcov: ${stderr}`);
    addGcov(files, stdout, root);
  }
  printTable(files);
  return counts.failed === 0;
}

// Returns the compiled file of a source of ts/. Its lines are counted, which are about those of the
// source.
function compiledSource() {
  const texts = new Map();
  const folder = join(root, 'build', 'test');
  return (url) => {
    if (!url.startsWith(pathToFileURL(join(folder, 'ts')).href)) return undefined;
    if (!texts.has(url)) {
      const file = fileURLToPath(url);
      const path = relative(folder, file).replace(/\.js$/, '.ts');
      texts.set(url, { path, text: readFileSync(file, 'utf8') });
    }
    return texts.get(url);
  };
}

function typescript() {
  const reports = join(root, 'build', 'test-coverage');
  rmSync(reports, { recursive: true, force: true });
  const env = { ...process.env, NODE_V8_COVERAGE: reports };
  const suite = [join(root, 'test', 'run', 'suite.mjs'), join('test', 'unit')];
  const { status } = spawnSync(process.execPath, suite, { cwd: root, env, stdio: 'inherit' });
  const files = new Map();
  const textOf = compiledSource();
  for (const name of readdirSync(reports)) {
    addV8(files, readFileSync(join(reports, name), 'utf8'), textOf);
  }
  rmSync(reports, { recursive: true });
  printTable(files);
  return status === 0;
}

async function main(args) {
  const filterAt = args.indexOf('--filter');
  const filter = filterAt < 0 ? undefined : args[filterAt + 1];
  const named = filterAt < 0 ? args : args.toSpliced(filterAt, 2);
  const unknown = named.find((name) => name !== 'native' && name !== 'ts');
  if (unknown !== undefined) {
    process.stderr.write(`coverage: unknown language '${unknown}'; expected native or ts\n`);
    return 2;
  }
  const wanted = named.length > 0 ? named : ['native', 'ts'];
  let passed = true;
  if (wanted.includes('native')) passed = await native(filter);
  if (wanted.includes('ts')) passed = typescript() && passed;
  return passed ? 0 : 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.exit(await main(process.argv.slice(2)));
}
