// Which version of a library can stand in for the pinned one. Control plane; pure.
// Source: NVIDIA's compatibility guides: within one major version, a library works for programs
// built with an older minor version; the lowest versions are in wheels.ts.
import type { Wheel } from './wheels.js';

export type Judgement =
  | { readonly usable: true /** "" if there is nothing to say. */; readonly warning: string }
  | { readonly usable: false; readonly reason: string };

/** `version`: "" = unknown; then its name, which has the major version, must suffice. */
export function judgeVersion(wheel: Pick<Wheel, 'version' | 'least'>, version: string): Judgement {
  if (version === '') return { usable: true, warning: 'its version is not known' };
  const [got, pinned] = [numbersOf(version), numbersOf(wheel.version)];
  const range = rangeOf(wheel);
  if (got[0] !== pinned[0]) return { usable: false, reason: `expected version ${range}` };
  if (compare(got, numbersOf(wheel.least)) < 0) {
    return { usable: false, reason: `expected version ${range}` };
  }
  const minor = compare(got.slice(0, 2), pinned.slice(0, 2));
  if (minor === 0) return { usable: true, warning: '' };
  const word = minor > 0 ? 'newer' : 'older';
  return { usable: true, warning: `${word} than ${wheel.version}, with which Serval is tested` };
}

/** "13.0 or newer, below 14"; "1.30.0" if no other version can be used. */
export function rangeOf({ version, least }: Pick<Wheel, 'version' | 'least'>): string {
  if (least === version) return version;
  return `${least} or newer, below ${(numbersOf(version)[0] ?? 0) + 1}`;
}

/**
 * CUDA's major version in the name of a package: "nvidia-cudnn-cu12" -> 12; undefined if it names
 * none.
 */
export function cudaOfName(name: string): number | undefined {
  const found = /-cu(\d+)(?:-|$)/.exec(name)?.[1];
  return found === undefined ? undefined : Number(found);
}

/** "13.1.0.3" -> [13, 1, 0, 3]; what follows the numbers ("9.1.0+local", "13.0rc1") is ignored. */
function numbersOf(version: string): readonly number[] {
  return (/^\d+(?:\.\d+)*/.exec(version)?.[0] ?? '0').split('.').map(Number);
}

function compare(a: readonly number[], b: readonly number[]): number {
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
