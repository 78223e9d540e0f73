// Writes the tarball that contains Node, and npm's: one package for files, and the pair that is
// published (the program, and its native files as an optional dependency, as esbuild does it), so
// that `npm install` fetches one binary. Build time only.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { artefacts, manifest, NAMES, OUT, PLATFORM, STAGE, version } from './names.mjs';
import { link, timeStamp, userManifest, writeText } from './stage.mjs';

/** Writes the tarball that needs nothing but glibc and libstdc++; returns its name. */
export function writeTarball({ core, extra }) {
  const { tarball } = artefacts();
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
export function writeNpm({ core }) {
  return pack(core, artefacts().npm);
}

const PLATFORM_README = `# ${NAMES.npmPlatform}

The native files of [${NAMES.npm}](https://www.npmjs.com/package/${NAMES.npm}) for Linux x64 with glibc: the
addon, ONNX Runtime and uWebSockets.js. npm installs this package with \`${NAMES.npm}\`; it has no
program or module.
`;

/** Writes the pair of packages for publishing; returns their names. */
export function writePublished({ core }) {
  const { npmMain, npmPlatform } = artefacts();
  const [main, native] = [join(STAGE, 'main'), join(STAGE, 'native')];
  for (const path of readdirSync(core)) if (path !== 'prebuilt') link(core, main, path);
  rmSync(join(main, 'package.json')); // a hard link: the file of `core` stays
  const files = manifest.files.filter((path) => path !== 'prebuilt');
  const optionalDependencies = { [NAMES.npmPlatform]: version };
  const anywhere = { os: undefined, cpu: undefined, libc: undefined };
  const published = userManifest({ ...anywhere, files, optionalDependencies });
  writeText(join(main, 'package.json'), published);
  for (const path of ['prebuilt', 'LICENSE', 'THIRD-PARTY-LICENSES.txt']) link(core, native, path);
  const { license, engines, publishConfig } = manifest;
  const platform = {
    name: NAMES.npmPlatform,
    version,
    description: `Native files of ${NAMES.npm} for Linux x64 with glibc`,
    license,
    engines,
    os: [PLATFORM.os],
    cpu: [PLATFORM.cpu],
    libc: [PLATFORM.libc],
    files: ['prebuilt', 'THIRD-PARTY-LICENSES.txt'],
    publishConfig,
  };
  writeText(join(native, 'package.json'), `${JSON.stringify(platform, null, 2)}\n`);
  writeText(join(native, 'README.md'), PLATFORM_README);
  return [pack(native, npmPlatform), pack(main, npmMain)];
}
