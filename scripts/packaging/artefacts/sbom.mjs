// The bill of materials of what the packages contain, as CycloneDX 1.5: the npm packages in
// dist/bundle, the libraries that are linked into the addon, ONNX Runtime, uWebSockets.js and Node,
// with versions and licences. The same input gives the same bytes. Build time only.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { nativeLicences, systemLicences } from '../../licences.mjs';
import { carriedPaths, shippedPackages } from '../prebuilt.mjs';
import { manifest, NAMES, OUT, root, version } from './names.mjs';
import { packagedNode, timeStamp } from './stage.mjs';

// SPDX expressions of the libraries that Debian's packages link into the addon. Keys: those of
// systemLicences, then headers and GCC's own libraries.
const SYSTEM_LICENCES = {
  'libjpeg-turbo': 'IJG AND BSD-3-Clause AND Zlib',
  libpng: 'libpng-2.0',
  zlib: 'Zlib',
  Eigen: 'MPL-2.0',
  llhttp: 'MIT',
  nghttp2: 'MIT',
  FlatBuffers: 'Apache-2.0',
  'libstdc++ and libgcc': 'GPL-3.0-or-later WITH GCC-exception-3.1',
};
const SYSTEM_PACKAGES = {
  ...systemLicences,
  FlatBuffers: 'libflatbuffers-dev',
  'libstdc++ and libgcc': 'libgcc-s1',
};
const HEADER = join(root, 'native', 'third_party', 'onnxruntime');

const hash = (algorithm, data) => createHash(algorithm).update(data).digest('hex');

/** A licence as CycloneDX writes it: an SPDX identifier or an expression. Pure. */
export function licenceOf(text) {
  if (typeof text !== 'string' || text === '') throw new Error(`sbom: no licence, got ${text}`);
  return /[ ()]/.test(text) ? [{ expression: text }] : [{ license: { id: text } }];
}

/** The package URL of an npm package. Pure. */
export function npmUrl(name, of) {
  return `pkg:npm/${name.replace('@', '%40')}@${of}`;
}

const linked = (value) => [{ name: 'serval:linkage', value }];

// Returns a library; `more` has hashes and the files that it consists of in the package.
function library(purl, name, of, licence, linkage, more = {}) {
  const [, group, bare] = /^(?:(@[^/]+)\/)?(.*)$/.exec(name);
  return {
    type: 'library',
    'bom-ref': purl,
    ...(group === undefined ? {} : { group }),
    name: bare,
    version: of,
    licenses: licenceOf(licence),
    purl,
    ...more,
    properties: linked(linkage),
  };
}

// The files of a package that are in prebuilt/.
function carriedFiles({ core, platform }, name) {
  const carried = carriedPaths(platform)[name];
  if (carried === undefined) return {};
  const paths = carried.map((path) => `prebuilt/${path.split('/').at(-1)}`);
  return {
    components: paths.map((path) => ({
      type: 'file',
      name: path,
      hashes: [{ alg: 'SHA-256', content: hash('sha256', readFileSync(join(core, path))) }],
    })),
  };
}

function npmComponents(stage) {
  const carried = carriedPaths(stage.platform);
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
  return shippedPackages().map((name) => {
    const entry = lock[`node_modules/${name}`];
    const published = entry.name ?? name;
    const licence = entry.license ?? installedLicence(name);
    const content = Buffer.from(entry.integrity.replace('sha512-', ''), 'base64').toString('hex');
    const more = { hashes: [{ alg: 'SHA-512', content }], ...carriedFiles(stage, name) };
    const linkage = nativeLicences.includes(name)
      ? 'compiled into serval.node'
      : carried[name] === undefined
        ? 'in dist/bundle'
        : 'file in prebuilt';
    const purl = npmUrl(published, entry.version);
    return library(purl, published, entry.version, licence, linkage, more);
  });
}

function installedLicence(name) {
  const path = join(root, 'node_modules', name, 'package.json');
  return JSON.parse(readFileSync(path, 'utf8')).license;
}

function debianVersion(name) {
  return execFileSync('dpkg-query', ['-W', '-f', '${Version}', name], { encoding: 'utf8' });
}

function systemComponents() {
  return Object.entries(SYSTEM_PACKAGES).map(([name, debian]) => {
    const licence = SYSTEM_LICENCES[name];
    const of = debianVersion(debian);
    const purl = `pkg:deb/debian/${encodeURIComponent(debian)}@${encodeURIComponent(of)}`;
    return library(purl, name, of, licence, 'compiled into serval.node');
  });
}

// ONNX Runtime's header, whose version is in the table of its README.md.
function headerComponent() {
  const text = readFileSync(join(HEADER, 'README.md'), 'utf8');
  const of = /release (\d+\.\d+\.\d+)/.exec(text)?.[1];
  if (of === undefined) throw new Error(`sbom: ${HEADER}/README.md names no release`);
  const purl = `pkg:github/microsoft/onnxruntime@v${of}`;
  return library(purl, "ONNX Runtime's C API header", of, 'MIT', 'compiled into serval.node');
}

function nodeComponent({ extra, platform }) {
  const node = readFileSync(join(extra, 'node', 'node'));
  const files = [
    {
      type: 'file',
      name: 'node/node',
      hashes: [{ alg: 'SHA-256', content: hash('sha256', node) }],
    },
  ];
  const name = `node-linux-${platform.cpu}`;
  const purl = npmUrl(name, packagedNode);
  return library(purl, name, packagedNode, 'MIT', 'a separate program', { components: files });
}

function fileComponent(name, path) {
  const content = hash('sha256', readFileSync(path));
  return { type: 'file', name, hashes: [{ alg: 'SHA-256', content }] };
}

function addonComponents(core) {
  const folder = join(core, 'prebuilt');
  const names = readdirSync(folder).filter((name) => /^serval.*\.node$/.test(name));
  if (!names.includes('serval.node')) throw new Error(`sbom: ${folder} has no serval.node`);
  return names.map((name) => fileComponent(`prebuilt/${name}`, join(folder, name)));
}

// Node, and the library for other programs: packages with Node have it beside the addon.
function extraComponents(stage) {
  const library = fileComponent('prebuilt/libserval.so', join(stage.extra, 'lib', 'libserval.so'));
  return [nodeComponent(stage), library];
}

/** A document for the components; its serial number is made from them. Pure. */
export function document(components, seconds) {
  const purl = npmUrl(NAMES.npm, version);
  const sorted = [...components].sort((a, b) => (a.name < b.name ? -1 : 1));
  const id = hash('sha256', JSON.stringify([purl, sorted]));
  const parts = [id.slice(0, 8), id.slice(8, 12), `5${id.slice(13, 16)}`, `8${id.slice(17, 20)}`];
  const refs = sorted.map((one) => one['bom-ref']).filter((ref) => ref !== undefined);
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    serialNumber: `urn:uuid:${[...parts, id.slice(20, 32)].join('-')}`,
    version: 1,
    metadata: {
      timestamp: new Date(seconds * 1000).toISOString(),
      component: {
        type: 'application',
        'bom-ref': purl,
        name: manifest.name,
        version,
        description: manifest.description,
        licenses: licenceOf(manifest.license),
        purl,
      },
    },
    components: sorted,
    dependencies: [{ ref: purl, dependsOn: refs }],
  };
}

/** Writes a bill of materials of the program, with Node if `hasNode`; returns its name. */
export function writeSbom(name, stage, hasNode) {
  const components = [
    ...npmComponents(stage),
    ...systemComponents(),
    headerComponent(),
    ...addonComponents(stage.core),
    ...(hasNode ? extraComponents(stage) : []),
  ];
  const text = JSON.stringify(document(components, timeStamp()), null, 2);
  writeFileSync(join(OUT, name), `${text}\n`);
  return name;
}
