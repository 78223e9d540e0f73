// The rows that a model's explanations are relative to: a CSV file whose columns are named as the
// fields of requests. The plan keeps them; the engine runs its stages over them at load.
// Importer's worker thread.
import { type CsvTable, parseCsv } from '../../base/csv.js';
import { modelInvalid, reasonOf } from '../../base/errors.js';
import { BACKGROUND_BYTES_MAX, BACKGROUND_ROWS_MAX } from '../../base/limits.js';
import { EXPECTED_VALUE, SHAP_VALUES } from '../../model/explanation-names.js';
import type { BackgroundField, Field, Plan } from './generated/plan.js';
import { neededColumns } from './needs.js';
import { readTextFile } from './archive/text-file.js';

/** Errors: ModelInvalid: unreadable, too long, no CSV. */
export async function readBackground(path: string): Promise<CsvTable> {
  try {
    return parseCsv(await readTextFile(path, BACKGROUND_BYTES_MAX));
  } catch (error) {
    throw modelInvalid(path, `background set: ${reasonOf(error)}`);
  }
}

/**
 * The plan with its background rows. Columns that are no fields are ignored. Errors: ModelInvalid
 * naming `path`: no rows or too many, a field without a column, a value of another type; the plan
 * has no Shapley values.
 */
export function withBackground(plan: Plan, { header, rows }: CsvTable, path: string): Plan {
  const bad = (what: string): Error => modelInvalid(path, `background set: ${what}`);
  const wanted = explainedFields(plan);
  if (wanted === undefined) throw bad(`the model has no output '${SHAP_VALUES}'`);
  if (rows.length < 1 || rows.length > BACKGROUND_ROWS_MAX) {
    throw bad(`expected 1 to ${BACKGROUND_ROWS_MAX} rows, got ${rows.length}`);
  }
  const absent = wanted.filter(({ name, optional }) => optional !== true && !header.includes(name));
  if (absent.length > 0) {
    const names = absent.map(({ name }) => `'${name}'`).join(', ');
    throw bad(`there is no column for ${names}`);
  }
  const present = wanted.filter(({ name }) => header.includes(name));
  const background = present.map((field) => {
    const at = header.indexOf(field.name);
    const cells = rows.map((row) => row[at] ?? null);
    const values =
      field.type === 'vector' ? vectorsOf(field, cells, bad) : valuesOf(field, cells, bad);
    return { column: field.column ?? 0, rows: rows.length, ...values };
  });
  return { ...plan, background };
}

/** The fields that Shapley values need; undefined: the plan has no such values. */
export function explainedFields(plan: Plan): readonly Plan['fields'][number][] | undefined {
  const explained = plan.outputs.filter(
    ({ name, extra }) => extra === true && (name === SHAP_VALUES || name === EXPECTED_VALUE),
  );
  if (explained.length === 0) return undefined;
  const needed = neededColumns(plan, explained);
  return plan.fields.filter(({ column = 0 }) => needed.has(column));
}

const REALS: readonly Field['type'][] = ['float', 'double'];
const INTEGERS: readonly Field['type'][] = ['bool', 'int8', 'int16', 'int32', 'int64'];
const WORDS: Readonly<Record<string, number>> = {
  true: 1,
  false: 0,
  nan: Number.NaN,
  inf: Number.POSITIVE_INFINITY,
  '-inf': Number.NEGATIVE_INFINITY,
  infinity: Number.POSITIVE_INFINITY,
  '-infinity': Number.NEGATIVE_INFINITY,
};

/** undefined: no number. */
function numberOf(cell: string): number | undefined {
  const text = cell.trim().toLowerCase();
  if (Object.hasOwn(WORDS, text)) return WORDS[text];
  const number = Number(text);
  return text === '' || Number.isNaN(number) ? undefined : number;
}

/** Lists of numbers as JSON, of one length. */
function vectorsOf(
  { name, size = -1 }: Field,
  cells: readonly (string | null)[],
  bad: (what: string) => Error,
): Pick<BackgroundField, 'reals'> {
  const lists = cells.map((cell, row) => {
    const list = listOf(cell ?? '');
    if (list !== undefined && (size < 0 || list.length === size)) return list;
    const expected = size < 0 ? 'a list of numbers' : `a list of ${size} numbers`;
    const got = JSON.stringify((cell ?? '').slice(0, 100));
    throw bad(`row ${row}, column '${name}': expected ${expected}, got ${got}`);
  });
  const wrong = lists.findIndex((list) => list.length !== lists[0]?.length);
  if (wrong >= 0) throw bad(`row ${wrong}, column '${name}': expected lists of one length`);
  return { reals: Float64Array.from(lists.flat()) };
}

function listOf(cell: string): readonly number[] | undefined {
  try {
    const list: unknown = JSON.parse(cell);
    const isList = Array.isArray(list) && list.every((each) => typeof each === 'number');
    return isList ? (list as readonly number[]) : undefined;
  } catch {
    return undefined;
  }
}

function valuesOf(
  { name, type }: Field,
  cells: readonly (string | null)[],
  bad: (what: string) => Error,
): Pick<BackgroundField, 'reals' | 'texts'> {
  // Programs that quote every cell write a missing number as "".
  const numbers = cells.map((cell) => (cell === null || cell === '' ? Number.NaN : numberOf(cell)));
  const isNumber = numbers.every((number) => number !== undefined);
  if (type === 'string' || (type === 'any' && !isNumber)) {
    const reals = Float64Array.from(cells, (cell) => (cell === null ? Number.NaN : 0));
    return { reals, texts: cells.map((cell) => cell ?? '') };
  }
  if (!REALS.includes(type) && !INTEGERS.includes(type) && type !== 'any') {
    throw bad(`column '${name}': fields of the type ${type} are not supported`);
  }
  const isWhole = INTEGERS.includes(type);
  const wrong = numbers.findIndex((number) => {
    if (number === undefined) return true;
    return isWhole && !Number.isNaN(number) && !Number.isSafeInteger(number);
  });
  if (wrong >= 0) {
    const expected = isWhole ? 'a whole number' : 'a number';
    const got = JSON.stringify((cells[wrong] ?? '').slice(0, 100));
    throw bad(`row ${wrong}, column '${name}': expected ${expected}, got ${got}`);
  }
  const given = numbers.map((number) => number ?? Number.NaN);
  return { reals: Float64Array.from(type === 'float' ? given.map(Math.fround) : given) };
}
