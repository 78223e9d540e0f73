// Bundles dist/ and the JavaScript packages it needs into dist/bundle/, the program that `serval`
// runs. Native addons are loaded by file name. Build time only.
//
// A server loads one CommonJS file for each of its threads: 80 small ES modules would take half of
// the time from the start of the process to the ready line to find, check and link (0.24 s instead
// of 0.18 s). Commands that are run by hand, or once for a model, are ES modules that share chunks.
import {
  copyFileSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { bundleClient } from './packaging/client.mjs';
import { bundleConsole } from './packaging/console.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = join(root, 'dist', 'bundle');
const loader = join(root, 'scripts', 'packaging', 'load-bundle.cjs');

// The files that a server loads: the command line with `serve`, the library's entry, and the
// listeners' threads.
const SERVER_ENTRIES = ['main.js', 'api.js', 'server/workers/http-worker.js'];
// Other files that are loaded on demand: threads, the trace exporter, descriptors.
const OTHER_ENTRIES = [
  'cli/bench/load/load-worker.js',
  'importers/run/import-worker.js',
  'protocols/grpc/descriptor-files.js',
  'server/observe/tracing/otlp-exporter.js',
];

// Bundled CommonJS packages call require for Node's own modules.
const REQUIRE =
  "import { createRequire as makeRequire } from 'node:module';" +
  'const require = makeRequire(import.meta.url);';
// Defined as a name, because esbuild has no import.meta.url for a CommonJS file.
const FILE_URL = "const thisFileUrl = require('node:url').pathToFileURL(__filename).href;";

// The server's file loads the other commands, the trace exporter and the descriptors for reflection
// from their own files. Only return values and errors pass between them, because each class exists
// twice. Each of these files has one function.
const FUNCTIONS = { 'otlp-exporter.js': 'otlpExporter', 'descriptor-files.js': 'descriptorFile' };
const otherCommands = {
  name: 'other-commands',
  setup({ onResolve, onLoad }) {
    const namespace = 'other-commands';
    onResolve(
      { filter: /\/(\w+-command|otlp-exporter|descriptor-files)\.js$/ },
      ({ path, kind }) => (kind === 'dynamic-import' ? { path: basename(path), namespace } : null),
    );
    onResolve({ filter: /^\.\/load\.cjs$/, namespace }, ({ path }) => ({ path, external: true }));
    onLoad({ filter: /./, namespace }, ({ path }) => {
      const name = FUNCTIONS[path] ?? path.replace('-command.js', 'Command');
      const call = `(await require('./load.cjs').importBeside('${path}')).${name}(...args)`;
      return { contents: `export const ${name} = async (...args) => ${call};` };
    });
  },
};

const SHARED = {
  outdir: folder,
  // All files are in one folder: the workers' files are next to the file that starts them, as in
  // dist.
  entryNames: '[name]',
  bundle: true,
  platform: 'node',
  target: 'node20',
  // Never loaded (channelz is off).
  external: ['@grpc/proto-loader'],
  // Not minified: stacks name functions and classes, and Node prints the line of an uncaught error.
  // Lets a server's files be read as latin1 (load-bundle.cjs).
  charset: 'ascii',
  legalComments: 'none',
  logLevel: 'warning',
};

/** Writes dist/bundle; throws when something cannot be resolved. */
export async function bundle() {
  rmSync(folder, { recursive: true, force: true });
  await bundled({});
  await bundleConsole(folder);
  await bundleClient(folder);
  copyFileSync(loader, join(folder, 'load.cjs'));
  for (const entry of SERVER_ENTRIES) writeLoaded(basename(entry, '.js'));
  return readdirSync(folder).length;
}

// Writes NAME.cjs, which runs NAME.code.cjs through load.cjs, and V8's compiled code for it.
function writeLoaded(name) {
  const { codeOf, scriptOf } = createRequire(import.meta.url)(loader);
  const entry = join(folder, `${name}.cjs`);
  const file = join(folder, `${name}.code.cjs`);
  renameSync(entry, file);
  if (/[^\0-\x7f]/.test(readFileSync(file, 'utf8'))) {
    throw new Error(`${file}: expected ASCII`);
  }
  writeFileSync(codeOf(file), scriptOf(file).createCachedData());
  const text = `require('./load.cjs').load(__dirname + '/${name}.code.cjs', __dirname, module);\n`;
  writeFileSync(entry, `'use strict';\n${text}`);
}

/** Returns the names of the packages whose code is in the bundle, sorted. Writes nothing. */
export async function bundledPackages() {
  const results = await bundled({ write: false, metafile: true });
  return packagesOf(results.flatMap(({ metafile }) => Object.keys(metafile.inputs)));
}

/**
 * Returns, by file name, for the files that a server runs: the text, its size in bytes, the paths
 * of the modules in it from the root, and the names of the packages among them. Writes nothing.
 */
export async function serverFiles() {
  const [{ metafile, outputFiles }] = await bundled({ write: false, metafile: true });
  const files = Object.entries(metafile.outputs).map(([path, { bytes, inputs }]) => {
    const used = Object.keys(inputs).filter((name) => inputs[name].bytesInOutput > 0);
    const paths = used.map((name) => relative(root, resolve(name)));
    const { text } = outputFiles.find((one) => basename(one.path) === basename(path));
    return [basename(path), { text, bytes, inputs: paths, packages: packagesOf(paths) }];
  });
  return Object.fromEntries(files);
}

// Returns the files of the commands that are loaded on demand.
function otherCommandFiles() {
  return readdirSync(join(root, 'dist', 'cli'), { recursive: true })
    .filter((path) => /-command\.js$/.test(path) && basename(path) !== 'serve-command.js')
    .map((path) => `cli/${path}`)
    .sort();
}

function packagesOf(paths) {
  const names = paths.flatMap((path) => {
    const [, name] = /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path) ?? [];
    return name ?? [];
  });
  return [...new Set(names)].sort();
}

function bundled(options) {
  const paths = (names) => names.map((name) => join(root, 'dist', name));
  const servers = build({
    ...SHARED,
    entryPoints: paths(SERVER_ENTRIES),
    format: 'cjs',
    outExtension: { '.js': '.cjs' },
    define: { 'import.meta.url': 'thisFileUrl' },
    banner: { js: FILE_URL },
    plugins: [otherCommands],
    ...options,
  });
  const others = build({
    ...SHARED,
    entryPoints: paths([...otherCommandFiles(), ...OTHER_ENTRIES]),
    format: 'esm',
    splitting: true,
    chunkNames: 'chunk-[hash]',
    banner: { js: REQUIRE },
    ...options,
  });
  return Promise.all([servers, others]);
}
