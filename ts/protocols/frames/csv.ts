// CSV with a header row (RFC 4180): to a V2 request by the types of the model's fields or inputs,
// and back. An empty cell is missing, a quoted empty one is an empty text; lists are JSON in a
// cell. The listener's thread; pure.
import type { CsvTable } from '../../base/csv.js';
import { ErrorCode, ServalError } from '../../base/errors.js';
import type { Datatype, SignatureInfo, TableDoc, TensorInfo } from '../../model/snapshot.js';
import { exactText, ExactNumber, parseExact, type ExactValue } from './exact-json.js';
import type { AnswerColumn, RequestColumn } from './tensors.js';

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

/**
 * The columns of a tensor model; other columns are omitted. undefined: an input of the model is not
 * a column, which has shape [?] or [?,1]. An empty cell is NaN. Errors: InvalidArgument naming row
 * and column.
 */
export function csvTensors(
  table: CsvTable,
  { inputs, optionalInputs = [] }: SignatureInfo,
): readonly RequestColumn[] | undefined {
  if (inputs.length === 0 || !inputs.every(isColumn)) return undefined;
  return csvColumns(table, [
    ...inputs.map((input) => ({ ...input, shape: [-1] })),
    ...optionalInputs.filter(isColumn).map((input) => ({ ...input, shape: [-1] })),
  ]).map((column) => {
    const input = [...inputs, ...optionalInputs].find(({ name }) => name === column.name);
    const { name, cells } = column;
    const datatype = input?.datatype ?? 'BYTES';
    const isFloat = /^(FP|BF)/.test(datatype);
    const empty = cells.indexOf(null);
    if (!isFloat && empty >= 0) {
      throw new ServalError(
        ErrorCode.InvalidArgument,
        `CSV: row ${empty}, column ${JSON.stringify(name)}: expected ${datatype}, got an empty ` +
          'cell' +
          (datatype === 'BYTES' ? ' (write "" for an empty text)' : ''),
      );
    }
    const present = cells.map((cell) => cell ?? new ExactNumber('NaN'));
    return { ...column, datatype, cells: present, isNested: input?.shape.length === 2 };
  });
}

const isColumn = ({ shape, unknownRank }: TensorInfo): boolean =>
  !unknownRank && (shape.length === 1 || (shape.length === 2 && shape[1] === 1)) && shape[0] === -1;

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
