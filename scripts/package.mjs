// Writes out/serval-<version>-linux-x64.tar.gz (and .sha256): all that runs where there is Node and
// nothing else. Holds what package.json's `files` names, the example models, and of node_modules
// only what is loaded: packages of the run-time closure without sources, types and other platforms'
// files. The same inputs give the same bytes. Needs `make build models` before. Build time only.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync, cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nativeLicences, runtimeClosure, writeLicences } from './licences.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const modules = join(root, 'node_modules');
const BYTES_MAX = 80e6;
const ABIS = ['115', '127']; // process.versions.modules of Node 20 and 22

// Files of a package that no program reads at run time, and whole folders of some packages.
const UNUSED_FILE = /\.(d\.[cm]?ts|ts|map|md|markdown|flow)$/i;
const UNUSED_FOLDERS = ['@grpc/grpc-js/src', 'flatbuffers/mjs', 'flatbuffers/ts', 'yaml/browser'];

// Packages of which we take named files only.
const PICKED = {
  'onnxruntime-node': ['package.json', 'bin/napi-v6/linux/x64/libonnxruntime.so.1'],
  'uWebSockets.js': [
    'package.json', 'LICENSE', 'dist/index.mjs', 'dist/uws.mjs',
    ...ABIS.map((abi) => `dist/bin/uws_linux_x64_${abi}.node`),
  ],
};

function isUsed(source) {
  const path = relative(modules, source);
  if (UNUSED_FOLDERS.some((folder) => path === folder)) return false;
  return /^licen[cs]e/i.test(basename(path)) || !UNUSED_FILE.test(path);
}

function copyPackage(name, stage) {
  const from = join(modules, name);
  const to = join(stage, 'node_modules', name);
  const picked = PICKED[name];
  if (picked === undefined) {
    cpSync(from, to, { recursive: true, filter: isUsed });
    return;
  }
  for (const file of picked) {
    mkdirSync(dirname(join(to, file)), { recursive: true });
    cpSync(join(from, file), join(to, file));
  }
}

// Of our own package.json, what a user of the package can use.
function writeManifest(manifest, stage) {
  const names = ['name', 'version', 'description', 'license', 'private', 'type', 'engines', 'bin',
    'dependencies'];
  const kept = Object.fromEntries(names.map((name) => [name, manifest[name]]));
  writeFileSync(join(stage, 'package.json'), `${JSON.stringify(kept, null, 2)}\n`);
}

function copyOwnFiles(manifest, stage) {
  const documents = ['README.md', 'CHANGELOG.md', 'LICENSE', 'docs/errors.md', 'docs/protocols'];
  for (const path of [...manifest.files, 'examples/models', ...documents]) {
    const source = join(root, path);
    if (!existsSync(source)) throw new Error(`package: ${path} is missing: run \`make package\``);
    mkdirSync(dirname(join(stage, path)), { recursive: true });
    cpSync(source, join(stage, path), { recursive: true });
  }
  execFileSync('strip', ['--strip-unneeded', join(stage, 'build', 'Release', 'serval.node')]);
}

function setModes(folder, executable) {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath ?? entry.path, entry.name);
    chmodSync(path, entry.isDirectory() || executable.has(path) ? 0o755 : 0o644);
  }
}

// One time stamp for every file: the last commit's, so that a rebuild gives the same bytes.
function timeStamp() {
  if (process.env.SOURCE_DATE_EPOCH !== undefined) return process.env.SOURCE_DATE_EPOCH;
  try {
    const options = { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] };
    return execFileSync('git', ['log', '-1', '--format=%ct'], options).trim();
  } catch {
    return '0';
  }
}

function writeTarball(stage, tarball) {
  const args = ['--sort=name', '--owner=0', '--group=0', '--numeric-owner', '--format=gnu'];
  args.push(`--mtime=@${timeStamp()}`, '--use-compress-program=gzip -9n', '-cf', tarball);
  execFileSync('tar', [...args, '-C', dirname(stage), basename(stage)], { stdio: 'inherit' });
  const sum = createHash('sha256').update(readFileSync(tarball)).digest('hex');
  writeFileSync(`${tarball}.sha256`, `${sum}  ${basename(tarball)}\n`);
}

function main() {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const name = `serval-${manifest.version}-linux-x64`;
  const stage = join(root, 'out', name);
  const tarball = `${stage}.tar.gz`;
  rmSync(stage, { recursive: true, force: true });
  mkdirSync(stage, { recursive: true });
  copyOwnFiles(manifest, stage);
  writeManifest(manifest, stage);
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
  const packages = runtimeClosure(lock, Object.keys(manifest.dependencies), Object.keys(PICKED));
  for (const each of packages) copyPackage(each, stage);
  writeLicences(join(stage, 'THIRD-PARTY-LICENSES.txt'), modules, [...packages, ...nativeLicences]);
  const executable = new Set(Object.values(manifest.bin).map((path) => join(stage, path)));
  setModes(stage, executable);
  writeTarball(stage, tarball);
  const bytes = statSync(tarball).size;
  rmSync(stage, { recursive: true });
  const megabytes = `${(bytes / 1e6).toFixed(1)} MB`;
  const counted = `${megabytes}, ${packages.length} npm packages`;
  process.stdout.write(`${relative(root, tarball)}  ${counted}\n`);
  if (bytes <= BYTES_MAX) return 0;
  process.stderr.write(`package: ${megabytes} is over the limit of ${BYTES_MAX / 1e6} MB\n`);
  return 1;
}

process.exit(main());
