// The rank of the native libraries and of the folders inside them: includes only run down. Test
// time only.
import { lineAt, splitSource } from '../lexer.mjs';
import { filesUnder } from '../source-files.mjs';
import { ranksOf, refusal } from './rank-list.mjs';

// Libraries from low to high. Members of `apart` have one rank and do not see each other.
const LIBRARIES = [
  'base',
  { apart: ['codec', 'operators', 'gpu', 'stats', 'transport'] },
  { apart: ['backend', 'batch'] },
  { apart: ['tabular', 'engine', 'load'] },
  'calls',
  'addon',
  'capi',
];

// Folders inside a library from low to high; '.' stands for the library's own files, a name with a
// dot for one of them. Members of `knot` still include each other: such a list may only shrink.
const FOLDERS = {
  engine: [
    'cache',
    'limits',
    'turns',
    'request',
    'published',
    'shm',
    'watch',
    'observe',
    'ragged',
    'model',
    'sequence',
    'ensemble',
    'control',
    'lane',
  ],
  codec: ['json', '.', 'v2', { knot: ['serving', 'examples'] }, 'values', 'table'],
  backend: ['.', 'onnx', 'rows', { apart: ['onnxruntime', 'isolated'] }],
  operators: [
    ...['.', 'strings', 'sparse'],
    {
      apart: [
        ...['arrays', 'audio', 'decoders', 'guards', 'images', 'numeric', 'protos', 'strict'],
        ...['features', 'trees'],
      ],
    },
    'operators.cc',
  ],
  transport: [{ apart: ['socket', 'grpc', 'growth'] }, { knot: ['.', 'loop', 'http1', 'http2'] }],
  tabular: [
    'contract',
    'generated',
    { knot: ['.', 'dense', 'features', 'java', 'lazy', 'sql'] },
    { apart: ['forest', 'models', 'pmml'] },
  ],
};

// Lower libraries that a library has no business with, though its rank would allow them.
const UNKNOWN_TO = {
  backend: ['codec', 'stats', 'transport'],
  batch: ['codec', 'operators', 'stats', 'transport'],
  tabular: ['codec', 'operators', 'gpu', 'stats', 'transport', 'batch'],
  engine: ['operators', 'transport'],
  load: ['codec', 'operators', 'gpu', 'stats', 'backend', 'batch'],
  calls: ['codec', 'operators', 'gpu', 'stats', 'backend', 'batch', 'tabular', 'load'],
  addon: ['gpu', 'tabular'],
  capi: ['operators', 'stats', 'transport', 'batch', 'tabular', 'load', 'calls'],
};
// The headers that are all a library knows of a lower one.
const ONLY = {
  backend: { operators: ['operators/operator.h'] },
  batch: { gpu: ['gpu/input_places.h'] },
  tabular: { backend: ['backend/backend.h'] },
  engine: { backend: ['backend/backend.h', 'backend/isolated/isolated.h'] },
  addon: { operators: ['operators/images/image_file.h'] },
  capi: {
    backend: ['backend/backend.h'],
    gpu: ['gpu/cuda.h'],
  },
};
const NAPI_HEADER = 'native/addon/napi_api.h';

const LIBRARY_RANKS = ranksOf(LIBRARIES);
const FOLDER_RANKS = new Map(
  Object.entries(FOLDERS).map(([library, list]) => [library, ranksOf(list)]),
);

function includesOf(text) {
  const { code } = splitSource(text, 'cpp', { keepStrings: true });
  return [...code.matchAll(/^[ \t]*#[ \t]*include[ \t]*["<]([^">]+)[">]/gm)].map((match) => ({
    line: lineAt(code, match.index),
    target: match[1],
  }));
}

// The place of a path under native/ in its library's list: a folder, a listed file, or '.'.
function placeOf(path) {
  const [library, first, ...rest] = path.split('/');
  if (rest.length > 0) return first;
  return FOLDER_RANKS.get(library)?.has(first) ? first : '.';
}

function libraryRefusal(from, to, target) {
  const ranked = refusal(LIBRARY_RANKS, from, to);
  if (ranked !== undefined) return ranked;
  if (UNKNOWN_TO[from]?.includes(to)) return `${from} does not know ${to}`;
  const only = ONLY[from]?.[to];
  return only === undefined || only.includes(target)
    ? undefined
    : `${from} knows only ${only.join(', ')} of ${to}`;
}

export function nativeRanks({ files }) {
  const found = [];
  for (const { path, text } of filesUnder(files, 'native', 'cpp')) {
    const own = path.slice('native/'.length);
    const library = own.split('/')[0];
    if (!LIBRARY_RANKS.has(library)) {
      found.push({ path, line: 1, message: `${library} is not in the ranked list` });
      continue;
    }
    const ranks = FOLDER_RANKS.get(library);
    if (ranks !== undefined && !ranks.has(placeOf(own))) {
      const message = `${placeOf(own)} is not in the ranked list of native/${library}`;
      found.push({ path, line: 1, message });
      continue;
    }
    for (const { line, target } of includesOf(text)) {
      const other = target.split('/')[0];
      if (!LIBRARY_RANKS.has(other) || !target.includes('/')) continue;
      const why =
        other !== library
          ? libraryRefusal(library, other, target)
          : ranks && refusal(ranks, placeOf(own), placeOf(target));
      if (why !== undefined) found.push({ path, line, message: `includes ${target}: ${why}` });
    }
  }
  return found;
}

// Folder -> folder -> where the first include of it is. Libraries' own files are left out: they
// are the top and the bottom of a library.
function folderArrows(files) {
  const arrows = new Map();
  for (const { path, text } of filesUnder(files, 'native', 'cpp')) {
    const own = path.slice('native/'.length).split('/');
    if (own.length < 3) continue;
    const from = own.slice(0, 2).join('/');
    if (!arrows.has(from)) arrows.set(from, new Map());
    for (const { line, target } of includesOf(text)) {
      const parts = target.split('/');
      const to = parts.slice(0, 2).join('/');
      if (parts.length < 3 || to === from || arrows.get(from).has(to)) continue;
      arrows.get(from).set(to, { path, line });
    }
  }
  return arrows;
}

function reaches(arrows, from, goal) {
  const seen = new Set([from]);
  for (const folder of seen) {
    for (const next of arrows.get(folder)?.keys() ?? []) {
      if (next === goal) return true;
      seen.add(next);
    }
  }
  return false;
}

function sameKnot(from, to) {
  const [library, folder] = from.split('/');
  const [other, otherFolder] = to.split('/');
  if (library !== other) return false;
  const [one, two] = [folder, otherFolder].map((name) => FOLDER_RANKS.get(library)?.get(name));
  return one?.group === 'knot' && two?.rank === one.rank;
}

// Covers the folders of all libraries, ranked or not.
export function nativeCycles({ files }) {
  const arrows = folderArrows(files);
  const found = [];
  for (const [from, targets] of arrows) {
    for (const [to, { path, line }] of targets) {
      if (sameKnot(from, to) || !reaches(arrows, to, from)) continue;
      found.push({ path, line, message: `${from} includes ${to}, which leads back to it` });
    }
  }
  return found;
}

export function napiHeader({ files }) {
  const found = [];
  for (const { path, text } of filesUnder(files, 'native', 'cpp')) {
    if (path === NAPI_HEADER) continue;
    for (const { line, target } of includesOf(text)) {
      if (!/^(napi|node_api|js_native_api)\.h$/.test(target)) continue;
      found.push({ path, line, message: `includes N-API; only ${NAPI_HEADER} does` });
    }
  }
  return found;
}
