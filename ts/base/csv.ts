// Reads CSV with a header row (RFC 4180). An empty cell is missing, a quoted empty one is an empty
// text. Any thread; pure.
import { ErrorCode, ServalError } from './errors.js';
import { echo } from './text.js';

/** Cells by row; null = empty and not quoted. */
export interface CsvTable {
  readonly header: readonly string[];
  readonly rows: readonly (readonly (string | null)[])[];
}

const BOMB_COLUMNS_MAX = 1_000_000;

/** Separators that other programs write, by name. */
const OTHER_SEPARATORS = [
  [';', 'semicolons'],
  ['\t', 'tabs'],
  ['|', 'vertical bars'],
] as const;

/** Errors: MalformedBody with the line. */
export function parseCsv(text: string): CsvTable {
  const records = [...recordsOf(text.startsWith('\ufeff') ? text.slice(1) : text)];
  const [first, ...rest] = records;
  if (first === undefined || first.cells.every((cell) => cell === null)) {
    throw malformed('expected a header row, got nothing');
  }
  const header = first.cells.map((cell) => cell ?? '');
  const [only = ''] = header;
  const isPlain = header.length === 1 && !/^\ufeff?"/.test(text);
  const other = isPlain ? OTHER_SEPARATORS.find(([mark]) => only.includes(mark)) : undefined;
  if (other !== undefined) {
    throw malformed(
      `the header row is separated by ${other[1]}: expected commas, got ${echo(only)}`,
    );
  }
  const names = new Set<string>();
  for (const name of header) {
    if (names.has(name)) throw malformed(`column ${JSON.stringify(name)} occurs twice`);
    names.add(name);
  }
  // An empty line of several columns is no row.
  const isRow = ({ cells }: Record_): boolean =>
    header.length === 1 || cells.length > 1 || cells[0] !== null;
  const rows = rest.filter(isRow).map(({ line, cells }) => {
    if (cells.length === header.length) return cells;
    throw malformed(`line ${line}: expected ${header.length} cells, got ${cells.length}`);
  });
  return { header, rows };
}

interface Record_ {
  /** Line number from 1. */
  readonly line: number;
  readonly cells: readonly (string | null)[];
}

const PLAIN_END = /[",\r\n]|$/g;

function behindPlain(text: string, at: number): number {
  PLAIN_END.lastIndex = at;
  return PLAIN_END.exec(text)?.index ?? text.length;
}

/** Position after the cell that ends at `at`; -1: the text continues. */
function behindEnd(text: string, at: number): number {
  if (at === text.length) return at;
  if (text[at] === ',' || text[at] === '\n') return at + 1;
  return text.startsWith('\r\n', at) ? at + 2 : -1;
}

/** Position after the closing quote of the one at the position; -1: there is none. */
function behindQuoted(text: string, at: number): number {
  for (let end = at + 1; ; end += 2) {
    end = text.indexOf('"', end);
    if (end < 0 || text[end + 1] !== '"') return end < 0 ? end : end + 1;
  }
}

function* recordsOf(text: string): Generator<Record_> {
  let at = 0;
  let line = 1;
  while (at < text.length) {
    const began = line;
    const cells: (string | null)[] = [];
    for (;;) {
      const isQuoted = text[at] === '"';
      const behind = isQuoted ? behindQuoted(text, at) : behindPlain(text, at);
      const next = behind < 0 ? -1 : behindEnd(text, behind);
      if (next < 0) {
        const isCr = behind >= 0 && text[behind] === '\r';
        const what = isCr
          ? 'expected LF or CR LF at its end, got CR'
          : 'an unterminated quote, or text next to it';
        throw malformed(`line ${line}: ${what}`);
      }
      const cell = isQuoted
        ? text.slice(at + 1, behind - 1).replaceAll('""', '"')
        : text.slice(at, behind);
      cells.push(cell === '' && !isQuoted ? null : cell);
      if (cells.length > BOMB_COLUMNS_MAX) throw malformed(`line ${line}: too many cells`);
      line += text.slice(at, next).split('\n').length - 1;
      at = next;
      if (text[behind] !== ',') break;
    }
    yield { line: began, cells };
  }
}

function malformed(what: string): ServalError {
  return new ServalError(ErrorCode.MalformedBody, `CSV: ${what}`);
}
