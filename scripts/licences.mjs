// Lists the npm packages that the shipped program contains, and collects their licence texts. Build
// time only.
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

// Packages compiled into serval.node; their texts come from node_modules too. FlatBuffers' C++
// headers come from the system and carry the same licence as the npm package of that name.
export const nativeLicences = ['@nozbe/simdjson', 'node-addon-api', 'node-api-headers', 're2'];

// Debian's paths of the licences of system libraries that are linked into serval.node. (OpenSSL is
// part of Node and has Node's licence.)
export const systemLicences = {
  'libjpeg-turbo': 'libjpeg62-turbo-dev',
  libpng: 'libpng-dev',
  zlib: 'zlib1g-dev',
  Eigen: 'libeigen3-dev',
  llhttp: 'node-llhttp',
  nghttp2: 'libnghttp2-dev',
};
const SYSTEM_DOCS = '/usr/share/doc';

const ONNX_RUNTIME_HEADER = "ONNX Runtime's C API header";
// Vendored headers that are compiled into serval.node, each with its folder.
export const vendoredLicences = { [ONNX_RUNTIME_HEADER]: 'native/third_party/onnxruntime' };

// onnxruntime-node ships no licence file; its licence is that of the header.
function onnxRuntimeLicence() {
  return `${vendoredText(ONNX_RUNTIME_HEADER)}

ONNX Runtime itself contains third-party code, listed in the file
ThirdPartyNotices.txt of its source repository, github.com/microsoft/onnxruntime.
`;
}

function vendoredText(name) {
  return readFileSync(join(root, vendoredLicences[name], 'LICENSE'), 'utf8').trim();
}

// Returns the sorted names of the packages that `roots` need at run time, including themselves.
// `leaves` are included without their dependencies. `lock` is package-lock.json's `packages`.
// Throws if the tree is not flat, because a nested copy would be left out.
export function runtimeClosure(lock, roots, leaves = []) {
  const found = new Set();
  const queue = [...roots];
  while (queue.length > 0) {
    const name = queue.pop();
    if (found.has(name)) continue;
    const entry = lock[`node_modules/${name}`];
    if (entry === undefined) throw new Error(`package: ${name} is not in package-lock.json`);
    found.add(name);
    if (!leaves.includes(name)) queue.push(...Object.keys(entry.dependencies ?? {}));
  }
  const nested = Object.keys(lock).find((path) =>
    [...found].some((name) => path.startsWith(`node_modules/${name}/node_modules/`)),
  );
  if (nested !== undefined) throw new Error(`package: nested package ${nested} is not supported`);
  return [...found].sort();
}

function licenceText(modules, name) {
  if (name === 'onnxruntime-node') return onnxRuntimeLicence();
  const folder = join(modules, name);
  const files = readdirSync(folder).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file));
  // The package's LICENSE covers its JavaScript; the sources that we compile have another one.
  if (name === 're2') files.push('vendor/LICENSE');
  if (files.length === 0) throw new Error(`package: ${name} has no licence file`);
  return files
    .sort()
    .map((file) => readFileSync(join(folder, file), 'utf8').trim())
    .join('\n\n');
}

// Writes one file with every package's name, version, licence name and text, and the vendored
// headers. `systemNames` lists libraries, each with its Debian package.
export function writeLicences(path, modules, names, systemNames) {
  const parts = names.map((name) => {
    const manifest = join(modules, name, 'package.json');
    if (!existsSync(manifest)) throw new Error(`package: ${name} is not in node_modules`);
    const { version, license } = JSON.parse(readFileSync(manifest, 'utf8'));
    const title = `${name} ${version} (${license ?? 'see below'})`;
    const rule = '='.repeat(80);
    return `${rule}\n${title}\n${rule}\n\n${licenceText(modules, name).trim()}\n`;
  });
  for (const [name, debian] of Object.entries(systemNames)) {
    const file = join(SYSTEM_DOCS, debian, 'copyright');
    if (!existsSync(file)) throw new Error(`package: no licence of ${name}: ${file} is missing`);
    const rule = '='.repeat(80);
    const text = readFileSync(file, 'utf8').trim();
    parts.push(`${rule}\n${name} (see below)\n${rule}\n\n${text}\n`);
  }
  for (const name of Object.keys(vendoredLicences)) {
    const rule = '='.repeat(80);
    parts.push(`${rule}\n${name} (MIT)\n${rule}\n\n${vendoredText(name)}\n`);
  }
  writeFileSync(path, `Software that is part of this package.\n\n${parts.join('\n')}`);
}
