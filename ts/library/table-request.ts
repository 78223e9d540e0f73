// Encodes one request for a tabular model as V2's extended JSON and decodes its response: missing
// cells, lists of different lengths. Pure; any thread. Source: docs/reference/tabular.md.
import { invalidArgument } from '../base/errors.js';
import { answerColumns } from '../protocols/frames/tensors.js';
import { ExactNumber, type ExactValue } from '../protocols/frames/exact-json.js';
import { byName, type RequestBody } from './tensor-request.js';
import { isTypedArray, tensorInput } from './flatten.js';
import type {
  Cell,
  InferOptions,
  InputInfo,
  Inputs,
  InputValue,
  Outputs,
  Parameters,
} from './types.js';

/**
 * Converts rows (objects by field) to columns. A field that a row lacks is missing in it. Errors:
 * InvalidArgument: a row that is not an object.
 */
export function columnsOf(rows: readonly Readonly<Record<string, unknown>>[]): Inputs {
  const names = new Set<string>();
  rows.forEach((row, i) => {
    const isRow = typeof row === 'object' && row !== null && !Array.isArray(row);
    if (!isRow) throw invalidArgument(`row ${i}`, 'expected an object by field');
    for (const name of Object.keys(row)) names.add(name);
  });
  return Object.fromEntries(
    [...names].map((name) => [name, rows.map((row) => row[name] ?? null)]),
  ) as Inputs;
}

/** Encodes JSON only. Errors: InvalidArgument naming the input. */
export function tableBody(
  infos: readonly InputInfo[],
  inputs: Inputs,
  { outputs, parameters }: InferOptions,
): RequestBody {
  const columns = Object.entries(inputs).map(([name, value]) =>
    columnText(
      name,
      value,
      infos.find((one) => one.name === name),
    ),
  );
  const wanted = outputs?.map((name) => `{"name":${JSON.stringify(name)}}`);
  const asked = wanted === undefined ? '' : `,"outputs":[${wanted.join(',')}]`;
  const extended: Parameters = { string_datatype: 'STRING', ...parameters };
  const text = `{"parameters":${JSON.stringify(extended)},"inputs":[${columns.join(',')}]${asked}}`;
  return { body: new Uint8Array(Buffer.from(text)).buffer, jsonBytes: -1 };
}

function columnText(name: string, given: InputValue, info: InputInfo | undefined): string {
  const where = `input '${name}'`;
  const { data, shape, datatype, parameters } = tensorInput(where, given);
  const cells = (Array.isArray(data) || isTypedArray(data) ? [...data] : [data]) as unknown[];
  const type = datatype ?? typeOf(cells, info);
  const lengths = cells.map((cell) => listOf(cell)?.length);
  const isList = lengths.some((length) => length !== undefined);
  const common = lengths.every((length) => length === lengths[0]) ? lengths[0] : -1;
  const own = shape ?? (isList ? rowShape(cells.length, common ?? -1) : [cells.length]);
  const isRagged = shape === undefined && common === -1;
  const texts = cells.map((cell) => {
    const text = cellText(where, isRagged ? (listOf(cell) ?? null) : cell);
    return isRagged ? `[${text}]` : text;
  });
  const said = { ...(type === 'TIMESTAMP' && { format: 'iso8601' }), ...parameters };
  return (
    `{"name":${JSON.stringify(name)},"datatype":${JSON.stringify(type)},` +
    `"shape":${JSON.stringify(own)},"parameters":${JSON.stringify(said)},` +
    `"data":[${texts.join(',')}]}`
  );
}

const rowShape = (rows: number, length: number): number[] =>
  length === -1 ? [rows, 1, -1] : [rows, length];

const listOf = (value: unknown): readonly unknown[] | undefined =>
  Array.isArray(value) || isTypedArray(value) ? (value as readonly unknown[]) : undefined;

/** The type that the model states; for a field of open type: the type of the values. */
function typeOf(cells: readonly unknown[], info: InputInfo | undefined): string {
  const known = info?.datatype;
  const flat = cells.flatMap((cell) => [...(listOf(cell) ?? [cell])]);
  const first = flat.find((value) => value !== null && value !== undefined);
  switch (typeof first) {
    case 'string':
      return known === 'DATE' || known === 'TIMESTAMP' ? known : 'STRING';
    case 'boolean':
      return 'BOOL';
    case 'bigint':
      return 'INT64';
    case 'number':
      return numberType(flat, known);
    default:
      return known ?? 'STRING';
  }
}

/** Whole numbers stay integers if the model's field is an integer. */
function numberType(flat: readonly unknown[], known: string | undefined): string {
  if (known === 'VECTOR' || known === 'DECIMAL') return known === 'VECTOR' ? 'VECTOR' : 'FP64';
  if (known === undefined || !/INT/.test(known)) return 'FP64';
  return flat.every((value) => value === null || Number.isSafeInteger(value)) ? known : 'FP64';
}

function cellText(where: string, value: unknown): string {
  const list = listOf(value);
  if (list !== undefined) return `[${[...list].map((one) => cellText(where, one)).join(',')}]`;
  switch (typeof value) {
    case 'number':
    case 'bigint':
    case 'boolean':
      return String(value);
    case 'string':
      return JSON.stringify(value);
    case 'undefined':
      return 'null';
    default:
      if (value === null) return 'null';
      throw invalidArgument(
        where,
        `expected numbers, text, truth values or null, got ${typeof value}`,
      );
  }
}

/** Decodes a response to columns. Errors: Internal: not a V2 response. */
export function tableAnswer(body: Uint8Array): Outputs {
  const text = Buffer.from(body.buffer, body.byteOffset, body.length).toString('utf8');
  return byName(
    answerColumns(text).map(({ name, datatype, length, cells }) => ({
      name,
      datatype,
      shape: length === undefined ? [cells.length] : [cells.length, length],
      data: cells.map((cell) => cellOf(cell, datatype)),
    })),
  );
}

function cellOf(value: ExactValue, datatype: string): Cell {
  if (value instanceof ExactNumber) {
    return /INT64/.test(datatype) ? BigInt(value.text) : Number(value.text);
  }
  if (Array.isArray(value)) return value.map((one: ExactValue) => cellOf(one, datatype));
  return value as Cell;
}
