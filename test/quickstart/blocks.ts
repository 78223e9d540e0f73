// The blocks of docs/guides/quickstart.md and the pages of clients, and the output that they state:
// the lines of a block after "# " (sh, python) or "// " (js). Pure. Test time only.

export interface Block {
  readonly language: 'sh' | 'python' | 'js' | 'ts';
  /** The line of its fence in the page. */
  readonly line: number;
  readonly text: string;
  /** Its stated last output; "" if it states none. */
  readonly printed: string;
}

const FENCE = /^```(sh|python|js|ts)$/;

/**
 * The blocks between the line `from` and the next heading of its level; "": all lines. Throws if
 * that line is missing, or if a fence has another language or is not closed.
 */
export function blocksOf(page: string, from = ''): readonly Block[] {
  const lines = page.split('\n');
  const start = from === '' ? 0 : lines.indexOf(from);
  if (start < 0) throw new Error(`the page has no line "${from}"`);
  const end = from === '' ? -1 : lines.findIndex((line, i) => i > start && /^## /.test(line));
  const blocks: Block[] = [];
  let open = -1;
  for (let i = start; i < (end < 0 ? lines.length : end); i += 1) {
    if (!(lines[i] ?? '').startsWith('```')) continue;
    if (open < 0) open = i;
    else {
      blocks.push(blockOf(lines.slice(open, i), open + 1));
      open = -1;
    }
  }
  if (open >= 0) throw new Error(`line ${open + 1}: the fence is not closed`);
  return blocks;
}

function blockOf([fence = '', ...lines]: readonly string[], line: number): Block {
  const language = FENCE.exec(fence)?.[1] as Block['language'] | undefined;
  if (language === undefined)
    throw new Error(`line ${line}: expected sh, python, js or ts: ${fence}`);
  const mark = language === 'js' || language === 'ts' ? '//' : '#';
  const printed = lines
    .filter((text) => text.startsWith(mark))
    .map((text) => text.slice(mark.length).trim());
  return { language, line, text: lines.join('\n'), printed: printed.join('\n') };
}

/** Splits text into words, numbers and single signs, without space. */
export function tokensOf(text: string): readonly string[] {
  return text.match(/[A-Za-z_]\w*|-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|[^\s\w]/g) ?? [];
}

export function numbersOf(text: string): readonly number[] {
  return tokensOf(text)
    .filter((token) => /^-?\d/.test(token))
    .map(Number);
}

/** Words in quotation marks. */
export function quotedOf(text: string): readonly string[] {
  return [...text.matchAll(/'(\w+)'/g)].map(([, word = '']) => word);
}

/** Equal to `tolerance`, of the number and at least of 1. */
export function near(got: number, wanted: number, tolerance: number): boolean {
  return Math.abs(got - wanted) <= tolerance * Math.max(1, Math.abs(wanted));
}

/**
 * Splits off the stated last output from what a block printed. Numbers are equal to four digits,
 * because versions of libraries differ in the last ones. Throws if the end differs.
 */
export function splitPrinted(
  output: string,
  printed: string,
): { readonly before: string; readonly answer: string } {
  const wanted = tokensOf(printed);
  const lines = output.trimEnd().split('\n');
  for (let count = 1; count <= lines.length; count += 1) {
    const answer = lines.slice(-count).join('\n');
    const got = tokensOf(answer);
    if (got.length < wanted.length) continue;
    if (got.length > wanted.length || !got.every((token, i) => same(token, wanted[i] ?? ''))) break;
    return { before: lines.slice(0, -count).join('\n'), answer };
  }
  throw new Error(`expected at the end:\n${printed}\ngot:\n${output}`);
}

function same(got: string, wanted: string): boolean {
  if (got === wanted) return true;
  return /^-?\d/.test(got) && /^-?\d/.test(wanted) && near(Number(got), Number(wanted), 1e-4);
}
