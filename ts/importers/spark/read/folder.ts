// A stage of a Spark model as stored on disk: metadata, tables, nested stages. Importer's worker
// thread.
import { SPARK_METADATA_BYTES_MAX } from '../../../base/limits.js';
import type { ModelFiles as OpenFiles } from '../../plan/archive/index.js';
import { type Metadata, parseMetadata } from './metadata.js';
import { StageProblem } from './problem.js';
import { readTable, type Table } from './table.js';

/** The part of OpenFiles that a reader needs. */
export type ModelFiles = Pick<OpenFiles, 'names' | 'read' | 'size'>;

const NEWLINE = 10;

export class StageFolder {
  readonly metadata: Metadata;
  readonly #files: ModelFiles;
  readonly #prefix: string; // '' or with '/' at the end

  private constructor(files: ModelFiles, prefix: string, metadata: Metadata) {
    this.#files = files;
    this.#prefix = prefix;
    this.metadata = metadata;
  }

  /** `path`: '' is the model itself. Errors: StageProblem where no Spark stage is there. */
  static async open(files: ModelFiles, path: string): Promise<StageFolder> {
    const prefix = path === '' ? '' : `${path}/`;
    const here = path === '' ? 'the model' : path;
    const parts = partFiles(files, `${prefix}metadata/`, /^part-/);
    if (parts.length === 0) {
      if (files.names.includes(`${prefix}metadata`)) {
        throw new StageProblem(
          `${here}: metadata is a file, not a folder: saved without Spark's file writers ` +
            '(Spark Connect), which is not supported',
        );
      }
      throw new StageProblem(`${here} has no metadata/part-* file`);
    }
    for (const name of parts) {
      if (files.size(name) > SPARK_METADATA_BYTES_MAX) {
        throw new StageProblem(
          `${name}: expected at most ${SPARK_METADATA_BYTES_MAX} bytes, got ${files.size(name)}`,
        );
      }
      const text = utf8(await files.read(name), name);
      if (text.trim() !== '') {
        return new StageFolder(files, prefix, parseMetadata(text, name));
      }
    }
    throw new StageProblem(`${prefix}metadata contains only empty files`);
  }

  /** The same stage with other values of some parameters. */
  withParams(others: Readonly<Record<string, unknown>>): StageFolder {
    const params = this.metadata.params.with(others);
    return new StageFolder(this.#files, this.#prefix, { ...this.metadata, params });
  }

  /** The stage in the folder `name` of this one. */
  child(name: string): Promise<StageFolder> {
    return StageFolder.open(this.#files, this.#prefix + name);
  }

  /** Whether there is something in the folder `name`. */
  has(name: string): boolean {
    const prefix = `${this.#prefix}${name}/`;
    return this.#files.names.some((file) => file.startsWith(prefix));
  }

  /** The table in the folder `name`: of nearly all stages, 'data'. */
  async table(name = 'data'): Promise<Table> {
    const place = this.#prefix + name;
    const parts = partFiles(this.#files, `${place}/`, /^part-.*\.parquet$/);
    if (parts.length === 0) {
      throw new StageProblem(
        this.has(name) || this.#files.names.includes(place)
          ? `${place} has no part-*.parquet file`
          : `${place} is missing`,
      );
    }
    const files = [];
    for (const part of parts) files.push({ name: part, bytes: await this.#files.read(part) });
    return readTable(place, files);
  }

  /** Reads the lines that saveAsTextFile() wrote into the folder `name`, concatenated. */
  async bytes(name: string): Promise<Uint8Array> {
    const place = this.#prefix + name;
    const parts = partFiles(this.#files, `${place}/`, /^part-\d+$/);
    if (parts.length === 0) throw new StageProblem(`${place} has no part-* file`);
    const read = [];
    for (const part of parts) read.push(await this.#files.read(part));
    return Buffer.concat(read).filter((byte) => byte !== NEWLINE);
  }

  /** The folder of each stage of a pipeline, in order: stages/03_StringIndexer_12ab. Spark pads the
   * number with zeros to the width of the number of stages. */
  stageNames(): string[] {
    const uids = this.metadata.params.texts('stageUids');
    const folders = new Map<number, string>();
    const prefix = `${this.#prefix}stages/`;
    for (const file of this.#files.names) {
      if (!file.startsWith(prefix)) continue;
      const folder = file.slice(prefix.length).split('/', 1)[0] ?? '';
      const number = /^(\d{1,9})_/.exec(folder)?.[1];
      if (number === undefined) continue;
      const index = Number(number);
      if (uids[index] === folder.slice(number.length + 1)) folders.set(index, folder);
    }
    return uids.map((uid, index) => {
      const folder = folders.get(index);
      if (folder !== undefined) return `stages/${folder}`;
      throw new StageProblem(`${prefix} has no folder of stage ${index} '${uid}'`);
    });
  }
}

/** Files right under `prefix`; Hadoop's own (_SUCCESS, .crc) do not match. */
function partFiles(files: ModelFiles, prefix: string, pattern: RegExp): string[] {
  return files.names
    .filter((name) => name.startsWith(prefix) && !name.endsWith('.crc'))
    .filter((name) => pattern.test(name.slice(prefix.length)))
    .filter((name) => !name.slice(prefix.length).includes('/'))
    .sort();
}

function utf8(bytes: Uint8Array, name: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new StageProblem(`${name} is not UTF-8`);
  }
}
