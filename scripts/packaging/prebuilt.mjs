// Writes what the npm package carries beside its JavaScript: prebuilt/ (the stripped addon, ONNX
// Runtime's library, uWebSockets.js for Node 22), man/ and THIRD-PARTY-LICENSES.txt. npm's
// `prepack` step; `--remove` (`postpack`) takes them away again. Why: docs/decisions/0009. Build
// time only.
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  grpcLicences,
  nativeLicences,
  runtimeClosure,
  systemLicences,
  writeLicences,
} from '../licences.mjs';
import { writeManPage } from './man-page.mjs';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const ABIS = ['127']; // process.versions.modules of Node 22; there is no binary for 24

// Packages whose code is in dist/bundle with what they need in turn, and those of which we carry
// a binary.
export const BUNDLED = [
  '@grpc/grpc-js',
  '@opentelemetry/api',
  '@opentelemetry/exporter-trace-otlp-grpc',
  '@opentelemetry/exporter-trace-otlp-proto',
  '@opentelemetry/resources',
  'flatbuffers',
  'hyparquet',
  'hyparquet-compressors',
  'jpeg-js',
  'tar-stream',
  'yaml',
  'yauzl',
];
const CARRIED = {
  'onnxruntime-node': ['bin/napi-v6/linux/x64/libonnxruntime.so.1'],
  'uWebSockets.js': ABIS.map((abi) => `dist/bin/uws_linux_x64_${abi}.node`),
};

// Names of all npm packages that are part of the program.
export function shippedPackages() {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
  const carried = Object.keys(CARRIED);
  return [...runtimeClosure(lock, [...BUNDLED, ...carried], carried), ...nativeLicences];
}

/** Whether an addon has the native gRPC listener. Asked in a process of its own. */
export function hasNativeGrpc(addon) {
  const ask = 'process.exit(require(process.argv[1]).grpcBuilt() ? 0 : 3)';
  const { status, stderr } = spawnSync(process.execPath, ['-e', ask, addon], { encoding: 'utf8' });
  if (status !== 0 && status !== 3) throw new Error(`package: ${addon} cannot be asked: ${stderr}`);
  return status === 0;
}

/** The system's libraries that are linked into it, and the Debian package of each. */
export function systemLibraries(addon) {
  return { ...systemLicences, ...(hasNativeGrpc(addon) ? grpcLicences : {}) };
}

function copyBuilt(from, folder) {
  if (!existsSync(from)) throw new Error(`package: ${from} is missing: run \`make build\``);
  const to = join(folder, basename(from));
  copyFileSync(from, to);
  return to;
}

/** Writes prebuilt/, the manual page and the licences into `to`.
 * Throws where something is not built. */
export async function writePrebuilt(to) {
  await writeManPage(to);
  const folder = join(to, 'prebuilt');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const addon = copyBuilt(join(root, 'build', 'Release', 'serval.node'), folder);
  execFileSync('strip', ['--strip-unneeded', addon]);
  for (const [name, files] of Object.entries(CARRIED)) {
    for (const file of files) copyBuilt(join(root, 'node_modules', name, file), folder);
  }
  const licences = join(to, 'THIRD-PARTY-LICENSES.txt');
  const libraries = systemLibraries(addon);
  if (libraries.nghttp2 === undefined) {
    process.stderr.write(
      'package: gRPC will be served by grpc-js, which is slower: the addon was built without ' +
        'libnghttp2-dev, libssl-dev or node-llhttp\n',
    );
  }
  writeLicences(licences, join(root, 'node_modules'), shippedPackages(), libraries);
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
