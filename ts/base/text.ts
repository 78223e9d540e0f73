// Shared text rules: how errors echo a written value, and which known word a misspelt one probably
// meant. Pure; any thread.
const ECHO_CHARS_MAX = 100;
/**
 * Characters that are invisible or change how their surroundings are displayed: controls (C0, DEL,
 * C1), formats (direction marks, zero-width joiners, tags), line separators.
 * native/base/bytes/hidden has the same rule for the engine's texts.
 */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
/** The same, except line feeds. */
const HIDDEN_IN_LINES = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Returns `text` on one line, with invisible characters escaped. */
export function visible(text: string): string {
  return text.replace(HIDDEN, visibleChar);
}

/** Same as visible(), but keeps line feeds and gives CR and tabs no short escape. */
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

/** Returns plain data with visible() applied to all strings, member names included. */
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

/** Serializes `value` to JSON that parses back to it and escapes invisible characters. */
export function visibleJson(value: unknown, indent?: number): string {
  return visibleInJson(JSON.stringify(value, undefined, indent));
}

/** Escapes invisible characters in a JSON text. */
export function visibleInJson(json: string): string {
  return json.replace(HIDDEN_IN_LINES, (char) =>
    Array.from({ length: char.length }, (_, i) => unitEscape(char.charCodeAt(i))).join(''),
  );
}

/** Returns the value in quotes, cut when it is long. */
export function echo(text: string): string {
  const cut = text.length > ECHO_CHARS_MAX ? `${text.slice(0, ECHO_CHARS_MAX)}...` : text;
  return visibleJson(cut);
}

/** Most edits between a word and the one that was meant, however long they are. */
const EDITS_MAX = 4;

/**
 * Returns the word in `words` that `written` may have meant, ignoring case: at most a third of its
 * letters away, or with `written` as its beginning.
 */
export function nearWord(written: string, words: readonly string[]): string | undefined {
  const word = written.slice(0, 64).toLowerCase();
  const begun = word.length < 2 ? undefined : words.find((one) => lower(one).startsWith(word));
  if (begun !== undefined) return begun;
  let best: string | undefined;
  let fewest = Math.min(Math.ceil(word.length / 3), EDITS_MAX, word.length - 1) + 1;
  for (const one of words) {
    const edits = editCount(word, lower(one));
    if (edits < fewest) [best, fewest] = [one, edits];
  }
  return best;
}

const lower = (word: string): string => word.toLowerCase();

/**
 * Returns the "did you mean" suffix of an error about an unknown word; "" when no word is near, and
 * for numbers, which nobody misspells.
 */
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

/**
 * Returns the counts by name; `lines`: "<count> <name>", each ended by a NUL byte. Adds up the
 * counts of a repeated name.
 */
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

/** Adds up several maps of counts by name. */
export function addedCounts(
  several: readonly Readonly<Record<string, number>>[],
): Readonly<Record<string, number>> {
  const sums = new Map<string, number>();
  for (const [name, count] of several.flatMap((one) => Object.entries(one))) {
    sums.set(name, (sums.get(name) ?? 0) + count);
  }
  return Object.fromEntries(sums);
}
