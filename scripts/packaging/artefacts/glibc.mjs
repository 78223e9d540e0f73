// The oldest versions of glibc and libstdc++ that native files run with, from the versions of the
// symbols that they import. Build time only; needs binutils.
import { execFileSync } from 'node:child_process';

// The releases of GCC that introduced symbol versions of libstdc++: GCC's abi.xml. A Debian package
// of libstdc++6 has the version of its GCC.
const GCC_OF_GLIBCXX = [
  ['3.4.20', '4.9'],
  ['3.4.21', '5'],
  ['3.4.22', '6'],
  ['3.4.24', '7'],
  ['3.4.25', '8'],
  ['3.4.26', '9'],
  ['3.4.28', '9.3'],
  ['3.4.29', '11'],
  ['3.4.30', '12'],
  ['3.4.31', '13.1'],
];

/** Whether version `a` is newer than `b`: numbers separated by dots. Pure. */
export function isNewer(a, b) {
  const [left, right] = [a, b].map((text) => text.split('.').map(Number));
  for (let at = 0; at < Math.max(left.length, right.length); at += 1) {
    const difference = (left[at] ?? 0) - (right[at] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return false;
}

/** The newest version of each prefix (GLIBC, GLIBCXX, ...) in the text of `readelf -V`. Pure. */
export function newestVersions(text) {
  const newest = {};
  const versions = text.matchAll(/Name: (GLIBC|GLIBCXX|CXXABI|GCC)_(\d+(?:\.\d+)*)\b/g);
  for (const [, prefix, found] of versions) {
    if (newest[prefix] === undefined || isNewer(found, newest[prefix])) newest[prefix] = found;
  }
  return newest;
}

/** The newest symbol versions that `files` import together: {GLIBC: '2.36', ...}. */
export function neededVersions(files) {
  const options = { encoding: 'utf8', maxBuffer: 64 * 2 ** 20 };
  const texts = files.map((file) => execFileSync('readelf', ['-V', '--wide', file], options));
  return newestVersions(texts.join('\n'));
}

/** The platform tag of a wheel for them and a CPU, such as "x86_64": PEP 600. Pure. */
export function manylinuxTag({ GLIBC }, cpu) {
  return `manylinux_${GLIBC.replace('.', '_')}_${cpu}`;
}

/** Debian's dependencies for them. Throws if the table above has no such libstdc++. Pure. */
export function debianDepends({ GLIBC, GLIBCXX }) {
  const row = GCC_OF_GLIBCXX.find(([symbols]) => !isNewer(GLIBCXX, symbols));
  if (row === undefined) throw new Error(`package: no release of GCC is known for ${GLIBCXX}`);
  return [`libc6 (>= ${GLIBC})`, 'libgcc-s1', `libstdc++6 (>= ${row[1]})`];
}
