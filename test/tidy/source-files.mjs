// Lists the files that the rules check: those that git tracks or would add. Test time only.
import { execFileSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { NOT_WRITTEN_HERE } from '../../scripts/format.mjs';

const LANGUAGES = {
  '.cc': 'cpp',
  '.h': 'cpp',
  '.ts': 'script',
  '.mjs': 'script',
  '.py': 'hash',
  '.sh': 'hash',
  '.fbs': 'plain',
  '.proto': 'plain',
  '.gyp': 'hash',
};
const BY_NAME = { Makefile: 'hash', 'CMakeLists.txt': 'hash', run: 'hash' };

// Returns {path, language, text}. Generated and vendored files have language undefined: rules check
// that they are fresh or unchanged, not their style.
export function sourceFile(path, text) {
  const known = LANGUAGES[extname(path)] ?? BY_NAME[basename(path)];
  return { path, text, language: NOT_WRITTEN_HERE.test(path) ? undefined : known };
}

// Returns paths relative to `root`, sorted. Throws if git fails.
export function listedPaths(root) {
  const args = ['ls-files', '--cached', '--others', '--exclude-standard', '-z'];
  const options = { cwd: root, encoding: 'utf8', maxBuffer: 64 * 2 ** 20 };
  const names = execFileSync('git', args, options).split('\0');
  const paths = [...new Set(names.filter((path) => path !== ''))].sort();
  return paths.filter((path) => statSync(join(root, path), { throwIfNoEntry: false })?.isFile());
}

// Returns {files, sizes}: the text files, and {path, bytes} of all.
export function readTree(root) {
  const paths = listedPaths(root);
  const sizes = paths.map((path) => ({ path, bytes: statSync(join(root, path)).size }));
  const text = (path) => readFileSync(join(root, path), 'utf8');
  const isText = (path) => /\.(md|json|npmrc|supp|txt)$/.test(path) || basename(path) === 'LICENSE';
  const files = paths
    .filter((path) => isText(path) || sourceFile(path, '').language !== undefined)
    .map((path) => sourceFile(path, text(path)));
  return { files, sizes };
}

// Returns the files of a language under a folder.
export function filesUnder(files, folder, ...languages) {
  return files.filter(
    ({ path, language }) =>
      path.startsWith(`${folder}/`) &&
      language !== undefined &&
      (languages.length === 0 || languages.includes(language)),
  );
}

export function folderOf(path) {
  return dirname(path);
}
