// Records what a build was made from, and tells whether it is current: `npm pack` of a built
// checkout then packs without a build, and never packs a stale one. Compares contents, not times:
// another Node, a copied checkout or a touched file needs no build. Build time only.
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const checkout = dirname(dirname(dirname(here)));

const NATIVE_SOURCES = [
  'native',
  'proto',
  'CMakeLists.txt',
  'package-lock.json',
  'scripts/build-native.mjs',
];

/** Every part of the package that is built: its sources and its outputs, files or folders. */
export const PARTS = {
  native: { sources: NATIVE_SOURCES, outputs: ['build/Release/serval.node'] },
  baseline: { sources: NATIVE_SOURCES, outputs: ['build/Release/serval-baseline.node'] },
  ts: {
    sources: [
      ...['ts', 'proto', 'tsconfig.json', 'package.json', 'package-lock.json'],
      ...['scripts/build-ts.mjs', 'scripts/bundle.mjs', 'scripts/packaging'],
    ],
    outputs: ['dist/bundle'],
  },
};

const stampOf = (part, root) => join(root, 'build', `${part}.built.json`);

/** Returns the hash of the names and contents of files and folders below `root`. */
function hashOf(paths, root) {
  const hash = createHash('sha256');
  const add = (path) => {
    const at = join(root, path);
    if (!existsSync(at)) {
      hash.update(`${path}\0missing\n`);
    } else if (statSync(at).isDirectory()) {
      for (const name of readdirSync(at).sort()) add(`${path}/${name}`);
    } else {
      const bytes = readFileSync(at);
      hash.update(`${path}\0${bytes.length}\n`);
      hash.update(bytes);
    }
  };
  for (const path of paths) add(path);
  return hash.digest('hex');
}

/** Call before a build: removes its record. Returns the function that records its success. */
export function beginBuild(part, root = checkout) {
  const { sources, outputs } = PARTS[part];
  const stamp = stampOf(part, root);
  rmSync(stamp, { force: true });
  const from = hashOf(sources, root);
  return () => {
    mkdirSync(dirname(stamp), { recursive: true });
    writeFileSync(stamp, `${JSON.stringify({ sources: from, outputs: hashOf(outputs, root) })}\n`);
  };
}

/** Why the part has to be built; undefined: what is built is current. */
export function staleReason(part, root = checkout) {
  const { sources, outputs } = PARTS[part];
  const missing = outputs.find((path) => !existsSync(join(root, path)));
  if (missing !== undefined) return `${missing} is missing`;
  const stamp = stampOf(part, root);
  if (!existsSync(stamp)) return 'no finished build is recorded';
  const built = JSON.parse(readFileSync(stamp, 'utf8'));
  if (built.sources !== hashOf(sources, root))
    return `${sources.join(', ')}: changed since the build`;
  if (built.outputs !== hashOf(outputs, root))
    return `${outputs.join(', ')}: changed since the build`;
  return undefined;
}
