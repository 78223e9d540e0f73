// The names under which Serval is published, and the folder of all artefacts. To publish under
// other names, change them here and nowhere else. Build time only.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))));
export const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
export const version = manifest.version;

/** The only platform that has a binary so far. */
export const PLATFORM = { os: 'linux', cpu: 'x64', libc: 'glibc', debian: 'amd64' };

export const NAMES = {
  /** npm's package, as package.json names it. */
  npm: manifest.name,
  /** The npm package that holds the native files of PLATFORM. */
  npmPlatform: `@${manifest.name}/${PLATFORM.os}-${PLATFORM.cpu}`,
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

/** The artefacts' paths below OUT, by kind; `tag` is the wheel's platform tag. */
export function artefacts(tag = '*') {
  return {
    tarball: `serval-${version}-linux-x64.tar.gz`,
    npm: `${scopedFile(NAMES.npm)}-${version}.tgz`,
    npmMain: `publish/${scopedFile(NAMES.npm)}-${version}.tgz`,
    npmPlatform: `publish/${scopedFile(NAMES.npmPlatform)}-${version}.tgz`,
    deb: `${NAMES.deb}_${version}_${PLATFORM.debian}.deb`,
    wheel: `${NAMES.python}-${version}-py3-none-${tag}.whl`,
    sbom: `serval-${version}.cdx.json`,
    sbomNpm: `serval-${version}-npm.cdx.json`,
    notes: `RELEASE-NOTES-${version}.md`,
    sums: 'SHA256SUMS',
  };
}
