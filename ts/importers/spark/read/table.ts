// A table of a Spark model: the parquet files of one folder, together. Columns are found by name
// or, as names differ between versions of Spark, by their position. Importer's worker thread.
import {
  type Compressors,
  type FileMetaData,
  parquetMetadata,
  parquetReadObjects,
  parquetSchema,
  type SchemaTree,
} from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { PARQUET_PAGE_BYTES_MAX, SPARK_TABLE_ROWS_MAX } from '../../../base/limits.js';
import { StageProblem } from './problem.js';

export interface Table {
  /** The table's path, for errors. */
  readonly place: string;
  /** Columns of all files, in the order of the first one. */
  readonly columns: readonly string[];
  readonly rowCount: number;
  /** The cells of the first column of these names, or of the one at `position`.
   * Errors: StageProblem where there is none. */
  column(names: readonly string[], position?: number): readonly unknown[];
  /** Same as column(), but undefined if none of these names exists. */
  find(...names: readonly string[]): readonly unknown[] | undefined;
}

interface File {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** `files`: the part files, in order. Errors: StageProblem naming the file. */
export async function readTable(place: string, files: readonly File[]): Promise<Table> {
  const parts: Part[] = [];
  let rowCount = 0;
  for (const file of files) {
    const part = await readPart(file, rowCount);
    rowCount += part.rows.length;
    parts.push(part);
  }
  const columns = (parts.find((part) => part.rows.length > 0) ?? parts[0])?.columns;
  if (columns === undefined) throw new StageProblem(`${place} has no Parquet file`);
  const cells = (name: string): unknown[] =>
    parts.flatMap((part) => part.rows.map((row) => row[name] ?? undefined));
  const find = (names: readonly string[]): string | undefined =>
    names.find((name) => columns.includes(name));
  return {
    place,
    columns,
    rowCount,
    column(names, position) {
      const name = find(names) ?? (position === undefined ? undefined : columns[position]);
      if (name !== undefined) return cells(name);
      throw new StageProblem(
        `${place} has no column '${names[0] ?? position}' (its columns: ${columns.join(', ')})`,
      );
    },
    find(...names) {
      const name = find(names);
      return name === undefined ? undefined : cells(name);
    },
  };
}

interface Part {
  readonly columns: readonly string[];
  readonly rows: readonly Readonly<Record<string, unknown>>[];
}

async function readPart(file: File, rowsBefore: number): Promise<Part> {
  const { buffer, byteOffset, byteLength } = file.bytes;
  const bytes = buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer;
  try {
    const metadata = parquetMetadata(bytes);
    const total = rowsBefore + Number(metadata.num_rows);
    if (!(total >= rowsBefore) || total > SPARK_TABLE_ROWS_MAX) {
      throw new StageProblem(`expected at most ${SPARK_TABLE_ROWS_MAX} rows, got ${total}`);
    }
    const schema = parquetSchema(metadata);
    checkChunks(metadata, schema);
    const columns = schema.children.map((child) => child.element.name);
    const rows = await parquetReadObjects({ file: bytes, metadata, compressors: LIMITED });
    if (rows.length !== Number(metadata.num_rows)) {
      throw new StageProblem(
        `expected ${metadata.num_rows} rows, as the file declares, got ${rows.length}`,
      );
    }
    return { columns, rows };
  } catch (error) {
    throw new StageProblem(`${file.name} is not a Parquet file: ${(error as Error).message}`);
  }
}

/** Every group of rows has each column of the schema, in its order. Where it is otherwise hyparquet
 * forgets columns that it has begun to read, and their errors come to nobody. */
function checkChunks({ row_groups: groups }: FileMetaData, schema: SchemaTree): void {
  const leaves = leavesOf(schema);
  for (const { columns } of groups) {
    const paths = columns.map((column) => column.meta_data?.path_in_schema.join('.') ?? '');
    if (paths.length !== leaves.length || paths.some((path, i) => path !== leaves[i])) {
      throw new StageProblem(`columns ${paths.join(', ')}: expected ${leaves.join(', ')}`);
    }
  }
}

function leavesOf({ children, path }: SchemaTree): string[] {
  return children.length === 0 ? [path.join('.')] : children.flatMap(leavesOf);
}

// A page says how long it becomes before it is unpacked.
const LIMITED: Compressors = Object.fromEntries(
  Object.entries(compressors).map(([codec, unpack]) => [
    codec,
    (input: Uint8Array, length: number): Uint8Array => {
      if (length < 0 || length > PARQUET_PAGE_BYTES_MAX) {
        throw new StageProblem(
          `expected pages of at most ${PARQUET_PAGE_BYTES_MAX} bytes, got ${length}`,
        );
      }
      return unpack(input, length);
    },
  ]),
);
