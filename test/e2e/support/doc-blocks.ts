// The fenced blocks of a documentation page, by their first line. Pure. Test time only.
//
//   sh setup          exports of the variables that the page uses; the test has its own values
//   sh before         the command of another server; not run
//   sh serve          one command that serves until the next one
//   sh run [if=TOOL]  commands that end with 0; if=TOOL: only if TOOL is installed
//   python run        a program that ends with 0
//   json answer       the output of the previous block, as a JSON value
//   text answer       lines that occur, in this order, in the output of the previous block
//   text file=PATH    a file below $WORK

export interface DocBlock {
  readonly kind: 'setup' | 'before' | 'serve' | 'run' | 'python' | 'json' | 'text' | 'file';
  /** The number of its first line in the page. */
  readonly line: number;
  readonly text: string;
  /** `file`: the path. `run`: the required tool, or "". */
  readonly detail: string;
}

const KINDS: readonly (readonly [RegExp, DocBlock['kind']])[] = [
  [/^sh setup$/, 'setup'],
  [/^sh before$/, 'before'],
  [/^sh serve$/, 'serve'],
  [/^sh run(?: if=(\w+))?$/, 'run'],
  [/^python run$/, 'python'],
  [/^json answer$/, 'json'],
  [/^text answer$/, 'text'],
  [/^text file=([\w./-]+)$/, 'file'],
];

/**
 * Throws, with the line, on a fence of another kind, an unclosed fence, and a page whose first
 * block is not its setup.
 */
export function docBlocks(page: string): readonly DocBlock[] {
  const blocks: DocBlock[] = [];
  let open: { readonly info: string; readonly line: number; readonly lines: string[] } | undefined;
  page.split('\n').forEach((content, index) => {
    if (!content.startsWith('```')) open?.lines.push(content);
    else if (open === undefined) open = { info: content.slice(3), line: index + 1, lines: [] };
    else {
      blocks.push(blockOf(open.info, open.line, open.lines.join('\n')));
      open = undefined;
    }
  });
  if (open !== undefined) throw new Error('a fence is not closed');
  const setups = blocks.filter(({ kind }) => kind === 'setup').length;
  if (setups !== 1 || blocks[0]?.kind !== 'setup') {
    throw new Error('expected "sh setup" first, and once');
  }
  return blocks;
}

function blockOf(info: string, line: number, text: string): DocBlock {
  for (const [pattern, kind] of KINDS) {
    const match = pattern.exec(info);
    if (match !== null) return { kind, line, text, detail: match[1] ?? '' };
  }
  throw new Error(`line ${line}: unknown fence "${info}"`);
}

/** The variables that a setup block exports. */
export function exportedNames(setup: string): readonly string[] {
  return setup
    .split('\n')
    .filter((line) => line.startsWith('export '))
    .flatMap((line) => [...line.replace(/\s#.*$/, '').matchAll(/\b([A-Z_]+)=/g)])
    .map((match) => match[1] ?? '');
}
