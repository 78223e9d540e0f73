// Who may include or import whom (STYLE, Imports). Test time only.
import { posix } from 'node:path';
import { lineAt, splitSource } from './lexer.mjs';
import { filesUnder } from './source-files.mjs';

// Library -> what its files may include, by prefix of the path under native/.
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

// Folder of ts/ -> folders of ts/ it may not import.
const FORMATS = ['spark', 'mleap', 'pmml'];
const IMPORTERS = ['import', 'tensorflow', 'onnx', 'tabular', ...FORMATS];
const SERVING = ['transport', 'protocols', 'admin', 'metrics'];
const TS_MAY_NOT_IMPORT = {
  access: ['protocols', 'admin', 'metrics', 'native', 'model', 'registry', 'warmup', ...IMPORTERS],
  model: [...SERVING, ...IMPORTERS, 'native', 'registry', 'warmup', 'config'],
  protobuf: [...SERVING, ...IMPORTERS, 'native', 'registry', 'model', 'config', 'model-config'],
  onnx: [...SERVING, 'import', 'tensorflow', 'native', 'registry'],
  tensorflow: [...SERVING, 'import', 'native', 'registry'],
  tabular: [...SERVING, ...FORMATS, 'import', 'tensorflow', 'onnx', 'native', 'registry'],
  spark: [...SERVING, 'import', 'tensorflow', 'onnx', 'mleap', 'pmml', 'native', 'registry'],
  mleap: [...SERVING, 'import', 'tensorflow', 'onnx', 'pmml', 'native', 'registry'],
  pmml: [...SERVING, 'import', 'tensorflow', 'onnx', 'spark', 'mleap', 'native', 'registry'],
  import: [...SERVING, 'native', 'registry'],
  transport: ['registry', 'protocols', 'admin', 'metrics', 'native', 'model', ...IMPORTERS],
  protocols: IMPORTERS,
  registry: ['transport', 'protocols', 'admin'],
  native: [...SERVING, ...IMPORTERS, 'registry'],
  'model-config': [...SERVING, ...IMPORTERS, 'warmup'],
  warmup: [...SERVING, ...IMPORTERS],
  metrics: ['protocols', ...IMPORTERS],
};
// Folder of ts/protocols/ -> its folders that it may not import: a protocol knows its transports'
// common parts, never another protocol.
const PROTOCOLS_MAY_NOT_IMPORT = {
  rest: ['grpc', 'serving', 'v2'],
  grpc: ['rest', 'serving', 'v2'],
  serving: ['v2'],
  v2: ['serving'],
};
const CONCRETE_LISTENER = /^ts\/transport\/\w+-listener\.ts$/;
const SERVE_COMMAND = 'ts/commands/serve-command.ts';
const WORKER_ENTRY = /^ts\/workers\/\w+-worker\.ts$/;
const HOT_MAY_NOT_IMPORT =
  /^ts\/(import|tensorflow|onnx|tabular|spark|mleap|pmml|admin|config|registry)\//;

// What is loaded when the server starts, before any model is.
const LOADED_AT_START = ['ts/server.ts', 'ts/workers/http-worker.ts'];
const IMPORTERS_CODE = /^ts\/(tensorflow|onnx|tabular|spark|mleap|pmml)\//;
// The text of a TensorProto, for signatures' defaults.
const LOADED_OF_IMPORTERS =
  /^ts\/tensorflow\/(proto\/tensor-proto-writer|lower\/(tensors|values))\.ts$/;

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

// Every relative import of a TypeScript file: {line, target: path in the repository}.
export function importsOf(path, text) {
  return targetsOf(path, text, /(?:\bfrom|\bimport)\s*\(?\s*['"](\.[^'"]*)['"]/g);
}

// Those that are loaded with it: neither types nor what it imports later.
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

// "rest" of ts/protocols/v2/rest-control.ts, or of a room's rest.ts; undefined for pieces of no
// single transport.
function transportOf(path) {
  return /^ts\/protocols\/(?:serving|v2)\/(?:[\w-]+\/)?(rest|grpc)\b/.exec(path)?.[1];
}

function protocolViolation(path, target) {
  const [from, to] = [path, target].map((each) => /^ts\/protocols\/([\w-]+)\//.exec(each)?.[1]);
  if (PROTOCOLS_MAY_NOT_IMPORT[from]?.includes(to)) return `${from} does not know ${to}`;
  if (from === undefined && to !== undefined) return 'what all protocols share knows none of them';
  if (from !== to || transportOf(target) === undefined) return undefined;
  const other = transportOf(path);
  if (other === transportOf(target)) return undefined;
  return other === undefined
    ? 'what both transports share knows neither'
    : 'REST and gRPC do not know each other';
}

function importViolation(path, target) {
  const starts = path.split('/').length === 2 || path === SERVE_COMMAND;
  if (target === 'ts/server.ts' && !starts) return 'only the command line starts the server';
  if (target === 'ts/main.ts') return 'nobody imports main.ts';
  const folder = path.split('/')[1];
  const other = target.split('/')[1];
  // What both languages name: constants and types, which the native listener's events are.
  if (folder === 'transport' && target.startsWith('ts/model/generated/')) return undefined;
  if (TS_MAY_NOT_IMPORT[folder]?.includes(other)) {
    return `ts/${folder} does not know ts/${other}`;
  }
  if (folder !== 'transport' && folder !== 'workers' && CONCRETE_LISTENER.test(target)) {
    return 'only a worker has a listener; others know transport/listener.ts';
  }
  if (WORKER_ENTRY.test(target)) return 'a worker is started as a thread, not imported';
  if (other === 'workers' && folder !== 'workers' && path !== 'ts/server.ts') {
    return 'only server.ts starts worker threads';
  }
  return folder === 'protocols' ? protocolViolation(path, target) : undefined;
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

// A server that has no such model pays nothing for its importer.
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
