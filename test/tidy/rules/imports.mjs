// Checks the order of includes and imports (STYLE, Imports). Test time only.
import { posix } from 'node:path';
import { lineAt, splitSource } from '../lexer.mjs';
import { filesUnder } from '../source-files.mjs';

// Maps a library to the paths below native/ that its files may include, by prefix.
const NATIVE_MAY_INCLUDE = {
  base: ['base/'],
  codec: ['base/', 'codec/'],
  operators: ['base/', 'operators/'],
  gpu: ['base/', 'gpu/'],
  backend: ['base/', 'backend/', 'gpu/', 'operators/operator.h'],
  tabular: ['base/', 'tabular/', 'backend/backend.h'],
  batch: ['base/', 'batch/', 'gpu/input_places.h'],
  stats: ['base/', 'stats/'],
  engine: [
    ...['base/', 'codec/', 'batch/', 'stats/', 'engine/', 'gpu/'],
    ...['backend/backend.h', 'backend/isolated/isolated.h'],
  ],
  transport: ['base/', 'transport/'],
  calls: ['base/', 'engine/', 'transport/', 'calls/'],
  load: ['base/', 'transport/', 'load/'],
  addon: [
    ...['base/', 'codec/', 'backend/', 'batch/', 'stats/', 'engine/'],
    ...['transport/', 'calls/', 'load/', 'addon/'],
  ],
};
const NAPI_HEADER = 'native/addon/napi_api.h';

// Rooms of ts/ from low to high: a file imports only lower rooms and its own. Rooms in one list
// have the same rank and do not import each other. Files directly in ts/ are rooms too.
const TS_RANKS = [
  ['base'],
  ['protobuf'],
  ['model', 'access'],
  ['listeners'],
  ['config'],
  ['engine', 'importers'],
  ['models'],
  ['protocols'],
  ['server', 'library'],
  ['cli'],
  ['api.ts', 'main.ts'],
];
// The same for the folders of a room; '.' is the room's own files. A room that is not listed has no
// folders. Folders of generated files belong to the folder that holds them.
const FOLDER_RANKS = {
  model: [['.'], ['infer']],
  listeners: [['.'], ['tls'], ['grpc'], ['http']],
  config: [['values'], ['observation', 'peers'], ['.']],
  importers: [['onnx', 'plan'], ['tensorflow', 'spark', 'mleap', 'pmml'], ['run']],
  models: [['config'], ['placement', 'warmup'], ['registry']],
  protocols: [['.'], ['rest', 'grpc'], ['tfserving', 'v2'], ['frames']],
  server: [['openapi', 'observe', 'console'], ['admin'], ['workers', 'start'], ['.']],
  cli: [['.'], ['key', 'serve', 'predict', 'gpu'], ['bench', 'inspect'], ['import', 'help']],
};
const IMPORTERS = 'importers';
const CONCRETE_LISTENER = /^ts\/listeners\/\w+\/\w+-listener\.ts$/;
const HAS_LISTENER = /^ts\/(listeners|server\/workers|server\/observe\/metrics)\//;
const SERVER = 'ts/server/server.ts';
const STARTS_SERVER = ['ts/api.ts', 'ts/cli/serve/serve-command.ts'];
const WORKER_ENTRY = /^ts\/server\/workers\/\w+-worker\.ts$/;
const HOT_MAY_NOT_IMPORT = /^ts\/(importers|config|models\/registry|server\/admin)\//;

// The modules that are loaded at startup, before any model.
const LOADED_AT_START = [SERVER, 'ts/server/workers/http-worker.ts'];
const IMPORTERS_CODE = /^ts\/importers\/(?!run\/)/;
// The text of a TensorProto, for signatures' defaults.
const LOADED_OF_IMPORTERS =
  /^ts\/importers\/tensorflow\/(proto\/tensor-proto-writer|lower\/(tensors|values))\.ts$/;

export function nativeIncludes({ files }) {
  const found = [];
  const napiHeaders = [];
  for (const { path, text } of filesUnder(files, 'native', 'cpp')) {
    const allowed = NATIVE_MAY_INCLUDE[path.split('/')[1]];
    const { code } = splitSource(text, 'cpp', { keepStrings: true });
    for (const match of code.matchAll(/^[ \t]*#[ \t]*include[ \t]*["<]([^">]+)[">]/gm)) {
      const line = lineAt(code, match.index);
      const target = match[1];
      if (/^(napi|node_api|js_native_api)\.h$/.test(target)) napiHeaders.push({ path, line });
      const ours = Object.hasOwn(NATIVE_MAY_INCLUDE, target.split('/')[0]);
      if (!ours || allowed?.some((prefix) => target.startsWith(prefix))) continue;
      const message = `includes ${target}; allowed here: ${allowed?.join(' ')}`;
      found.push({ path, line, message });
    }
  }
  for (const { path, line } of napiHeaders) {
    if (path !== NAPI_HEADER) {
      found.push({ path, line, message: `includes N-API; only ${NAPI_HEADER} does` });
    }
  }
  return found;
}

// Returns every relative import of a TypeScript file: {line, target: path in the repository}.
export function importsOf(path, text) {
  return targetsOf(path, text, /(?:\bfrom|\bimport)\s*\(?\s*['"](\.[^'"]*)['"]/g);
}

// Returns the imports that are loaded with the file: no types and no dynamic imports.
function loadedWith(path, text) {
  const pattern = /^(?:import|export)\s+(?!type\b)(?:[^'"]*?\sfrom\s*)?['"](\.[^'"]*)['"]/gm;
  return targetsOf(path, text, pattern);
}

function targetsOf(path, text, pattern) {
  const { code } = splitSource(text, 'script', { keepStrings: true });
  return [...code.matchAll(pattern)].map((match) => ({
    line: lineAt(code, match.index),
    target: posix.join(posix.dirname(path), match[1]).replace(/\.js$/, '.ts'),
  }));
}

// Returns the place of a file in the ranked lists: {room, folder}; folder is '.' for a room's own
// files.
function placeOf(path) {
  const parts = path.split('/').slice(1);
  const folders = parts.slice(1, -1).filter((name) => name !== 'generated');
  return { room: parts[0], folder: folders[0] ?? '.' };
}

const rankOf = (ranks, name) => ranks.findIndex((row) => row.includes(name));

// Returns why an import does not run down; undefined if it does.
function rankViolation(path, target) {
  const [from, to] = [placeOf(path), placeOf(target)];
  if (from.room !== to.room) return notDown(TS_RANKS, from.room, to.room, 'ts');
  if (from.folder === to.folder) return undefined;
  const ranks = FOLDER_RANKS[from.room] ?? [['.']];
  return notDown(ranks, from.folder, to.folder, `ts/${from.room}`);
}

function notDown(ranks, from, to, where) {
  for (const name of [from, to]) {
    if (rankOf(ranks, name) < 0) return `${where}: ${name} has no rank in test/tidy`;
  }
  if (rankOf(ranks, to) < rankOf(ranks, from)) return undefined;
  return `imports run down: in ${where}, ${from} is not above ${to}`;
}

// "rest" for ts/protocols/v2/rest-control.ts and a folder's rest.ts; undefined for files of no
// single transport.
function transportOf(path) {
  return /^ts\/protocols\/(?:tfserving|v2)\/(?:[\w-]+\/)?(rest|grpc)\b/.exec(path)?.[1];
}

function protocolViolation(path, target) {
  const [from, to] = [path, target].map((each) => placeOf(each).folder);
  if (placeOf(target).room === IMPORTERS) return 'ts/protocols does not import ts/importers';
  if (placeOf(target).room !== 'protocols' || from !== to) return undefined;
  if (transportOf(target) === undefined) return undefined;
  const other = transportOf(path);
  if (other === transportOf(target)) return undefined;
  return other === undefined
    ? 'code shared by both transports imports neither'
    : 'REST and gRPC do not import each other';
}

function importViolation(path, target) {
  if (target === SERVER && !STARTS_SERVER.includes(path)) {
    return 'only the command line and the package start the server';
  }
  if (WORKER_ENTRY.test(target)) return 'a worker is started as a thread, not imported';
  if (CONCRETE_LISTENER.test(target) && !HAS_LISTENER.test(path)) {
    return 'only workers create listeners; others import ts/listeners/http/listener.ts';
  }
  const inServer = path === SERVER || path.startsWith('ts/server/workers/');
  if (target.startsWith('ts/server/workers/') && !inServer) {
    return 'only server.ts starts worker threads';
  }
  const why = rankViolation(path, target);
  if (why !== undefined) return why;
  return placeOf(path).room === 'protocols' ? protocolViolation(path, target) : undefined;
}

export function typescriptImports({ files }) {
  const found = [];
  for (const { path, text } of filesUnder(files, 'ts', 'script')) {
    const hot = /\bHot path: \w/.test(text);
    for (const { line, target } of importsOf(path, text)) {
      const say = (why) => found.push({ path, line, message: `imports ${target}: ${why}` });
      const why = importViolation(path, target);
      if (why !== undefined) say(why);
      if (hot && HOT_MAY_NOT_IMPORT.test(target)) say('a hot file imports no control file');
    }
  }
  return found;
}

// Checks that a server without a kind of model does not load its importer.
export function startupImports({ files }) {
  const texts = new Map(filesUnder(files, 'ts', 'script').map(({ path, text }) => [path, text]));
  const found = [];
  const seen = new Set(LOADED_AT_START);
  for (const path of seen) {
    for (const { line, target } of loadedWith(path, texts.get(path) ?? '')) {
      if (seen.has(target)) continue;
      seen.add(target);
      if (!IMPORTERS_CODE.test(target) || LOADED_OF_IMPORTERS.test(target)) continue;
      found.push({ path, line, message: `imports ${target}: it would be loaded at the start` });
    }
  }
  return found;
}
