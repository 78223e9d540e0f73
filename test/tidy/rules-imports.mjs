// Who may include or import whom (STYLE, Imports). Test time only.
import { posix } from 'node:path';
import { lineAt, splitSource } from './lexer.mjs';
import { filesUnder } from './source-files.mjs';

// Library -> what its files may include, by prefix of the path under native/.
const NATIVE_MAY_INCLUDE = {
  base: ['base/'],
  codec: ['base/', 'codec/'],
  operators: ['base/', 'operators/'],
  backend: ['base/', 'backend/', 'operators/operator.h', 'codec/wire_reader.h'],
  batch: ['base/', 'batch/'],
  stats: ['base/', 'stats/'],
  engine: ['base/', 'codec/', 'batch/', 'stats/', 'engine/', 'backend/backend.h'],
  addon: ['base/', 'codec/', 'backend/', 'batch/', 'stats/', 'engine/', 'addon/'],
};
const NAPI_HEADER = 'native/addon/napi_api.h';

// Folder of ts/ -> folders of ts/ it may not import, with the exceptions that are types of data.
const TS_MAY_NOT_IMPORT = {
  transport: { folders: ['registry', 'protocols', 'importers', 'admin', 'metrics'], except: [] },
  protocols: { folders: ['importers'], except: [] },
  protobuf: {
    folders: ['native', 'registry', 'transport', 'protocols', 'importers', 'admin', 'metrics'],
    except: [],
  },
  importers: {
    folders: ['native', 'registry', 'transport', 'protocols', 'admin', 'metrics'], except: [],
  },
  registry: { folders: ['transport', 'protocols', 'admin'], except: [] },
  native: {
    folders: ['transport', 'protocols', 'importers', 'registry', 'admin', 'metrics'],
    except: ['registry/snapshot.ts'],
  },
  'model-config': {
    folders: ['transport', 'protocols', 'importers', 'admin', 'metrics', 'warmup'], except: [],
  },
  warmup: { folders: ['transport', 'protocols', 'importers', 'admin', 'metrics'], except: [] },
  metrics: { folders: ['transport', 'protocols', 'importers'], except: [] },
};
const CONCRETE_LISTENER = /^ts\/transport\/\w+-listener\.ts$/;
const WORKER_ENTRY = /^ts\/workers\/\w+-worker\.ts$/;
const HOT_MAY_NOT_IMPORT = /^ts\/(importers|admin|config|registry\/(?!snapshot\.ts))/;

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
  const { code } = splitSource(text, 'script', { keepStrings: true });
  const pattern = /(?:\bfrom|\bimport)\s*\(?\s*['"](\.[^'"]*)['"]/g;
  return [...code.matchAll(pattern)].map((match) => ({
    line: lineAt(code, match.index),
    target: posix.join(posix.dirname(path), match[1]).replace(/\.js$/, '.ts'),
  }));
}

// "v2-rest" of ts/protocols/v2-rest-health.ts; undefined for pieces that belong to no single one.
function protocolOf(path) {
  return /^ts\/protocols\/(\w+-(?:rest|grpc))\b/.exec(path)?.[1];
}

// "v2" of ts/protocols/v2-documents.ts.
function familyOf(path) {
  return /^ts\/protocols\/(v\d+)-/.exec(path)?.[1];
}

function protocolViolation(path, target) {
  const [from, to] = [protocolOf(path), protocolOf(target)];
  if (to !== undefined && from !== to) return 'protocols do not import each other';
  const [family, other] = [familyOf(path), familyOf(target)];
  if (other !== undefined && family !== other) return 'pieces of one protocol stay with it';
  return undefined;
}

function importViolation(path, target) {
  const nested = path.split('/').length > 2;
  if (target === 'ts/server.ts' && nested) return 'only the command line starts the server';
  if (target === 'ts/main.ts') return 'nobody imports main.ts';
  const folder = path.split('/')[1];
  const rule = TS_MAY_NOT_IMPORT[folder];
  const inner = target.replace(/^ts\//, '');
  const other = inner.split('/')[0];
  if (rule?.folders.includes(other) && !rule.except.includes(inner)) {
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
    const hot = /\bHot path \d+\/\d+/.test(text);
    for (const { line, target } of importsOf(path, text)) {
      const say = (why) => found.push({ path, line, message: `imports ${target}: ${why}` });
      const why = importViolation(path, target);
      if (why !== undefined) say(why);
      if (hot && HOT_MAY_NOT_IMPORT.test(target)) say('a hot file imports no control file');
    }
  }
  return found;
}
