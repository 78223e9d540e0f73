// Converts columns of a frame to a V2 request, and a V2 response to columns. The listener's thread;
// pure. Source: tabular.md 2.4, 2.5.
import { ErrorCode, ServalError } from '../../base/errors.js';
import {
  exactText,
  ExactNumber,
  parseExact,
  type ExactObject,
  type ExactValue,
} from './exact-json.js';

/** One field of all rows. */
export interface RequestColumn {
  readonly name: string;
  readonly datatype: string;
  /** Whether cells are lists, which may differ in length. */
  readonly isList: boolean;
  /** Whether rows have a second dimension of 1, as a tensor model may declare its columns. */
  readonly isNested?: boolean;
  /** Rows are lists of this length, whose items are the cells. */
  readonly width?: number;
  /** null = missing. Numbers are kept as written. */
  readonly cells: readonly ExactValue[];
}

export interface AnswerColumn {
  readonly name: string;
  readonly datatype: string;
  /** Length of each list; -1 = they differ; absent: cells are single values. */
  readonly length?: number;
  readonly cells: readonly ExactValue[];
}

/** The body of a V2 request. `outputs`: the requested ones; empty = the model's own. */
export function requestText(
  columns: readonly RequestColumn[],
  outputs: readonly string[] = [],
): string {
  const inputs = columns.map(({ name, datatype, isList, isNested, width, cells }) => {
    const rows = cells.length / (width ?? 1);
    const columns = isList
      ? ',1,-1'
      : isNested === true
        ? ',1'
        : width === undefined
          ? ''
          : `,${width}`;
    const shape = `[${rows}${columns}]`;
    // With this format both ways of writing a timestamp are accepted.
    const format = datatype === 'TIMESTAMP' ? ',"parameters":{"format":"iso8601"}' : '';
    const data = cells.map((cell) => {
      const text = exactText(cell, false);
      return isList ? `[${text}]` : text;
    });
    return (
      `{"name":${JSON.stringify(name)},"datatype":"${datatype}","shape":${shape}${format},` +
      `"data":[${data.join(',')}]}`
    );
  });
  const wanted = outputs.map((name) => `{"name":${JSON.stringify(name)}}`);
  const asked = wanted.length === 0 ? '' : `,"outputs":[${wanted.join(',')}]`;
  return `{"parameters":{"string_datatype":"STRING"},"inputs":[${inputs.join(',')}]${asked}}`;
}

interface Tensor {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly data: readonly ExactValue[];
}

/**
 * `rows`: rows of the request. Errors: InvalidArgument: an output has not as many; Internal: it is
 * not a V2 response (a bug in Serval).
 */
export function answerColumns(text: string, rows?: number): readonly AnswerColumn[] {
  const answer = parseExact(text);
  const tensors = listOf(memberOf(answer, 'outputs')).map(tensorOf);
  const other = tensors.find(({ shape }) => rows !== undefined && shape[0] !== rows);
  if (other !== undefined) {
    throw new ServalError(
      ErrorCode.InvalidArgument,
      `CSV: output '${other.name}' has shape [${other.shape.join(', ')}]: expected ${rows} rows; ` +
        'choose other outputs (?outputs=NAME,...)',
    );
  }
  const ragged = new Set(
    tensors.filter(({ shape }) => shape.at(-1) === -1).map(({ name }) => `${name}_shape`),
  );
  return tensors.filter(({ name }) => !ragged.has(name)).map((tensor) => columnOf(tensor, tensors));
}

function columnOf(tensor: Tensor, all: readonly Tensor[]): AnswerColumn {
  const { name, datatype, shape, data } = tensor;
  const [rows = 0] = shape;
  if (shape.length === 1) return { name, datatype, cells: data };
  const last = shape.at(-1) === -1 ? -1 : shape.slice(1).reduce((all, size) => all * size, 1);
  const lengths =
    last === -1
      ? all.find((one) => one.name === `${name}_shape`)?.data.map(numberOf)
      : Array.from({ length: rows }, () => last);
  if (lengths?.length !== rows) throw broken();
  let at = 0;
  const cells = lengths.map((length) => data.slice(at, (at += length)));
  if (at !== data.length) throw broken();
  return { name, datatype, length: last, cells };
}

function tensorOf(value: ExactValue): Tensor {
  const [name, datatype] = [memberOf(value, 'name'), memberOf(value, 'datatype')];
  if (typeof name !== 'string' || typeof datatype !== 'string') throw broken();
  const shape = listOf(memberOf(value, 'shape')).map(numberOf);
  return { name, datatype, shape, data: listOf(memberOf(value, 'data')) };
}

/** undefined: it is not an object, or has no such member. */
export function memberOf(value: ExactValue | undefined, name: string): ExactValue | undefined {
  return value instanceof Map ? (value as ExactObject).get(name) : undefined;
}

function listOf(value: ExactValue | undefined): readonly ExactValue[] {
  if (!Array.isArray(value)) throw broken();
  return value as readonly ExactValue[];
}

function numberOf(value: ExactValue): number {
  return value instanceof ExactNumber ? Number(value.text) : Number.NaN;
}

function broken(): ServalError {
  return new ServalError(ErrorCode.Internal, 'a response that is not a table of columns');
}
