// Cells of Spark's tables as numbers, texts, vectors and matrices. Pure; importer's worker thread.
import { StageProblem, shown } from './problem.js';

/** Rows and columns of `values`, row by row. */
export interface Matrix {
  readonly rows: number;
  readonly columns: number;
  readonly values: Float64Array;
}

type Struct = Readonly<Record<string, unknown>>;

/** INT64 comes as a bigint. */
export function numberCell(cell: unknown, what: string): number {
  if (typeof cell === 'number') return cell;
  if (typeof cell === 'bigint') return Number(cell);
  return refuse(cell, what, 'a number');
}

export function integerCell(cell: unknown, what: string): number {
  const value = numberCell(cell, what);
  return Number.isSafeInteger(value) ? value : refuse(cell, what, 'an integer');
}

export function textCell(cell: unknown, what: string): string {
  return typeof cell === 'string' ? cell : refuse(cell, what, 'a text');
}

export function flagCell(cell: unknown, what: string): boolean {
  return typeof cell === 'boolean' ? cell : refuse(cell, what, 'true or false');
}

export function listCell(cell: unknown, what: string): readonly unknown[] {
  if (Array.isArray(cell)) return cell as unknown[];
  if (ArrayBuffer.isView(cell)) return Array.from(cell as unknown as Iterable<unknown>);
  return refuse(cell, what, 'a list');
}

export function numbersCell(cell: unknown, what: string): Float64Array {
  return Float64Array.from(listCell(cell, what), (item) => numberCell(item, what));
}

export function integersCell(cell: unknown, what: string): Int32Array {
  return Int32Array.from(listCell(cell, what), (item) => integerCell(item, what));
}

export function textsCell(cell: unknown, what: string): string[] {
  return listCell(cell, what).map((item) => textCell(item, what));
}

export function structCell(cell: unknown, what: string): Struct {
  if (typeof cell === 'object' && cell !== null && !Array.isArray(cell)) return cell as Struct;
  return refuse(cell, what, 'a structure');
}

// Maximum number of cells of a vector or a matrix that is stored sparse.
const CELLS_MAX = 2 ** 27;

/** A vector as Spark stores it: type 1 dense, 0 sparse. */
export function vectorCell(cell: unknown, what: string): Float64Array {
  const vector = structCell(cell, what);
  const values = numbersCell(vector['values'], what);
  if (vector['type'] === 1) return values;
  const size = integerCell(vector['size'], what);
  const indices = integersCell(vector['indices'], what);
  if (vector['type'] !== 0 || indices.length !== values.length || size < 0 || size > CELLS_MAX) {
    return refuse(cell, what, 'a vector');
  }
  const dense = new Float64Array(size);
  for (const [i, index] of indices.entries()) {
    if (index < 0 || index >= size) return refuse(cell, what, 'a vector');
    dense[index] = values[i] ?? 0;
  }
  return dense;
}

/** A matrix as Spark stores it: type 1 dense, column by column unless transposed; 0 by columns. */
export function matrixCell(cell: unknown, what: string): Matrix {
  const stored = structCell(cell, what);
  const rows = integerCell(stored['numRows'], what);
  const columns = integerCell(stored['numCols'], what);
  const transposed = stored['isTransposed'] === true;
  const values = numbersCell(stored['values'], what);
  const count = rows * columns;
  if (rows < 0 || columns < 0 || count > CELLS_MAX) return refuse(cell, what, 'a matrix');
  const made = new Float64Array(count);
  const at = (outer: number, inner: number): number =>
    transposed ? outer * columns + inner : inner * columns + outer;
  const outers = transposed ? rows : columns;
  const inners = transposed ? columns : rows;
  if (stored['type'] === 1) {
    if (values.length !== count) return refuse(cell, what, 'a matrix');
    for (let outer = 0; outer < outers; outer++) {
      for (let inner = 0; inner < inners; inner++) {
        made[at(outer, inner)] = values[outer * inners + inner] ?? 0;
      }
    }
    return { rows, columns, values: made };
  }
  const starts = integersCell(stored['colPtrs'], what);
  const places = integersCell(stored['rowIndices'], what);
  const ends = starts[outers];
  if (stored['type'] !== 0 || starts.length !== outers + 1 || ends !== values.length) {
    return refuse(cell, what, 'a matrix');
  }
  if (places.length !== values.length) return refuse(cell, what, 'a matrix');
  for (let outer = 0; outer < outers; outer++) {
    const end = starts[outer + 1] ?? 0;
    if (end > values.length) return refuse(cell, what, 'a matrix');
    for (let i = starts[outer] ?? 0; i < end; i++) {
      const inner = places[i] ?? -1;
      if (i < 0 || inner < 0 || inner >= inners) return refuse(cell, what, 'a matrix');
      made[at(outer, inner)] = values[i] ?? 0;
    }
  }
  return { rows, columns, values: made };
}

/** A map whose keys are numbers: parquet's maps come as objects. */
export function numberMap(cell: unknown, what: string): [number, unknown][] {
  return Object.entries(structCell(cell, what)).map(([key, value]) => {
    const number = Number(key);
    if (Number.isNaN(number)) return refuse(cell, what, 'a map by numbers');
    return [number, value];
  });
}

function refuse(cell: unknown, what: string, expected: string): never {
  throw new StageProblem(`${what} is ${shown(cell)}: expected ${expected}`);
}
