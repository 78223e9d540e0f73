// Small text rules that everybody shares: how a written value is echoed in an error, and which
// known word was meant. Pure; any thread.
const ECHO_CHARS_MAX = 100;

/** The value in quotes, cut where it is long. */
export function echo(text: string): string {
  const cut = text.length > ECHO_CHARS_MAX ? `${text.slice(0, ECHO_CHARS_MAX)}...` : text;
  return JSON.stringify(cut);
}

/** The word in `words` with the fewest edits to `written`. */
export function nearestWord(written: string, words: readonly string[]): string {
  let best = '';
  let bestEdits = Number.POSITIVE_INFINITY;
  const bounded = written.slice(0, 64);
  for (const word of words) {
    const edits = editCount(bounded, word);
    if (edits < bestEdits) [best, bestEdits] = [word, edits];
  }
  return best;
}

/** Levenshtein distance. */
function editCount(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      current.push(Math.min(change, (previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}

/** How many there are of each name; `lines`: "<count> <name>" with a NUL byte behind each. A name
 * that comes again is added up. */
export function countsByName(lines: Buffer): Readonly<Record<string, number>> {
  return addedCounts(
    lines
      .toString('utf8')
      .split('\0')
      .slice(0, -1)
      .map((line) => {
        const space = line.indexOf(' ');
        return { [line.slice(space + 1)]: Number(line.slice(0, space)) };
      }),
  );
}

/** Counts of several, by name. */
export function addedCounts(
  several: readonly Readonly<Record<string, number>>[],
): Readonly<Record<string, number>> {
  const sums = new Map<string, number>();
  for (const [name, count] of several.flatMap((one) => Object.entries(one))) {
    sums.set(name, (sums.get(name) ?? 0) + count);
  }
  return Object.fromEntries(sums);
}

/** Controls, formats (what turns the direction of the text around it among them) and separators of
 * lines. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** JSON of one line, in which no character is one that a terminal acts on. */
export function escapedJson(value: unknown): string {
  const escaped = (unit: string): string =>
    `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify(value).replace(UNSAFE, (one) => one.split('').map(escaped).join(''));
}
