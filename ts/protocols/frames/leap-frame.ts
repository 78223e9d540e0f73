// MLeap's LeapFrame in JSON, {"schema": {"fields": [{"name", "type"}]}, "rows": [[...]]}: to a V2
// request, and back with the model's outputs after the frame's own fields. The listener's thread;
// pure. Source: tabular.md 4.3; MLeap's JsonSupport for the form of types and tensors.
import { ErrorCode, ServalError, invalidArgument } from '../../base/errors.js';
import { FRAME_SPARSE_VALUES_MAX } from '../../base/limits.js';
import {
  exactText,
  ExactNumber,
  parseExact,
  type ExactObject,
  type ExactValue,
} from './exact-json.js';
import { memberOf, type AnswerColumn, type RequestColumn } from './tensors.js';

const BASES: Readonly<Record<string, string>> = {
  boolean: 'BOOL',
  byte: 'INT8',
  short: 'INT16',
  integer: 'INT32',
  int: 'INT32',
  long: 'INT64',
  float: 'FP32',
  double: 'FP64',
  string: 'STRING',
};
/** Type names of response datatypes; others are strings. */
const NAMES: Readonly<Record<string, string>> = {
  BOOL: 'boolean',
  INT8: 'byte',
  INT16: 'short',
  INT32: 'integer',
  INT64: 'long',
  FP32: 'float',
  FP64: 'double',
  VECTOR: 'double',
};
/** Replacement for numbers that JSON does not have. */
const NOT_FINITE: ReadonlySet<string> = new Set(['NaN', 'Infinity', '-Infinity']);
const FLOATS: ReadonlySet<string> = new Set(['FP32', 'FP64', 'VECTOR']);
const TENSOR_VALUES_MAX = 16_777_216;
const ZERO = new ExactNumber('0');

interface FrameField {
  readonly name: string;
  /** The type as written. */
  readonly type: ExactValue;
  readonly datatype: string;
  readonly kind: 'basic' | 'list' | 'tensor';
}

export interface LeapFrame {
  readonly fields: readonly FrameField[];
  readonly rows: readonly (readonly ExactValue[])[];
}

/** Errors: MalformedBody; InvalidArgument: not a frame, or an unsupported type. */
export function parseFrame(text: string): LeapFrame {
  const frame = parseExact(text);
  const fields = memberOf(memberOf(frame, 'schema'), 'fields');
  const rows = memberOf(frame, 'rows');
  if (!Array.isArray(fields) || !Array.isArray(rows)) {
    throw invalid('expected {"schema": {"fields": [...]}, "rows": [...]}');
  }
  const names = new Set<string>();
  const parsed = fields.map((field: ExactValue, i) => {
    const one = fieldOf(field, i);
    if (names.has(one.name)) throw invalid(`field ${JSON.stringify(one.name)} occurs twice`);
    names.add(one.name);
    return one;
  });
  const lists = rows.map((row: ExactValue, i) => {
    if (Array.isArray(row) && row.length === parsed.length) return row as readonly ExactValue[];
    const got = Array.isArray(row) ? `${row.length} values` : kindOf(row);
    throw invalid(`row ${i}: expected a list of ${parsed.length} values, got ${got}`);
  });
  return { fields: parsed, rows: lists };
}

function fieldOf(field: ExactValue, index: number): FrameField {
  const name = memberOf(field, 'name');
  const type = memberOf(field, 'type');
  if (typeof name !== 'string' || type === undefined) {
    throw invalid(`field ${index}: expected {"name": text, "type": type}`);
  }
  const kind = typeof type === 'string' ? 'basic' : (memberOf(type, 'type') ?? 'basic');
  const base = typeof type === 'string' ? type : baseOf(memberOf(type, 'base'));
  const datatype = typeof base === 'string' ? BASES[base] : undefined;
  if (datatype === undefined || (kind !== 'basic' && kind !== 'list' && kind !== 'tensor')) {
    const known = `${Object.keys(BASES).join(', ')}, lists and tensors of them`;
    throw invalid(`field ${JSON.stringify(name)}: expected one of ${known}, got ${typeName(type)}`);
  }
  const isVector = kind === 'tensor' && (datatype === 'FP64' || datatype === 'FP32');
  return { name, type, datatype: isVector ? 'VECTOR' : datatype, kind };
}

/** A base type may itself be written with its nullability. */
function baseOf(base: ExactValue | undefined): ExactValue | undefined {
  return base instanceof Map ? (base as ExactObject).get('base') : base;
}

const typeName = (type: ExactValue): string => exactText(type, true).slice(0, 200);

/** Remaining budget of zeros for expanding a frame's sparse tensors. */
interface Room {
  left: number;
}

/** Errors: InvalidArgument, or BodyTooLarge, naming row and field. */
export function frameColumns({ fields, rows }: LeapFrame): readonly RequestColumn[] {
  const room = { left: FRAME_SPARSE_VALUES_MAX };
  return fields.map((field, at) => ({
    name: field.name,
    datatype: field.datatype,
    isList: field.kind !== 'basic',
    cells: rows.map((row, i) => cellOf(row[at] ?? null, field, i, room)),
  }));
}

function cellOf(value: ExactValue, field: FrameField, row: number, room: Room): ExactValue {
  if (value === null) return null;
  const place = `row ${row}, field ${JSON.stringify(field.name)}`;
  if (field.kind === 'basic') return scalarOf(value, field.datatype, place);
  const values = field.kind === 'tensor' ? denseOf(value, place, room) : value;
  if (!Array.isArray(values)) throw invalid(`${place}: expected a list, got ${kindOf(value)}`);
  return values.map((one: ExactValue) => scalarOf(one, field.datatype, place));
}

function scalarOf(value: ExactValue, datatype: string, place: string): ExactValue {
  const isFloat = datatype === 'FP64' || datatype === 'FP32' || datatype === 'VECTOR';
  const expected = datatype === 'STRING' ? 'string' : datatype === 'BOOL' ? 'boolean' : 'number';
  if (value === null || kindOf(value) === expected) return value;
  if (isFloat && typeof value === 'string' && NOT_FINITE.has(value)) return new ExactNumber(value);
  throw invalid(`${place}: expected a ${expected}, got ${kindOf(value)}`);
}

function kindOf(value: ExactValue | undefined): string {
  if (value === null) return 'null';
  if (value instanceof ExactNumber) return 'number';
  if (Array.isArray(value)) return 'list';
  return value instanceof Map ? 'object' : typeof value;
}

/**
 * A tensor of one dimension: a list, {"values", "dimensions"}, or, with "indices", a sparse one.
 */
function denseOf(value: ExactValue, place: string, room: Room): ExactValue {
  if (Array.isArray(value)) return value;
  const values = memberOf(value, 'values');
  const dimensions = memberOf(value, 'dimensions');
  if (!Array.isArray(values) || !(Array.isArray(dimensions) && dimensions.length === 1)) {
    throw invalid(`${place}: expected {"values": [...], "dimensions": [size]}`);
  }
  const size = indexOf(dimensions[0] as ExactValue);
  if (!(size <= TENSOR_VALUES_MAX))
    throw invalid(`${place}: expected at most ${TENSOR_VALUES_MAX} values`);
  const indices = memberOf(value, 'indices');
  if (indices === undefined) {
    if (values.length === size) return values;
    throw invalid(`${place}: expected ${size} values, got ${values.length}`);
  }
  if (!Array.isArray(indices) || indices.length !== values.length) {
    throw invalid(`${place}: expected as many indices as values`);
  }
  room.left -= size;
  if (room.left < 0) {
    throw new ServalError(
      ErrorCode.BodyTooLarge,
      `LeapFrame: ${place}: expected at most ${FRAME_SPARSE_VALUES_MAX} values of sparse tensors in total`,
    );
  }
  const dense: ExactValue[] = new Array<ExactValue>(size).fill(ZERO);
  indices.forEach((index: ExactValue, i) => {
    const at = indexOf(Array.isArray(index) ? (index[0] as ExactValue) : index);
    if (!(at < size)) throw invalid(`${place}: expected indices below ${size}`);
    dense[at] = values[i] as ExactValue;
  });
  return dense;
}

/** NaN if it is not an index. */
function indexOf(value: ExactValue): number {
  const number = value instanceof ExactNumber ? Number(value.text) : Number.NaN;
  return Number.isSafeInteger(number) && number >= 0 ? number : Number.NaN;
}

/** The frame with the outputs after its own fields; an output replaces a field of the same name. */
export function answerFrame(frame: LeapFrame, outputs: readonly AnswerColumn[]): string {
  const made = new Set(outputs.map(({ name }) => name));
  const kept = frame.fields
    .map((field, at) => ({ field, at }))
    .filter(({ field }) => !made.has(field.name));
  const fields = [
    ...kept.map(({ field }) => [field.name, exactText(field.type, true)] as const),
    ...outputs.map((output) => [output.name, outputType(output)] as const),
  ].map(([name, type]) => `{"name":${JSON.stringify(name)},"type":${type}}`);
  const rows = frame.rows.map((row, i) => {
    const own = kept.map(({ field, at }) =>
      exactText(finiteOnly(row[at] ?? null, field.datatype), true),
    );
    const more = outputs.map((output) => outputCell(output, i));
    return `[${[...own, ...more].join(',')}]`;
  });
  return `{"schema":{"fields":[${fields.join(',')}]},"rows":[${rows.join(',')}]}`;
}

const isTensor = ({ datatype, length = -1 }: AnswerColumn): boolean =>
  length >= 0 && (datatype === 'VECTOR' || datatype === 'FP64');

function outputType(output: AnswerColumn): string {
  const base = NAMES[output.datatype] ?? 'string';
  if (output.length === undefined) return `{"type":"basic","base":"${base}","isNullable":true}`;
  if (!isTensor(output)) return `{"type":"list","base":"${base}"}`;
  return `{"type":"tensor","base":"${base}","dimensions":[${output.length}]}`;
}

/** NaN and the infinities are null, as MLeap writes them: it does not read text as a number. */
function finiteOnly(value: ExactValue, datatype: string): ExactValue {
  if (!FLOATS.has(datatype)) return value;
  if (value instanceof ExactNumber) return NOT_FINITE.has(value.text) ? null : value;
  if (typeof value === 'string') return NOT_FINITE.has(value) ? null : value;
  if (Array.isArray(value)) return value.map((one: ExactValue) => finiteOnly(one, datatype));
  if (!(value instanceof Map)) return value;
  const members = [...(value as ExactObject)];
  return new Map(members.map(([name, one]) => [name, finiteOnly(one, datatype)]));
}

function outputCell(output: AnswerColumn, row: number): string {
  const text = exactText(finiteOnly(output.cells[row] ?? null, output.datatype), true);
  return isTensor(output) ? `{"values":${text},"dimensions":[${output.length}]}` : text;
}

function invalid(what: string): ServalError {
  return invalidArgument('LeapFrame', what);
}
