// Checks the vendored files of native/third_party against the SHA-256 in each folder's README.md,
// and that no call of ONNX Runtime is newer than the function table that we request. Test time
// only.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { lineAt, splitSource } from '../lexer.mjs';
import { filesUnder } from '../source-files.mjs';

const FOLDER = /^native\/third_party\/\w+(?=\/)/;
const ROW = /^\| `([^`]+)` \| ([0-9a-f]{64}) \|$/gm;

const sha256 = (path) => createHash('sha256').update(readFileSync(path)).digest('hex');

function folderViolations(root, folder, paths) {
  const page = `${folder}/README.md`;
  if (!paths.includes(page)) return [{ path: folder, line: 1, message: 'has no README.md' }];
  const text = readFileSync(join(root, page), 'utf8');
  const found = [];
  const rows = [...text.matchAll(ROW)].map(({ 1: name, 2: hash, index }) => ({
    path: `${folder}/${name}`,
    hash,
    line: lineAt(text, index),
  }));
  for (const { path, hash, line } of rows) {
    if (!paths.includes(path)) {
      found.push({ path: page, line, message: `there is no ${path}` });
      continue;
    }
    const actual = sha256(join(root, path));
    if (actual === hash) continue;
    found.push({ path, line: 1, message: `SHA-256 is ${actual}, in README.md ${hash}` });
  }
  for (const path of paths) {
    if (path === page || rows.some((row) => row.path === path)) continue;
    found.push({ path, line: 1, message: 'README.md does not list this file' });
  }
  return found;
}

// Each vendored file is listed with its SHA-256 in the README.md of its folder, and is unchanged.
export function thirdParty({ root, sizes }) {
  const folders = new Map();
  for (const { path } of sizes) {
    const folder = FOLDER.exec(path)?.[0];
    if (folder !== undefined) folders.set(folder, [...(folders.get(folder) ?? []), path]);
  }
  return [...folders].flatMap(([folder, paths]) => folderViolations(root, folder, paths));
}

const HEADER = 'native/third_party/onnxruntime/onnxruntime_c_api.h';
const VERSIONS = 'native/backend/onnxruntime/api.h';
// The functions that are called only if OrtRuntime::has_shape_calls says that the table of
// kOrtShapeApiVersion was found.
export const CALLED_IF_NEW = [
  'AddExternalInitializersFromFilesInMemory',
  'AllocatorGetStats',
  'EpAssignedSubgraph_GetEpName',
  'EpAssignedSubgraph_GetNodes',
  'GetKeyValue',
  'GetTensorElementTypeAndShapeDataReference',
  'ReleaseKeyValuePairs',
  'Session_GetEpGraphAssignmentInfo',
  'TensorTypeAndShape_HasShape',
];
const MEMBER = [
  String.raw`(?<comment>/\*\*[\s\S]*?\*/)|//[^\n]*`,
  String.raw`ORT_API2_STATUS\(\s*(?<status>\w+)|ORT_API_T\([^,]*,\s*(?<value>\w+)`,
  String.raw`ORT_CLASS_RELEASE\((?<released>\w+)\)|\(ORT_API_CALL\*\s*(?<plain>\w+)\)`,
].join('|');

/**
 * Returns the functions of struct OrtApi in their order: name -> the minor version that added it.
 * One without a `\since` note has the version of the function before it; 0: older than the notes.
 */
export function functionVersions(header) {
  const start = header.search(/^struct OrtApi \{/m);
  const body = start < 0 ? '' : header.slice(start, header.indexOf('\n};', start));
  const versions = new Map();
  let version = 0;
  let comment = '';
  for (const { groups } of body.matchAll(new RegExp(MEMBER, 'g'))) {
    const { status, value, released, plain } = groups;
    if (groups.comment !== undefined) comment = groups.comment;
    const name = status ?? value ?? plain ?? (released && `Release${released}`);
    if (name === undefined) continue;
    version = Number(/\\since Version 1\.(\d+)/.exec(comment)?.[1] ?? version);
    comment = '';
    versions.set(name, version);
  }
  return versions;
}

// Without this rule, a call of a newer function would jump through whatever follows the table of an
// old library.
export function runtimeCalls({ root, files }) {
  if (!existsSync(join(root, HEADER))) return [{ path: HEADER, line: 1, message: 'missing' }];
  const versions = functionVersions(readFileSync(join(root, HEADER), 'utf8'));
  const numbers = files.find(({ path }) => path === VERSIONS)?.text ?? '';
  const number = (name) => Number(new RegExp(`\\b${name} = (\\d+);`).exec(numbers)?.[1]);
  const [oldest, newer] = [number('kOrtApiVersion'), number('kOrtShapeApiVersion')];
  if (!(oldest > 0 && newer > oldest)) {
    return [{ path: VERSIONS, line: 1, message: 'names no versions of the function table' }];
  }
  const found = [];
  const called = new Set();
  for (const { path, text } of filesUnder(files, 'native', 'cpp')) {
    const { code } = splitSource(text, 'cpp');
    for (const match of code.matchAll(/(?:\.|->|\bOrtApi::)\s*(\w+)\b/g)) {
      const since = versions.get(match[1]);
      if (since === undefined) continue;
      called.add(match[1]);
      const allowed = CALLED_IF_NEW.includes(match[1]) ? newer : oldest;
      if (since <= allowed) continue;
      const message = `${match[1]} is of 1.${since}; the requested table is of 1.${allowed}`;
      found.push({ path, line: lineAt(code, match.index), message });
    }
  }
  for (const name of CALLED_IF_NEW.filter((each) => !called.has(each))) {
    found.push({ path: VERSIONS, line: 1, message: `CALLED_IF_NEW has ${name}: nothing calls it` });
  }
  return found;
}
