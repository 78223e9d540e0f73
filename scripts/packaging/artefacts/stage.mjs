// Puts the program together once, in out/stage/core: the `files` of package.json with the native
// files. Every artefact is made of hard links to these files. Build time only.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { NODES, nodeRuntime, PACKAGED_NODE } from '../node-runtime.mjs';
import { writePrebuilt } from '../prebuilt.mjs';
import { manifest, PLATFORMS, root, STAGE } from './names.mjs';

// Files that are made for the packages instead of copied from the checkout.
const MADE = new Set(['prebuilt', 'man', 'THIRD-PARTY-LICENSES.txt']);
// Members of package.json that a user of the package needs.
const MEMBERS = [
  ...['name', 'version', 'description', 'keywords', 'license', 'type', 'engines', 'os', 'cpu'],
  ...['libc', 'bin', 'man', 'main', 'types', 'exports', 'files', 'publishConfig'],
];

export const packagedNode = NODES[PACKAGED_NODE].version;

/** The time of every file, so that a rebuild gives the same bytes: that of the last commit. */
export function timeStamp() {
  if (process.env.SOURCE_DATE_EPOCH !== undefined) return Number(process.env.SOURCE_DATE_EPOCH);
  try {
    const options = { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] };
    return Number(execFileSync('git', ['log', '-1', '--format=%ct'], options).trim());
  } catch {
    return 0;
  }
}

function copyTo(stage, path, source = join(root, path)) {
  if (!existsSync(source)) throw new Error(`package: ${path} is missing: run \`make package\``);
  mkdirSync(dirname(join(stage, path)), { recursive: true });
  cpSync(source, join(stage, path), { recursive: true });
}

/** Writes a text file and the folders above it; `mode` is 0644 unless given. */
export function writeText(path, text, mode = 0o644) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  chmodSync(path, mode);
}

/** The members of package.json for users, with `changes`; an undefined one is left out. */
export function userManifest(changes = {}) {
  const kept = Object.fromEntries(MEMBERS.map((name) => [name, manifest[name]]));
  return `${JSON.stringify({ ...kept, ...changes }, null, 2)}\n`;
}

/** Hard links of a file or folder below `from`, at `path` or `as` below `to`. */
export function link(from, to, path, as = path) {
  const target = join(to, as);
  mkdirSync(dirname(target), { recursive: true });
  rmSync(target, { recursive: true, force: true });
  execFileSync('cp', ['-al', join(from, path), target]);
}

// Sets the modes 0755 and 0644, whatever the umask of the checkout was.
function setModes(folder, executable) {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath ?? entry.path, entry.name);
    chmodSync(path, entry.isDirectory() || executable.has(path) ? 0o755 : 0o644);
  }
}

/**
 * Makes out/stage again: core/ (the program as npm gets it), extra/ (Node, the shell script that
 * starts the program on it, the C library and its header, the example models). Returns both paths,
 * and the platform. Throws if nothing is built for it.
 */
export async function stageProgram(platform = PLATFORMS.x64) {
  rmSync(STAGE, { recursive: true, force: true });
  const [core, extra] = [join(STAGE, 'core'), join(STAGE, 'extra')];
  for (const path of manifest.files.filter((name) => !MADE.has(name))) copyTo(core, path);
  copyTo(core, 'LICENSE');
  copyTo(core, 'README.md');
  writeText(join(core, 'package.json'), userManifest({ cpu: [platform.cpu] }));
  await writePrebuilt(core, platform);
  copyTo(extra, 'examples/models');
  copyTo(extra, 'README.md', join(root, 'scripts', 'packaging', 'package-readme.md'));
  copyTo(extra, 'bin/serval', join(root, 'scripts', 'packaging', 'serval.sh'));
  // The engine as a C library, for the artefacts that are no npm packages.
  copyTo(extra, 'lib/libserval.so', join(platform.built, 'libserval.so'));
  execFileSync(`${platform.gnu}-strip`, ['--strip-unneeded', join(extra, 'lib', 'libserval.so')]);
  copyTo(extra, 'include/serval.h', join(root, 'native', 'capi', 'serval.h'));
  const node = nodeRuntime(PACKAGED_NODE, platform.cpu);
  for (const name of ['node', 'LICENSE']) copyTo(extra, `node/${name}`, join(node, name));
  const programs = Object.values(manifest.bin).map((path) => join(core, path));
  setModes(core, new Set(programs));
  setModes(extra, new Set([join(extra, 'bin', 'serval'), join(extra, 'node', 'node')]));
  chmodSync(core, 0o755);
  chmodSync(extra, 0o755);
  return { core, extra, platform };
}
