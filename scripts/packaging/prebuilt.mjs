// Writes the parts of the npm package other than its JavaScript: prebuilt/ (the stripped addons,
// ONNX Runtime's library, uWebSockets.js for Node 22), man/ and THIRD-PARTY-LICENSES.txt. npm's
// `prepack` step; `--remove` (`postpack`) removes them again. Reasons: docs/decisions/0009. Build
// time only.
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nativeLicences, runtimeClosure, systemLicences, writeLicences } from '../licences.mjs';
import { PLATFORMS } from './artefacts/names.mjs';
import { writeManPage } from './man-page.mjs';
import { staleReason } from './record/built.mjs';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const ABIS = ['127']; // process.versions.modules of Node 22; there is no binary for 24

// Packages whose code is in dist/bundle with their dependencies, and those whose binary the package
// includes.
export const BUNDLED = [
  '@grpc/grpc-js',
  '@opentelemetry/api',
  '@opentelemetry/exporter-trace-otlp-grpc',
  '@opentelemetry/exporter-trace-otlp-proto',
  '@opentelemetry/resources',
  'flatbuffers',
  'hyparquet',
  'hyparquet-compressors',
  'tar-stream',
  'yaml',
  'yauzl',
];
const CARRIED = ['onnxruntime-node', 'uWebSockets.js'];

/** The files of the carried packages for a platform: package -> paths in it. */
export function carriedPaths({ cpu }) {
  return {
    'onnxruntime-node': [`bin/napi-v6/linux/${cpu}/libonnxruntime.so.1`],
    'uWebSockets.js': ABIS.map((abi) => `dist/bin/uws_linux_${cpu}_${abi}.node`),
  };
}

// Returns the names of all npm packages that are part of the program.
export function shippedPackages() {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
  return [...runtimeClosure(lock, [...BUNDLED, ...CARRIED], CARRIED), ...nativeLicences];
}

// The addon for CPUs without AVX2 takes as long to compile as the other, so a package may lack it,
// but never in silence and never with an old one.
function addonNames({ cpu }) {
  if (cpu !== 'x64') return ['serval.node'];
  const reason = staleReason('baseline');
  if (reason === undefined) return ['serval.node', 'serval-baseline.node'];
  const limit = 'package: it will not run on x86-64 CPUs without AVX2';
  process.stderr.write(`${limit}: ${reason}: run \`make build-baseline\`\n`);
  return ['serval.node'];
}

function copyBuilt(from, folder) {
  if (!existsSync(from)) throw new Error(`package: ${from} is missing: run \`make build\``);
  const to = join(folder, basename(from));
  copyFileSync(from, to);
  return to;
}

/**
 * Writes prebuilt/, the manual page and the licences into `to`. Throws if something is not built.
 */
export async function writePrebuilt(to, platform = PLATFORMS.x64) {
  await writeManPage(to);
  const folder = join(to, 'prebuilt');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const name of addonNames(platform)) {
    const addon = copyBuilt(join(platform.built, name), folder);
    execFileSync(`${platform.gnu}-strip`, ['--strip-unneeded', addon]);
  }
  for (const [name, files] of Object.entries(carriedPaths(platform))) {
    for (const file of files) copyBuilt(join(root, 'node_modules', name, file), folder);
  }
  const licences = join(to, 'THIRD-PARTY-LICENSES.txt');
  writeLicences(licences, join(root, 'node_modules'), shippedPackages(), systemLicences);
}

async function main(args) {
  if (args.includes('--remove')) {
    for (const name of ['prebuilt', 'man', 'THIRD-PARTY-LICENSES.txt']) {
      rmSync(join(root, name), { recursive: true, force: true });
    }
    return;
  }
  if (!existsSync(join(root, 'dist', 'bundle', 'api.js'))) {
    throw new Error('package: dist/bundle is missing: run `make build`');
  }
  await writePrebuilt(root);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv.slice(2));
