// Checks the sizes of files, functions, lines, folders and blobs against limits.json. Test time
// only.
import { NOT_WRITTEN_HERE } from '../../../scripts/format.mjs';
import { functionsIn } from '../functions.mjs';
import { folderOf } from '../source-files.mjs';

// A `violation` is {path, line, message}; every rule returns a list of them.

export function fileLines({ files }, limits) {
  return files
    .filter(({ language }) => language !== undefined)
    .map(({ path, text }) => ({ path, lines: text.replace(/\n$/, '').split('\n').length }))
    .filter(({ path, lines }) => lines > limitFor(limits, 'fileLines', path))
    .map(({ path, lines }) => ({
      path,
      line: lines,
      message: `${lines} lines, at most ${limitFor(limits, 'fileLines', path)}: split the file`,
    }));
}

const COMMENT = /^\s*(\/\/|\/?\*)/;

export function lineColumns({ files }, limits) {
  const found = [];
  for (const { path, text, language } of files) {
    if (language === undefined) continue;
    // Formatters break code themselves, so only its comments are checked.
    const isFormatted = language === 'cpp' || language === 'script';
    text.split('\n').forEach((content, index) => {
      if (isFormatted && !COMMENT.test(content)) return;
      const columns = [...content].length;
      if (columns > limits.lineColumns) {
        const message = `${columns} columns, at most ${limits.lineColumns}`;
        found.push({ path, line: index + 1, message });
      }
    });
  }
  return found;
}

export function functionLines({ files }, limits) {
  const found = [];
  for (const { path, text, language } of files) {
    if (language !== 'cpp' && language !== 'script') continue;
    for (const { line, lines } of functionsIn(text, language)) {
      if (lines > limitFor(limits, 'functionLines', path)) {
        const message = `function of ${lines} lines, at most ${limitFor(limits, 'functionLines', path)}`;
        found.push({ path, line, message });
      }
    }
  }
  return found;
}

// Counts x.h and x.cc as one file, because a reader sees them as one thing.
export function folderFiles({ files }, limits) {
  const folders = new Map();
  for (const { path, language } of files) {
    if (language === undefined) continue;
    const names = folders.get(folderOf(path)) ?? new Set();
    folders.set(folderOf(path), names.add(path.replace(/\.(cc|h)$/, '')));
  }
  return [...folders]
    .filter(([folder, names]) => names.size > limitFor(limits, 'folderFiles', folder))
    .map(([folder, names]) => ({
      path: folder,
      line: 1,
      message: `${names.size} files, at most ${limitFor(limits, 'folderFiles', folder)}`,
    }));
}

// `make goldens` packs them.
const GOLDENS = /^test\/goldens\/[^/]*\.tar\.xz$/;

export function blobBytes({ sizes }, limits) {
  return sizes
    .filter(({ path }) => !NOT_WRITTEN_HERE.test(path) && !GOLDENS.test(path))
    .filter(({ path, bytes }) => bytes > limitFor(limits, 'blobBytes', path))
    .map(({ path, bytes }) => ({
      path,
      line: 1,
      message: `${bytes} bytes, at most ${limits.blobBytes}: make it by a script`,
    }));
}

// Checks that each raised limit has a reason and is still needed.
export function raisedLimits(tree, limits) {
  const found = [];
  const plain = { ...limits, raised: {} };
  const over = [
    ...fileLines(tree, plain),
    ...functionLines(tree, plain),
    ...folderFiles(tree, plain),
    ...blobBytes(tree, plain),
  ];
  for (const [path, raised] of Object.entries(limits.raised)) {
    const say = (message) => found.push({ path: 'test/tidy/limits.json', line: 1, message });
    if (typeof raised.why !== 'string' || raised.why.length < 20) say(`${path}: no "why"`);
    if (!over.some((each) => each.path === path)) say(`${path}: the raised limit is not needed`);
  }
  return found;
}

function limitFor(limits, name, path) {
  return limits.raised[path]?.[name] ?? limits[name];
}
