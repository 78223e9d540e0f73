// The response viewer: charts of class scores, images, tables, and the raw response. The browser's
// thread.
import { elementCount } from '../../../../model/shape.js';
import type { TensorInfo } from '../../../../model/snapshot.js';
import type { Reply } from '../api.js';
import { bars } from '../charts.js';
import { h, replace } from '../dom.js';
import type { Example } from '../request/examples.js';
import { canvasOf, pictureOf } from '../request/pictures.js';
import {
  partsOf,
  scoresOf,
  v1Scores,
  type Answered,
  type AnsweredTable,
  type Score,
} from './tensors.js';

const ROWS_MAX = 50;
const COLUMNS_MAX = 16;
const PICTURES_MAX = 4;
const RAW_CHARS_MAX = 100_000;

/** Numbers with as many digits as float32 has. */
function shown(value: unknown): string {
  if (typeof value === 'number') {
    return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(7)));
  }
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

function table({ columns, rows }: AnsweredTable): HTMLElement {
  const cut = rows.length > ROWS_MAX || columns.length > COLUMNS_MAX;
  const listed = columns.slice(0, COLUMNS_MAX);
  const head = h('tr', {}, ...listed.map((name) => h('th', { scope: 'col' }, name)));
  const lines = rows
    .slice(0, ROWS_MAX)
    .map((row) => h('tr', {}, ...row.slice(0, COLUMNS_MAX).map((one) => h('td', {}, shown(one)))));
  return h(
    'div.scroll',
    { tabindex: 0, role: 'group', 'aria-label': 'Values' },
    h('table.values', {}, h('thead', {}, head), h('tbody', {}, ...lines)),
    cut && h('p.note', {}, `Shows only part of ${rows.length} × ${columns.length} values.`),
  );
}

/** Rows are the first dimension, columns all others. */
function tensorTable({ shape, values }: Answered): HTMLElement {
  const rows = shape.length === 0 ? 1 : (shape[0] ?? 0);
  const width = rows === 0 ? 0 : values.length / rows;
  const columns = [
    '',
    ...Array.from({ length: width }, (_, at) => (width === 1 ? 'value' : `${at}`)),
  ];
  const lines = Array.from({ length: Math.min(rows, ROWS_MAX + 1) }, (_, row) => [
    row,
    ...values.slice(row * width, Math.min((row + 1) * width, row * width + COLUMNS_MAX)),
  ]);
  const counted = { columns, rows: lines };
  return table(counted);
}

/** One row of a batch at a time. */
function chart(rows: readonly (readonly Score[])[]): HTMLElement {
  const drawing = h('div.chart');
  const draw = (row: number): void => replace(drawing, bars(rows[row] ?? []));
  draw(0);
  if (rows.length < 2) return drawing;
  const chooser = h('input.row', { type: 'number', min: 0, max: rows.length - 1, value: 0 });
  chooser.addEventListener('input', () => draw(Number(chooser.value)));
  return h('div', {}, h('label', {}, `Row (of ${rows.length}) `, chooser), drawing);
}

function pictures(tensor: Answered): HTMLElement | undefined {
  const { shape, values, datatype } = tensor;
  const numbers = values as readonly number[];
  const picture = pictureOf({ datatype: datatype === 'number' ? 'FP32' : datatype, shape });
  if (picture === undefined || typeof values[0] !== 'number') return undefined;
  const one = picture.batch < 0 ? shape : shape.slice(1);
  const size = elementCount(one);
  const count = picture.batch < 0 ? 1 : Math.min(shape[0] ?? 0, PICTURES_MAX);
  const canvases = Array.from({ length: count }, (_, at) =>
    canvasOf(numbers.slice(at * size, (at + 1) * size), picture, shape, datatype),
  );
  return h('div.pictures', { role: 'img', 'aria-label': `${tensor.name} as images` }, ...canvases);
}

/** V1 gives a model's only output another name. */
function labelsOf({ name }: Answered, outputs: readonly TensorInfo[]): readonly string[] {
  const own = outputs.find((output) => output.name === name);
  return (own ?? (outputs.length === 1 ? outputs[0] : undefined))?.labels ?? [];
}

function tensorView(tensor: Answered, outputs: readonly TensorInfo[]): HTMLElement {
  const { name, datatype, shape } = tensor;
  const scores = scoresOf(tensor, labelsOf(tensor, outputs));
  const title = h(
    'h3',
    {},
    name,
    ' ',
    h('code.dim', {}, `${datatype === 'number' ? '' : datatype}[${shape.join(', ')}]`),
  );
  const drawn = pictures(tensor) ?? (scores && chart(scores));
  const values = tensorTable(tensor);
  if (drawn === undefined) return h('div.tensor', {}, title, values);
  return h('div.tensor', {}, title, drawn, h('details', {}, h('summary', {}, 'Values'), values));
}

/** The response as the server sent it: numbers keep their digits. */
export function rawView({ text, contentType }: Reply): HTMLElement {
  const cut = text.length - RAW_CHARS_MAX;
  return h(
    'details.raw',
    {},
    h('summary', {}, 'Raw response'),
    h('p.note', {}, contentType === '' ? 'without a content type' : contentType),
    h('pre.code', { tabindex: 0 }, text.slice(0, RAW_CHARS_MAX)),
    cut > 0 && h('p.note', {}, `${cut} more characters are not shown.`),
  );
}

/** Shows a response with status 200. `outputs`: those of the model's signature. */
export function answerView(
  reply: Reply,
  example: Example,
  outputs: readonly TensorInfo[],
): HTMLElement {
  const { text, contentType } = reply;
  const classified = example.path.endsWith(':classify') ? v1Scores(text) : undefined;
  const { tensors, table: rows } = partsOf(text, contentType);
  return h(
    'div',
    {},
    classified && h('div.tensor', {}, h('h3', {}, 'results'), chart(classified)),
    rows && table(rows),
    ...(classified ? [] : tensors.map((tensor) => tensorView(tensor, outputs))),
    rawView(reply),
  );
}
