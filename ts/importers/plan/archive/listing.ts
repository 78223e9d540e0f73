// The table of a model's files: while it is read (which names are taken, and how much may come),
// then as what importers read from. Importer's worker thread.
import { modelInvalid } from '../../../base/errors.js';
import {
  ARCHIVE_BYTES_MAX,
  ARCHIVE_RATIO_FROM_BYTES,
  ARCHIVE_RATIO_MAX,
  MODEL_FILE_BYTES_MAX,
  MODEL_FILE_DEPTH_MAX,
  MODEL_FILE_NAME_CHARS_MAX,
  MODEL_FILES_MAX,
} from '../../../base/limits.js';
import type { ModelFiles } from './index.js';
import { quoted } from './invalid.js';

export interface Listed<Entry> {
  readonly size: number;
  readonly entry: Entry;
}

/** Folders of a model that are part of it, even where all of its files lie in one of them. */
const NO_WRAPPER: ReadonlySet<string> = new Set(['metadata', 'stages', 'data', 'root']);
/** The folder that macOS archivers add. */
const ADDED_FOLDER = '__MACOSX';
const ADDED_FILE = '.DS_Store';

/** Adds up what an archive claims to hold. */
export class Listing<Entry> {
  readonly #path: string;
  readonly #files = new Map<string, Listed<Entry>>();
  /** Parent folders of the files; "a" cannot be a file if "a/b" is one. */
  readonly #folders = new Set<string>();
  #bytes = 0;
  #seen = 0;

  constructor(path: string) {
    this.#path = path;
  }

  /** A folder's entry: only its name is looked at. */
  addFolder(name: string): void {
    this.#count();
    this.#checked(name);
  }

  /**
   * A file's entry, with the size that its header declares; undefined for a file that does not
   * belong to the model. Errors: ModelInvalid, naming the file.
   */
  add(name: string, size: number, entry: Entry): string | undefined {
    this.#count();
    const segments = this.#checked(name);
    if (segments[0] === ADDED_FOLDER || segments.at(-1) === ADDED_FILE) return undefined;
    const full = segments.join('/');
    if (this.#files.has(full)) throw this.#bad(`${quoted(full)} occurs twice`);
    this.#addFolders(segments);
    if (this.#folders.has(full)) throw this.#bad(`${quoted(full)} is a file and a folder`);
    if (!Number.isSafeInteger(size) || size < 0 || size > MODEL_FILE_BYTES_MAX) {
      throw this.#bad(
        `${quoted(full)}: expected at most ${MODEL_FILE_BYTES_MAX} bytes, got ${size}`,
      );
    }
    this.#bytes += size;
    if (this.#bytes > ARCHIVE_BYTES_MAX) {
      throw this.#bad(`its files have more than ${ARCHIVE_BYTES_MAX} bytes in total`);
    }
    this.#files.set(full, { size, entry });
    return full;
  }

  /** Sorted, and without the one folder that all files lie in. Errors: ModelInvalid: no files. */
  finish(): ReadonlyMap<string, Listed<Entry>> {
    if (this.#files.size === 0) throw this.#bad('it has no files');
    const names = [...this.#files.keys()].sort();
    const cut = wrapperLength(names);
    return new Map(names.map((name) => [name.slice(cut), this.#files.get(name) as Listed<Entry>]));
  }

  #count(): void {
    this.#seen += 1;
    if (this.#seen > MODEL_FILES_MAX) throw this.#bad(`it has more than ${MODEL_FILES_MAX} files`);
  }

  #addFolders(segments: readonly string[]): void {
    let folder = '';
    for (const segment of segments.slice(0, -1)) {
      folder = folder === '' ? segment : `${folder}/${segment}`;
      if (this.#files.has(folder)) throw this.#bad(`${quoted(folder)} is a file and a folder`);
      this.#folders.add(folder);
    }
  }

  #checked(name: string): readonly string[] {
    const why = nameProblem(name);
    if (why !== undefined) throw this.#bad(`the name ${quoted(name)} ${why}`);
    return name.split('/').filter((segment) => segment !== '' && segment !== '.');
  }

  #bad(what: string): Error {
    return modelInvalid(this.#path, what);
  }
}

/** The files of a model, wherever their bytes come from. */
export class ListedFiles<Entry> implements ModelFiles {
  readonly names: readonly string[];
  readonly #path: string;
  readonly #files: ReadonlyMap<string, Listed<Entry>>;
  readonly #take: (file: Listed<Entry>) => Promise<Uint8Array>;
  readonly #letGo: () => void;

  /** `take` receives a file's bytes and owns them; its errors are reported with the file's name. */
  constructor(
    path: string,
    files: ReadonlyMap<string, Listed<Entry>>,
    take: (file: Listed<Entry>) => Promise<Uint8Array>,
    letGo: () => void = () => undefined,
  ) {
    this.names = [...files.keys()];
    this.#path = path;
    this.#files = files;
    this.#take = take;
    this.#letGo = letGo;
  }

  async read(name: string): Promise<Uint8Array> {
    const file = this.#file(name);
    try {
      return await this.#take(file);
    } catch (error) {
      throw modelInvalid(this.#path, `${quoted(name)}: ${(error as Error).message}`);
    }
  }

  size(name: string): number {
    return this.#file(name).size;
  }

  close(): Promise<void> {
    this.#letGo();
    return Promise.resolve();
  }

  #file(name: string): Listed<Entry> {
    const file = this.#files.get(name);
    if (file === undefined) throw modelInvalid(this.#path, `${quoted(name)} not found`);
    return file;
  }
}

function nameProblem(name: string): string | undefined {
  if (name.length > MODEL_FILE_NAME_CHARS_MAX) {
    return `has more than ${MODEL_FILE_NAME_CHARS_MAX} characters`;
  }
  if (name.includes('\0') || name.includes('\\'))
    return 'has characters that are not allowed in file names';
  if (name.startsWith('/') || /^[a-zA-Z]:/.test(name)) return 'is absolute';
  const segments = name.split('/');
  if (segments.includes('..')) return 'points outside the model';
  if (segments.length > MODEL_FILE_DEPTH_MAX)
    return `has more than ${MODEL_FILE_DEPTH_MAX} nested folders`;
  return undefined;
}

/** Characters of the folders that all names begin with. */
function wrapperLength(names: readonly string[]): number {
  const first = names[0] ?? '';
  let cut = 0;
  for (;;) {
    const end = first.indexOf('/', cut);
    if (end < 0 || NO_WRAPPER.has(first.slice(cut, end))) return cut;
    const prefix = first.slice(0, end + 1);
    if (!names.every((name) => name.startsWith(prefix))) return cut;
    cut = end + 1;
  }
}

/** Returns whether the decompressed size is out of proportion. */
export function isBomb(packedBytes: number, unpackedBytes: number): boolean {
  return (
    unpackedBytes > ARCHIVE_RATIO_FROM_BYTES && unpackedBytes > packedBytes * ARCHIVE_RATIO_MAX
  );
}
