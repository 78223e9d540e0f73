// Checks the order of includes and imports (STYLE, Imports). Test time only.
import { posix } from 'node:path';
import { lineAt, splitSource } from '../lexer.mjs';
import { filesUnder } from '../source-files.mjs';
import { ranksOf, refusal } from './rank-list.mjs';

// Rooms of ts/ from low to high: a file imports only lower rooms and its own. Rooms apart do not
// import each other. Files directly in ts/ are rooms too.
const ROOMS = ranksOf([
  ...[
    'base',
    'protobuf',
    { apart: ['model', 'access'] },
    { apart: ['listeners', 'client'] },
    'config',
  ],
  ...[{ apart: ['engine', 'importers'] }, 'models', 'protocols'],
  ...[{ apart: ['server', 'library'] }, 'cli', { apart: ['api.ts', 'main.ts'] }],
]);
// The same for the folders of a room; '.' is the room's own files. A room that is not listed has no
// folders. Folders of generated files belong to the folder that contains them.
const FOLDERS = {
  base: ['.', 'memory'],
  model: ['.', 'infer'],
  listeners: ['.', 'tls', 'grpc', 'http'],
  client: ['core', 'rest', 'node', 'grpc', '.'],
  config: ['values', { apart: ['observation', 'peers'] }, '.'],
  importers: [
    { apart: ['onnx', 'plan', 'ydf'] },
    { apart: ['tensorflow', 'spark', 'mleap', 'pmml', 'boosters', 'sklearn'] },
    'run',
  ],
  models: ['config', { apart: ['placement', 'warmup'] }, 'registry'],
  protocols: [
    '.',
    { apart: ['rest', 'grpc'] },
    { apart: ['tfserving', 'v2'] },
    'frames',
    'generate',
  ],
  server: [
    { apart: ['openapi', 'observe', 'console'] },
    ...['admin', { apart: ['workers', 'start'] }, '.'],
  ],
  cli: [
    ...['.', { apart: ['key', 'serve', 'predict', 'gpu', 'types'] }],
    ...[{ apart: ['bench', 'inspect', 'check', 'compile'] }, { apart: ['import', 'help'] }],
  ],
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

// Returns why an import does not run down; undefined if it does.
function rankViolation(path, target) {
  const [from, to] = [placeOf(path), placeOf(target)];
  if (from.room !== to.room) return refusal(ROOMS, from.room, to.room);
  return refusal(ranksOf(FOLDERS[from.room] ?? ['.']), from.folder, to.folder);
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
