// The names under which Serval is published, and the folder of all artefacts. To publish under
// other names, change them here and nowhere else. Build time only.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))));
export const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
export const version = manifest.version;

const platform = (cpu, label, others) => ({
  ...{ os: 'linux', cpu, libc: 'glibc', label },
  /** The npm package that holds the native files. */
  npm: `@${manifest.name}/linux-${cpu}`,
  /** The folder of what is compiled for it. */
  built: join(root, 'build', cpu === process.arch ? 'Release' : join(cpu, 'native')),
  ...others,
});

/** The platforms that packages are made for, by Node's name of the CPU. */
export const PLATFORMS = {
  x64: platform('x64', 'x64', { debian: 'amd64', wheel: 'x86_64', gnu: 'x86_64-linux-gnu' }),
  arm64: platform('arm64', 'arm64', {
    debian: 'arm64',
    wheel: 'aarch64',
    gnu: 'aarch64-linux-gnu',
  }),
};

export const NAMES = {
  /** npm's package, as package.json names it. */
  npm: manifest.name,
  /** The Python distribution and its module. */
  python: 'serval',
  deb: 'serval',
  image: 'serval',
  /** Debian requires a maintainer with an address. */
  maintainer: 'Serval maintainers <maintainers@serval.invalid>',
};

const scopedFile = (name) => name.replace(/^@/, '').replace('/', '-');

/** The folder of the artefacts. */
export const OUT = join(root, 'out');
/** The folder in which they are put together; removed at the end. */
export const STAGE = join(OUT, 'stage');

/**
 * The artefacts' paths below OUT, by kind; `tag` is the wheel's platform tag. npmMain, notes and
 * sums are the same for all platforms.
 */
export function artefacts(of = PLATFORMS.x64, tag = `*_${of.wheel}`) {
  const suffix = of === PLATFORMS.x64 ? '' : `-${of.cpu}`;
  return {
    tarball: `serval-${version}-linux-${of.cpu}.tar.gz`,
    npm: `${scopedFile(NAMES.npm)}-${version}${suffix}.tgz`,
    npmMain: `publish/${scopedFile(NAMES.npm)}-${version}.tgz`,
    npmPlatform: `publish/${scopedFile(of.npm)}-${version}.tgz`,
    deb: `${NAMES.deb}_${version}_${of.debian}.deb`,
    wheel: `${NAMES.python}-${version}-py3-none-${tag}.whl`,
    sbom: `serval-${version}${suffix}.cdx.json`,
    sbomNpm: `serval-${version}-npm${suffix}.cdx.json`,
    notes: `RELEASE-NOTES-${version}.md`,
    sums: 'SHA256SUMS',
  };
}
