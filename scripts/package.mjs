// Writes the artefacts of a release to out/: tarball (with Node), npm (one package), publish (the
// packages for npm's registry), deb, wheel, sbom and notes, and SHA256SUMS of all files there. The
// same inputs give the same bytes. Needs `make build models` before, and for arm64 on x86-64
// `make arm64`. Build time only.
//   node scripts/package.mjs [--cpu x64|arm64] [KIND...]      default: all kinds for x64
// All kinds for x64 replace what is in out/; those for arm64 are added.
import { mkdirSync, rmSync, readdirSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { writeDeb } from './packaging/artefacts/deb.mjs';
import { neededVersions } from './packaging/artefacts/glibc.mjs';
import { artefacts, OUT, PLATFORMS, root, STAGE } from './packaging/artefacts/names.mjs';
import { writeNotes, writeSums } from './packaging/artefacts/release.mjs';
import { writeSbom } from './packaging/artefacts/sbom.mjs';
import { packagedNode, stageProgram } from './packaging/artefacts/stage.mjs';
import { writeNpm, writePublished, writeTarball } from './packaging/artefacts/tarballs.mjs';
import { writeWheel } from './packaging/artefacts/wheel.mjs';
import { shippedPackages } from './packaging/prebuilt.mjs';

// PyPI takes files of 100 MB.
const BYTES_MAX = 95e6;

// The native files of the packages that contain Node.
function nativeFiles({ core, extra }) {
  const folder = join(core, 'prebuilt');
  const more = ['node/node', 'lib/libserval.so'].map((path) => join(extra, path));
  return [...readdirSync(folder).map((name) => join(folder, name)), ...more];
}

function sboms(stage) {
  const { sbom, sbomNpm } = artefacts(stage.platform);
  return [writeSbom(sbom, stage, true), writeSbom(sbomNpm, stage, false)];
}

// kind -> a function of the staged program that writes files below out/ and returns their names.
const KINDS = {
  tarball: (stage) => [writeTarball(stage)],
  npm: (stage) => [writeNpm(stage)],
  publish: (stage) => writePublished(stage),
  deb: (stage) => [writeDeb(stage, neededVersions(nativeFiles(stage)))],
  wheel: (stage) => [writeWheel(stage, neededVersions(nativeFiles(stage)))],
  sbom: (stage) => sboms(stage),
  notes: () => [writeNotes()],
};

// Returns why the arguments are wrong, if they are.
function problemOf(cpu, kinds) {
  if (PLATFORMS[cpu] === undefined) {
    return `--cpu: expected ${Object.keys(PLATFORMS).join(' or ')}, got '${cpu}'`;
  }
  const unknown = kinds.find((kind) => KINDS[kind] === undefined);
  if (unknown === undefined) return undefined;
  return `unknown kind '${unknown}'; expected ${Object.keys(KINDS).join(', ')}`;
}

async function main(args) {
  const [cpu, kinds] = args[0] === '--cpu' ? [args[1] ?? '', args.slice(2)] : ['x64', args];
  const problem = problemOf(cpu, kinds);
  if (problem !== undefined) {
    process.stderr.write(`package: ${problem}\n`);
    return 2;
  }
  if (args.length === 0) rmSync(OUT, { recursive: true, force: true });
  mkdirSync(OUT, { recursive: true });
  const stage = await stageProgram(PLATFORMS[cpu]);
  const made = [];
  for (const kind of kinds.length > 0 ? kinds : Object.keys(KINDS)) {
    for (const name of KINDS[kind](stage)) {
      made.push(name);
      const megabytes = (statSync(join(OUT, name)).size / 1e6).toFixed(1).padStart(6);
      process.stdout.write(`${megabytes} MB  ${relative(root, join(OUT, name))}\n`);
    }
  }
  rmSync(STAGE, { recursive: true, force: true });
  writeSums();
  process.stdout.write(`${shippedPackages().length} npm packages, Node ${packagedNode}\n`);
  const large = made.find((name) => statSync(join(OUT, name)).size > BYTES_MAX);
  if (large === undefined) return 0;
  process.stderr.write(`package: ${large} is over the limit of ${BYTES_MAX / 1e6} MB\n`);
  return 1;
}

process.exit(await main(process.argv.slice(2)));
