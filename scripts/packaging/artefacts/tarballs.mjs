// Writes the tarball that contains Node, and npm's: one package for files, and the pair that is
// published (the program, and its native files as an optional dependency, as esbuild does it), so
// that `npm install` fetches one binary. Build time only.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { artefacts, manifest, NAMES, OUT, PLATFORMS, STAGE, version } from './names.mjs';
import { link, timeStamp, userManifest, writeText } from './stage.mjs';

/** Writes the tarball that needs nothing but glibc and libstdc++; returns its name. */
export function writeTarball({ core, extra, platform }) {
  const { tarball } = artefacts(platform);
  const top = join(STAGE, basename(tarball, '.tar.gz'));
  for (const path of readdirSync(core)) link(core, top, path);
  link(extra, top, 'README.md');
  link(extra, top, 'bin/serval');
  for (const path of ['node', 'examples', 'include']) link(extra, top, path);
  link(extra, top, 'lib/libserval.so', 'prebuilt/libserval.so'); // beside ONNX Runtime
  const args = ['--sort=name', '--owner=0', '--group=0', '--numeric-owner', '--format=gnu'];
  args.push('--hard-dereference', `--mtime=@${timeStamp()}`);
  args.push('--use-compress-program=gzip -6n', '-cf', join(OUT, tarball));
  execFileSync('tar', [...args, '-C', STAGE, basename(top)], { stdio: 'inherit' });
  return tarball;
}

// Runs `npm pack` of a staged folder. npm itself gives all files the same time.
function pack(folder, name) {
  const to = dirname(join(OUT, name));
  mkdirSync(to, { recursive: true });
  const args = ['pack', folder, '--ignore-scripts', '--silent', '--pack-destination', to];
  const packed = execFileSync('npm', args, { cwd: STAGE, encoding: 'utf8' }).trim();
  if (packed !== basename(name)) renameSync(join(to, packed), join(OUT, name));
  return name;
}

/** Writes the npm package that contains everything; returns its name. */
export function writeNpm({ core, platform }) {
  return pack(core, artefacts(platform).npm);
}

const readmeOf = ({ npm, cpu }) => `# ${npm}

The native files of [${NAMES.npm}](https://www.npmjs.com/package/${NAMES.npm}) for Linux ${cpu} with glibc: the
addon, ONNX Runtime and uWebSockets.js. npm installs this package with \`${NAMES.npm}\`; it has no
program or module.
`;

// Writes the package without native files, which names those of all platforms.
function writeMain(core, name) {
  const main = join(STAGE, 'main');
  for (const path of readdirSync(core)) if (path !== 'prebuilt') link(core, main, path);
  rmSync(join(main, 'package.json')); // a hard link: the file of `core` stays
  const files = manifest.files.filter((path) => path !== 'prebuilt');
  const optionalDependencies = Object.fromEntries(
    Object.values(PLATFORMS).map(({ npm }) => [npm, version]),
  );
  const anywhere = { os: undefined, cpu: undefined, libc: undefined };
  const published = userManifest({ ...anywhere, files, optionalDependencies });
  writeText(join(main, 'package.json'), published);
  return pack(main, name);
}

/**
 * Writes the packages for publishing: the native files of the platform and, with those of x64, the
 * program. Returns their names.
 */
export function writePublished({ core, platform }) {
  const { npmMain, npmPlatform } = artefacts(platform);
  const native = join(STAGE, 'native');
  for (const path of ['prebuilt', 'LICENSE', 'THIRD-PARTY-LICENSES.txt']) link(core, native, path);
  const { license, engines, publishConfig } = manifest;
  const described = {
    name: platform.npm,
    version,
    description: `Native files of ${NAMES.npm} for Linux ${platform.cpu} with glibc`,
    license,
    engines,
    os: [platform.os],
    cpu: [platform.cpu],
    libc: [platform.libc],
    files: ['prebuilt', 'THIRD-PARTY-LICENSES.txt'],
    publishConfig,
  };
  writeText(join(native, 'package.json'), `${JSON.stringify(described, null, 2)}\n`);
  writeText(join(native, 'README.md'), readmeOf(platform));
  const names = [pack(native, npmPlatform)];
  return platform === PLATFORMS.x64 ? [...names, writeMain(core, npmMain)] : names;
}
