// Writes the Python wheel: the package `serval` (scripts/packaging/python) with the program and
// Node in it. The same input gives the same bytes. Build time only.
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { manylinuxTag } from './glibc.mjs';
import { artefacts, manifest, NAMES, OUT, root, version } from './names.mjs';
import { timeStamp } from './stage.mjs';
import { zip } from './zip.mjs';

const PYTHON = join(root, 'scripts', 'packaging', 'python');
// The folder of the program in the Python package; serval/program.py names it, too.
const RUNTIME = 'serval/_runtime';
const PROGRAM = ['package.json', 'bin', 'dist', 'prebuilt', 'man'];
const NODE_LICENCE = 'node/LICENSE';

function entriesBelow(folder, path, as = path) {
  const top = join(folder, path);
  const files = statSync(top).isFile()
    ? [top]
    : readdirSync(top, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
  return files.map((file) => {
    const below = relative(top, file);
    const mode = statSync(file).mode & 0o100 ? 0o755 : 0o644;
    return { name: below === '' ? as : `${as}/${below}`, data: readFileSync(file), mode };
  });
}

const text = (name, data) => ({ name, data: Buffer.from(data), mode: 0o644 });

function metadata() {
  const readme = readFileSync(join(PYTHON, 'README.md'), 'utf8');
  return `Metadata-Version: 2.1
Name: ${NAMES.python}
Version: ${version}
Summary: ${manifest.description}
License: ${manifest.license}
Keywords: ${manifest.keywords.join(',')}
Classifier: License :: OSI Approved :: Apache Software License
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Classifier: Topic :: Scientific/Engineering :: Artificial Intelligence
Requires-Python: >=3.8
Description-Content-Type: text/markdown

${readme}`;
}

const sha256 = (data) => createHash('sha256').update(data).digest('base64url');

// Returns the entries of NAME-VERSION.dist-info; RECORD lists all files with their digests.
function distInfo(entries, tag, { core, extra }) {
  const folder = `${NAMES.python}-${version}.dist-info`;
  const wheel = `Wheel-Version: 1.0\nGenerator: serval\nRoot-Is-Purelib: false\nTag: py3-none-${tag}\n`;
  const more = [
    text(`${folder}/METADATA`, metadata()),
    text(`${folder}/WHEEL`, wheel),
    text(`${folder}/entry_points.txt`, '[console_scripts]\nserval = serval.__main__:main\n'),
    text(`${folder}/top_level.txt`, 'serval\n'),
    ...['LICENSE', 'THIRD-PARTY-LICENSES.txt'].flatMap((path) =>
      entriesBelow(core, path, `${folder}/licenses/${path}`),
    ),
    ...entriesBelow(extra, NODE_LICENCE, `${folder}/licenses/${NODE_LICENCE}`),
  ];
  const lines = [...entries, ...more].map(
    ({ name, data }) => `${name},sha256=${sha256(data)},${data.length}\n`,
  );
  return [...more, text(`${folder}/RECORD`, `${lines.join('')}${folder}/RECORD,,\n`)];
}

/** Writes the wheel for the symbol versions that its native files need; returns its name. */
export function writeWheel({ core, extra, platform }, needed) {
  const tag = manylinuxTag(needed, platform.wheel);
  const entries = [
    ...entriesBelow(PYTHON, 'serval'),
    ...PROGRAM.flatMap((path) => entriesBelow(core, path, `${RUNTIME}/${path}`)),
    ...entriesBelow(extra, 'node/node', `${RUNTIME}/node/node`),
    ...entriesBelow(extra, 'lib/libserval.so', `${RUNTIME}/prebuilt/libserval.so`),
    ...entriesBelow(extra, 'include/serval.h', `${RUNTIME}/include/serval.h`),
  ]
    .filter(({ name }) => !name.includes('__pycache__'))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  const { wheel } = artefacts(platform, tag);
  const all = [...entries, ...distInfo(entries, tag, { core, extra })];
  writeFileSync(join(OUT, wheel), zip(all, timeStamp()));
  return basename(wheel);
}
