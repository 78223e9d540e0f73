// Output of `serval predict`: a table for people, JSON for machines. Pure; control plane.
import type { Cell, Outputs, Tensor } from '../../library/types.js';
import { visible, visibleInJson } from '../../base/text.js';

const ROWS_MAX = 10;
const COLUMNS_MAX = 12;
const CELL_CHARS_MAX = 40;

export interface Answered {
  readonly model: string;
  readonly version: string;
  readonly ms: number;
  readonly outputs: Outputs;
}

/** Each output with its first rows. */
export function answerText({ model, version, ms, outputs }: Answered): string {
  const blocks = Object.values(outputs).map(tensorText);
  const what = version === '' ? model : `${model}, version ${version}`;
  return `${blocks.join('')}${visible(what)}: ${ms.toFixed(2)} ms\n`;
}

function tensorText(tensor: Tensor): string {
  const { name, datatype, shape, data } = tensor;
  const head = `${visible(name)}  ${datatype} [${shape.join(',')}]\n`;
  const cells = Array.from(data as ArrayLike<unknown>);
  const width = shape.length < 2 ? 1 : Math.max(1, Math.round(cells.length / (shape[0] || 1)));
  const rows: string[][] = [];
  for (let at = 0; at < cells.length && rows.length < ROWS_MAX; at += width) {
    const row = cells.slice(at, Math.min(at + width, at + COLUMNS_MAX)).map(cellText);
    if (width > COLUMNS_MAX) row.push(`... ${width - COLUMNS_MAX} more`);
    rows.push(row);
  }
  const count = Math.ceil(cells.length / width);
  const more = count > ROWS_MAX ? `  ... ${count - ROWS_MAX} more rows\n` : '';
  return `${head}${aligned(rows)}${more}`;
}

function aligned(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  return rows
    .map((row) => `  ${row.map((cell, i) => cell.padStart(widths[i] ?? 0)).join('  ')}\n`)
    .join('');
}

function cellText(value: unknown): string {
  const text = visible(plainText(value));
  return text.length > CELL_CHARS_MAX ? `${text.slice(0, CELL_CHARS_MAX)}...` : text;
}

function plainText(value: unknown): string {
  if (typeof value === 'number') return Number.isInteger(value) ? `${value}` : shortFloat(value);
  if (value instanceof Uint8Array) return `${value.length} bytes`;
  if (Array.isArray(value)) return `[${value.map(plainText).join(', ')}]`;
  return String(value);
}

const shortFloat = (value: number): string => String(Number(value.toPrecision(7)));

/**
 * Flat values, row-major; 64-bit integers with all digits, NaN and the infinities as strings, bytes
 * that are not text as base64.
 */
export function answerJson({ model, version, ms, outputs }: Answered): string {
  const tensors = Object.values(outputs).map(({ name, datatype, shape, data }) => {
    const values = Array.from(data as ArrayLike<Cell>, cellJson);
    const head = `"name":${JSON.stringify(name)},"datatype":"${datatype}"`;
    return `{${head},"shape":${JSON.stringify(shape)},"data":[${values.join(',')}]}`;
  });
  const names = `"model":${JSON.stringify(model)},"version":${JSON.stringify(version)}`;
  const text = `{${names},"ms":${ms.toFixed(3)},"outputs":[${tensors.join(',')}]}`;
  return `${visibleInJson(text)}\n`;
}

function cellJson(value: unknown): string {
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'number' && !Number.isFinite(value)) return `"${value}"`;
  if (value instanceof Uint8Array) return `{"b64":"${Buffer.from(value).toString('base64')}"}`;
  if (Array.isArray(value)) return `[${value.map(cellJson).join(',')}]`;
  return JSON.stringify(value ?? null);
}
