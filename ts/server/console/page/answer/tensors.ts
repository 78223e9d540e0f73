// Answers of every protocol as named tensors. Pure; the browser's thread.
import { CSV_TYPE } from '../../../../base/media-types.js';

export interface Answered {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  /** Row-major. */
  readonly values: readonly unknown[];
}

/** Rows of a table with a head: what CSV and LeapFrames answer. */
export interface AnsweredTable {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
}

export interface AnswerParts {
  readonly tensors: readonly Answered[];
  readonly table: AnsweredTable | undefined;
}

const NONE: AnswerParts = { tensors: [], table: undefined };

/** A list in lists as a tensor; where lengths differ, its outer list alone. */
function nestedTensor(name: string, value: unknown): Answered {
  const shape: number[] = [];
  let level: readonly unknown[] = [value];
  while (level.length > 0 && level.every((one) => Array.isArray(one))) {
    const lists = level as readonly unknown[][];
    const length = lists[0]?.length ?? 0;
    if (!lists.every((list) => list.length === length)) break;
    shape.push(length);
    level = lists.flat();
  }
  const [first] = level;
  const datatype = typeof first === 'number' ? 'number' : typeof first;
  return { name, datatype, shape, values: level };
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Rows as objects by name are one tensor for each. */
function v1Tensors(value: unknown, name: string): readonly Answered[] {
  if (isObject(value)) {
    return Object.entries(value).map(([output, inner]) => nestedTensor(output, inner));
  }
  if (!Array.isArray(value) || !value.every(isObject)) return [nestedTensor(name, value)];
  const rows = value as readonly Readonly<Record<string, unknown>>[];
  return Object.keys(rows[0] ?? {}).map((output) =>
    nestedTensor(
      output,
      rows.map((row) => row[output]),
    ),
  );
}

interface V2Output {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly data?: readonly unknown[];
}

/** The cells of a line of CSV. */
function csvCells(line: string): string[] {
  const cells = [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^",]*))/g)];
  return cells.map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '');
}

function csvTable(text: string): AnswerParts {
  const [head = '', ...rows] = text.trimEnd().split('\n');
  return { tensors: [], table: { columns: csvCells(head), rows: rows.map(csvCells) } };
}

interface LeapFrame {
  readonly schema: { readonly fields: readonly { readonly name: string }[] };
  readonly rows: readonly (readonly unknown[])[];
}

/**
 * Extracts the parts of a response that can be shown. Never throws: an unknown format has no parts.
 */
export function partsOf(text: string, contentType: string): AnswerParts {
  if (contentType.startsWith(CSV_TYPE)) return csvTable(text);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return NONE;
  }
  if (!isObject(value)) return NONE;
  if (Array.isArray(value['outputs']) && 'model_name' in value) {
    const outputs = value['outputs'] as readonly V2Output[];
    const tensors = outputs.map((output) => ({ ...output, values: (output.data ?? []).flat(9) }));
    return { tensors, table: undefined };
  }
  if (isObject(value['schema']) && Array.isArray(value['rows'])) {
    const { schema, rows } = value as unknown as LeapFrame;
    return { tensors: [], table: { columns: schema.fields.map(({ name }) => name), rows } };
  }
  for (const name of ['predictions', 'outputs', 'results', 'result']) {
    if (name in value) return { tensors: v1Tensors(value[name], name), table: undefined };
  }
  return NONE;
}

export interface Score {
  readonly label: string;
  readonly score: number;
}

/** Maximum number of classes in a chart. */
export const BARS_MAX = 10;
const CLASSES_MAX = 100_000;
/** At least this number of fractions counts as scores, whatever their sum. */
const SCORES_MIN = 10;

/** "0.9:3:cat", as V2's classification extension has it. */
const CLASSIFIED = /^(-?[\d.e+-]+|-?inf|nan):(\d+)(?::(.*))?$/is;

const highest = (scores: readonly Score[]): readonly Score[] =>
  [...scores].sort((a, b) => b.score - a.score).slice(0, BARS_MAX);

/** Whether every value of a row is a part of one. */
function areParts(values: readonly unknown[], classes: number): boolean {
  for (let from = 0; from < values.length; from += classes) {
    const row = values.slice(from, from + classes).map(Number);
    const sum = row.reduce((all, value) => all + value, 0);
    if (row.some((value) => value < 0) || Math.abs(sum - 1) > 0.01) return false;
  }
  return true;
}

/**
 * Scores of each row's classes, highest first; undefined: the tensor has none. Fractions count
 * where they are probabilities, or where there are as many as scores of classes are. `labels`: the
 * names of the classes, if the model has them.
 */
export function scoresOf(
  tensor: Answered,
  labels: readonly string[] = [],
): readonly (readonly Score[])[] | undefined {
  const { shape, values } = tensor;
  const classes = shape.at(-1) ?? 0;
  const isClassified = typeof values[0] === 'string';
  const isRow = shape.length === 2 || (isClassified && shape.length === 1);
  if (!isRow || classes < (isClassified ? 1 : 2) || classes > CLASSES_MAX) return undefined;
  const isFraction = isClassified || values.some((value) => !Number.isInteger(value));
  if (!isFraction || (!isClassified && classes < SCORES_MIN && !areParts(values, classes))) {
    return undefined;
  }
  const rows = shape.length === 2 ? (shape[0] ?? 0) : 1;
  const scores: Score[] = [];
  for (const [at, value] of values.entries()) {
    const [, score, index, label] =
      typeof value === 'string' ? (CLASSIFIED.exec(value) ?? []) : [undefined, String(value)];
    if (score === undefined || !Number.isFinite(Number(score))) return undefined;
    const place = Number(index ?? at % classes);
    scores.push({ label: label ?? labels[place] ?? `class ${place}`, score: Number(score) });
  }
  return Array.from({ length: rows }, (_, row) =>
    highest(scores.slice(row * classes, (row + 1) * classes)),
  );
}

/** Parses the result of V1's classify: [[label, score], ...] per example. */
export function v1Scores(text: string): readonly (readonly Score[])[] | undefined {
  try {
    const { results } = JSON.parse(text) as { results?: (readonly [string, number])[][] };
    if (results === undefined) return undefined;
    return results.map((row) =>
      highest(row.map(([label, score], at) => ({ label: label || `class ${at}`, score }))),
    );
  } catch {
    return undefined;
  }
}
