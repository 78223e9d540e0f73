// CSV with a header row (RFC 4180): to a V2 request by the types of the model's fields, and back.
// An empty cell is missing, a quoted empty one is an empty text; lists are JSON in a cell. The
// listener's thread; pure.
import { ErrorCode, ServalError } from '../../base/errors.js';
import { echo } from '../../base/text.js';
import type { Datatype, TableDoc, TensorInfo } from '../../model/snapshot.js';
import { exactText, ExactNumber, parseExact, type ExactValue } from './exact-json.js';
import type { AnswerColumn, RequestColumn } from './tensors.js';

/** Cells by row; null = empty and not quoted. */
export interface CsvTable {
  readonly header: readonly string[];
  readonly rows: readonly (readonly (string | null)[])[];
}

const BOMB_COLUMNS_MAX = 1_000_000;
const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const ANY_NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
/** At most 18 digits, which fit 64 bits; "007" is text. */
const PLAIN_INTEGER = /^-?(?:0|[1-9]\d{0,17})$/;
const INTEGER = /^[+-]?\d{1,40}$/;
const NOT_FINITE: Readonly<Record<string, string>> = {
  nan: 'NaN',
  inf: 'Infinity',
  '+inf': 'Infinity',
  '-inf': '-Infinity',
  infinity: 'Infinity',
  '+infinity': 'Infinity',
  '-infinity': '-Infinity',
};
const BOOLS: Readonly<Record<string, boolean>> = { true: true, false: false, 1: true, 0: false };

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
  const rows = rest.map(({ line, cells }) => {
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
      if (next < 0) throw malformed(`line ${line}: an unterminated quote, or text next to it`);
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

/**
 * Columns of the model's fields; other columns are omitted. If the request states the type of a
 * field (`table`), cells that do not match it are sent as text; if the model states no type, they
 * get a type that all of them fit: integers, doubles or text. Errors: InvalidArgument naming row
 * and column.
 */
export function csvColumns(
  { header, rows }: CsvTable,
  inputs: readonly TensorInfo[],
  table: Pick<TableDoc, 'open' | 'untyped'> = { open: [], untyped: [] },
): readonly RequestColumn[] {
  const byName = new Map(inputs.map((input) => [input.name, input]));
  return header.flatMap((name, at) => {
    const input = byName.get(name);
    if (input === undefined) return [];
    const cells = rows.map((row) => row[at] ?? null);
    const datatype = table.untyped.includes(name) ? datatypeOf(cells) : input.datatype;
    return [columnOf(cells, { ...input, datatype }, table.open.includes(name))];
  });
}

/** The narrowest type that fits all cells. */
function datatypeOf(cells: readonly (string | null)[]): Datatype {
  const all = (pattern: RegExp): boolean =>
    cells.every((cell) => cell === null || pattern.test(cell));
  return all(PLAIN_INTEGER) ? 'INT64' : all(JSON_NUMBER) ? 'FP64' : 'STRING';
}

function columnOf(
  cells: readonly (string | null)[],
  { name, datatype, shape }: TensorInfo,
  isOpen: boolean,
): RequestColumn {
  const isList = shape.length > 1;
  const typed: ExactValue[] = [];
  for (const [row, cell] of cells.entries()) {
    const value = cell === null ? null : isList ? listOf(cell, datatype) : scalarOf(cell, datatype);
    if (value !== undefined) {
      typed.push(value);
    } else if (isOpen && !isList) {
      return { name, datatype: 'STRING', isList: false, cells };
    } else {
      const expected = isList ? `a list of ${datatype}` : datatype;
      const got = JSON.stringify((cell ?? '').slice(0, 100));
      throw new ServalError(
        ErrorCode.InvalidArgument,
        `CSV: row ${row}, column ${JSON.stringify(name)}: expected ${expected}, got ${got}`,
      );
    }
  }
  return { name, datatype: datatype === 'BYTES' ? 'STRING' : datatype, isList, cells: typed };
}

/** undefined: the text is not a value of the type. */
function scalarOf(text: string, datatype: string): ExactValue | undefined {
  switch (datatype) {
    case 'STRING':
    case 'BYTES':
    case 'DATE':
    case 'TIMESTAMP':
      return text;
    case 'BOOL':
      return BOOLS[text.trim().toLowerCase()];
    case 'FP16':
    case 'FP32':
    case 'FP64':
    case 'VECTOR':
      return realOf(text.trim());
    default:
      return INTEGER.test(text.trim())
        ? new ExactNumber(String(BigInt(text.trim().replace('+', ''))))
        : undefined;
  }
}

function realOf(text: string): ExactValue | undefined {
  if (JSON_NUMBER.test(text)) return new ExactNumber(text);
  if (ANY_NUMBER.test(text)) return new ExactNumber(String(Number(text)));
  const special = NOT_FINITE[text.toLowerCase()];
  return special === undefined ? undefined : new ExactNumber(special);
}

/** A list as JSON. */
function listOf(text: string, datatype: string): ExactValue | undefined {
  let values: ExactValue;
  try {
    values = parseExact(text);
  } catch {
    return undefined;
  }
  if (!Array.isArray(values)) return undefined;
  const isText = datatype === 'STRING' || datatype === 'DATE' || datatype === 'TIMESTAMP';
  const fits = (one: ExactValue): boolean =>
    isText
      ? typeof one === 'string'
      : datatype === 'BOOL'
        ? typeof one === 'boolean'
        : one instanceof ExactNumber;
  return (values as readonly ExactValue[]).every(fits) ? values : undefined;
}

/** Writes a header row; lines end in "\r\n". */
export function csvText(columns: readonly AnswerColumn[]): string {
  const rows = columns[0]?.cells.length ?? 0;
  const lines = [columns.map(({ name }) => cellText(name)).join(',')];
  for (let row = 0; row < rows; row += 1) {
    lines.push(columns.map(({ cells }) => cellText(cells[row] ?? null)).join(','));
  }
  return `${lines.join('\r\n')}\r\n`;
}

function cellText(value: ExactValue): string {
  if (value === null) return '';
  const text = typeof value === 'string' ? value : exactText(value, false);
  const isPlain = text !== '' && !/["\r\n,]|^\s|\s$/.test(text);
  return isPlain ? text : `"${text.replaceAll('"', '""')}"`;
}

function malformed(what: string): ServalError {
  return new ServalError(ErrorCode.MalformedBody, `CSV: ${what}`);
}
