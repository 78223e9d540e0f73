// Small text rules that everybody shares: how a written value is echoed in an error, and which
// known word was meant. Pure; any thread.
const ECHO_CHARS_MAX = 100;
/** What a reader does not see, or what changes how its surroundings are seen: controls (C0, DEL,
 * C1), formats (directions, joiners of no width, tags), separators of lines. For texts of the
 * engine native/base/bytes/hidden has the same. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
/** The same but for line feeds. */
const HIDDEN_IN_LINES = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** `text`, on one line, with escapes for what a reader would not see. */
export function visible(text: string): string {
  return text.replace(HIDDEN, visibleChar);
}

/** The same, but for line feeds, which stay, and CR and tabs, which have no short form here. */
export function visibleLines(text: string): string {
  return text.replace(HIDDEN_IN_LINES, codeEscape);
}

function visibleChar(char: string): string {
  if (char === '\n') return '\\n';
  if (char === '\r') return '\\r';
  if (char === '\t') return '\\t';
  return codeEscape(char);
}

function codeEscape(char: string): string {
  const code = char.codePointAt(0) ?? 0;
  return code > 0xffff ? `\\u{${code.toString(16)}}` : unitEscape(code);
}

const unitEscape = (unit: number): string => `\\u${unit.toString(16).padStart(4, '0')}`;

/** Plain data with visible() texts, names of members included. */
export function visibleTexts<T>(value: T): T {
  if (typeof value === 'string') return visible(value) as T;
  if (Array.isArray(value)) return value.map(visibleTexts) as T;
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([name, member]): [string, unknown] => [
    visible(name),
    visibleTexts(member),
  ]);
  return Object.fromEntries(members) as T;
}

/** JSON that reads back as `value`, and whose texts show what a reader would not see. */
export function visibleJson(value: unknown, indent?: number): string {
  return visibleInJson(JSON.stringify(value, undefined, indent));
}

/** The same of a JSON text. */
export function visibleInJson(json: string): string {
  return json.replace(HIDDEN_IN_LINES, (char) =>
    Array.from({ length: char.length }, (_, i) => unitEscape(char.charCodeAt(i))).join(''),
  );
}

/** The value in quotes, cut where it is long. */
export function echo(text: string): string {
  const cut = text.length > ECHO_CHARS_MAX ? `${text.slice(0, ECHO_CHARS_MAX)}...` : text;
  return visibleJson(cut);
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

/** The word in `words` that may have been meant by `written`: few edits away, or begun so. */
export function nearWord(written: string, words: readonly string[]): string | undefined {
  const word = written.slice(0, 64).toLowerCase();
  if (words.length === 0) return undefined;
  const begun = word.length < 2 ? undefined : words.find((one) => one.startsWith(word));
  if (begun !== undefined) return begun;
  const near = nearestWord(word, words);
  const editsMax = Math.ceil(word.length / 3);
  return editCount(word, near) <= editsMax ? near : undefined;
}

/** What an error says behind a word that is none of these; "" where nothing is near, and for
 * numbers, which nobody misspells. */
export function meant(written: string, words: readonly string[]): string {
  const near = /[a-z]/i.test(written) ? nearWord(written, words) : undefined;
  return near === undefined ? '' : `; did you mean ${echo(near)}?`;
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
