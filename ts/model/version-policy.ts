// Decides which versions on disk are wanted. Pure; control plane, any thread. Versions are int64
// decimal text without leading zeros; folder "00000123" is version 123. Source: tfserving.md 3.2,
// 3.3 (the default is latest 1).
import { VERSION_MAX } from '../base/limits.js';

export type VersionPolicy =
  | { readonly kind: 'latest'; readonly count: number }
  | { readonly kind: 'all' }
  | { readonly kind: 'specific'; readonly versions: readonly string[] };

export const LATEST_ONE: VersionPolicy = { kind: 'latest', count: 1 };

export interface VersionChoice {
  /** Highest first. */
  readonly versions: readonly string[];
  /** Requested by number but absent. */
  readonly missing: readonly string[];
}

const DIGITS = /^\d+$/;
const SIGNED_DIGITS = /^[+-]?\d+$/;
/** Longer names are never versions, whatever their leading zeros. */
const VERSION_CHARS_MAX = 255;

/** The version that a folder name or URL part stands for, or undefined: only decimal digits, and
 * the value fits int64. */
export function parseVersion(text: string): string | undefined {
  if (text.length > VERSION_CHARS_MAX || !DIGITS.test(text)) return undefined;
  const value = BigInt(text);
  return value <= VERSION_MAX ? value.toString() : undefined;
}

/**
 * The same for children of a TensorFlow Serving base path, where a sign is allowed too: any name
 * that parses as int64. Source: tfserving.md 3.3.
 */
export function parseSignedVersion(text: string): string | undefined {
  if (text.length > VERSION_CHARS_MAX || !SIGNED_DIGITS.test(text)) return undefined;
  const negative = text.startsWith('-');
  const value = BigInt(text.replace(/^[+-]/, ''));
  if (value > VERSION_MAX + (negative ? 1n : 0n)) return undefined;
  return (negative ? -value : value).toString();
}

/** Negative when `a` is the lower version. */
export function compareVersions(a: string, b: string): number {
  const left = BigInt(a);
  const right = BigInt(b);
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

/** `latest` with a count of 0 means 1, as TensorFlow Serving reads it. */
export function chooseVersions(policy: VersionPolicy, present: readonly string[]): VersionChoice {
  const descending = [...present].sort((a, b) => compareVersions(b, a));
  switch (policy.kind) {
    case 'latest':
      return { versions: descending.slice(0, Math.max(1, policy.count)), missing: [] };
    case 'all':
      return { versions: descending, missing: [] };
    case 'specific': {
      const wanted = new Set(
        policy.versions.map((version) => parseSignedVersion(version) ?? version),
      );
      return {
        versions: descending.filter((version) => wanted.has(version)),
        missing: [...wanted].filter((version) => !present.includes(version)),
      };
    }
  }
}
