// Patterns of model names: which models a key may use. Pure; any thread. The engine matches them
// too, for the names in gRPC messages: native/engine/limits/callers.h.

/**
 * Whether the whole text matches: * stands for any text, ? for one character. Takes at most the
 * product of both lengths, whatever the pattern.
 */
export function matchesPattern(pattern: string, text: string): boolean {
  if (!/[*?]/.test(pattern)) return pattern === text;
  const [wanted, given] = [[...pattern], [...text]];
  let [at, from] = [0, 0];
  /** The place to go on if the rest does not match: after the last *, with one more character. */
  let [afterStar, skipped] = [-1, 0];
  while (from < given.length) {
    const one = wanted[at];
    if (one === '*') {
      at += 1;
      [afterStar, skipped] = [at, from];
    } else if (one !== undefined && (one === '?' || one === given[from])) {
      at += 1;
      from += 1;
    } else if (afterStar >= 0) {
      skipped += 1;
      [at, from] = [afterStar, skipped];
    } else {
      return false;
    }
  }
  return wanted.slice(at).every((one) => one === '*');
}

/** `patterns` undefined: every model is open. */
export function mayUse(patterns: readonly string[] | undefined, model: string): boolean {
  return patterns === undefined || patterns.some((pattern) => matchesPattern(pattern, model));
}
