// Writes out/serval-<version>-linux-x64.tar.gz (and .sha256), which needs nothing but glibc: the
// `files` of package.json, the example models, a separate README and Node. The same inputs give the
// same bytes. Needs `make build models` before. Build time only.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nodeRuntime, NODES, PACKAGED_NODE } from './packaging/node-runtime.mjs';
import { shippedPackages, writePrebuilt } from './packaging/prebuilt.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const packaging = join(root, 'scripts', 'packaging');
const BYTES_MAX = 80e6;

// Files that this script makes instead of copying them from the checkout.
const MADE = new Set(['prebuilt', 'man', 'THIRD-PARTY-LICENSES.txt']);

// Writes the parts of package.json that a user of the package needs.
function writeManifest(manifest, stage) {
  const names = [
    'name',
    'version',
    'description',
    'license',
    'private',
    'type',
    'engines',
    'os',
    'cpu',
    'libc',
    'bin',
    'man',
    'main',
    'types',
    'exports',
  ];
  const kept = Object.fromEntries(names.map((name) => [name, manifest[name]]));
  writeFileSync(join(stage, 'package.json'), `${JSON.stringify(kept, null, 2)}\n`);
}

function copyTo(stage, path, source = join(root, path)) {
  if (!existsSync(source)) throw new Error(`package: ${path} is missing: run \`make package\``);
  mkdirSync(dirname(join(stage, path)), { recursive: true });
  cpSync(source, join(stage, path), { recursive: true });
}

function copyOwnFiles(manifest, stage) {
  const files = manifest.files.filter((path) => !MADE.has(path));
  for (const path of [...files, 'examples/models', 'LICENSE']) copyTo(stage, path);
  copyTo(stage, 'README.md', join(packaging, 'package-readme.md'));
  copyTo(stage, 'bin/serval', join(packaging, 'serval.sh'));
  const node = nodeRuntime(PACKAGED_NODE);
  for (const name of ['node', 'LICENSE']) copyTo(stage, `node/${name}`, join(node, name));
}

function setModes(folder, executable) {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath ?? entry.path, entry.name);
    chmodSync(path, entry.isDirectory() || executable.has(path) ? 0o755 : 0o644);
  }
}

// Returns one time stamp for all files, that of the last commit, so that a rebuild gives the same
// bytes.
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
  args.push(`--mtime=@${timeStamp()}`, '--use-compress-program=gzip -6n', '-cf', tarball);
  execFileSync('tar', [...args, '-C', dirname(stage), basename(stage)], { stdio: 'inherit' });
  const sum = createHash('sha256').update(readFileSync(tarball)).digest('hex');
  writeFileSync(`${tarball}.sha256`, `${sum}  ${basename(tarball)}\n`);
}

async function main() {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const name = `serval-${manifest.version}-linux-x64`;
  const stage = join(root, 'out', name);
  const tarball = `${stage}.tar.gz`;
  rmSync(stage, { recursive: true, force: true });
  mkdirSync(stage, { recursive: true });
  copyOwnFiles(manifest, stage);
  writeManifest(manifest, stage);
  await writePrebuilt(stage);
  const programs = [...Object.values(manifest.bin), 'bin/serval', 'node/node'];
  const executable = new Set(programs.map((path) => join(stage, path)));
  setModes(stage, executable);
  writeTarball(stage, tarball);
  const bytes = statSync(tarball).size;
  rmSync(stage, { recursive: true });
  const megabytes = `${(bytes / 1e6).toFixed(1)} MB`;
  const packages = shippedPackages().length;
  const counted = `${megabytes}, ${packages} npm packages, Node ${NODES[PACKAGED_NODE].version}`;
  process.stdout.write(`${relative(root, tarball)}  ${counted}\n`);
  if (bytes <= BYTES_MAX) return 0;
  process.stderr.write(`package: ${megabytes} is over the limit of ${BYTES_MAX / 1e6} MB\n`);
  return 1;
}

process.exit(await main());
