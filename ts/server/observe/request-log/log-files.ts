// The files of one log: the one being written, and a limited number of full ones. A file has whole
// records only, even if a full disk truncates a write. Control plane, main thread; one call at a
// time.
import { constants } from 'node:fs';
import { mkdir, open, readdir, unlink, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import {
  openFolder,
  type OpenFolder,
  OWN_FILE_MODE,
  OWN_FOLDER_MODE,
} from '../../../base/own-file.js';

/** Requests contain client data, so only the owner may read them. */
const NAMES_TRIED = 100;
const TIME = /^\d{8}T\d{9}Z$/;

/** Opens the file to write to. Tests replace it. */
export type OpenFile = (path: string, isNew: boolean) => Promise<LogFile>;
type LogFile = Pick<FileHandle, 'write' | 'truncate' | 'close'>;

export interface LogFilesOptions {
  /** Absolute: "<prefix>-20260102T030405678Z<suffix>". */
  readonly prefix: string;
  readonly suffix: string;
  /** A new file begins before a record that would exceed this size. */
  readonly bytesMax: number;
  /** Maximum records per file; undefined: no limit. */
  readonly recordsMax?: number;
  /** Number of files kept, including the one being written. */
  readonly filesMax: number;
  /** Creates a missing folder, for the owner alone. Default: the folder must exist. */
  readonly makesFolder?: boolean;
  /** The folder must be inside this one, with links resolved; "" = anywhere. */
  readonly within?: string;
  readonly now?: () => number;
  readonly openFile?: OpenFile;
}

interface Current {
  readonly path: string;
  bytes: number;
  records: number;
}

const WRITING = constants.O_WRONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

const openLogFile: OpenFile = (path, isNew) =>
  open(path, isNew ? WRITING | constants.O_CREAT | constants.O_EXCL : WRITING, OWN_FILE_MODE);

/** The time in a file's name; names sort chronologically. */
export function fileTime(ms: number): string {
  return new Date(ms).toISOString().replace(/[-:.]/g, '');
}

/**
 * Removes a partially written record, which would make the whole file unreadable. Never rejects:
 * the caller reports why the write failed.
 */
async function cutBack({ path, bytes }: Current, file: LogFile): Promise<void> {
  await file.truncate(bytes).catch(() => undefined);
  await file.close().catch(() => undefined);
  if (bytes === 0) await unlink(path).catch(() => undefined);
}

export class LogFiles {
  readonly #options: Required<LogFilesOptions>;
  /** undefined: must be opened before the next record. */
  #current: Current | undefined;

  constructor(options: LogFilesOptions) {
    this.#options = {
      now: Date.now,
      openFile: openLogFile,
      recordsMax: Number.POSITIVE_INFINITY,
      makesFolder: false,
      within: '',
      ...options,
    };
  }

  /** The file being written; undefined before the first record. */
  get path(): string | undefined {
    return this.#current?.path;
  }

  /**
   * Appends the records, starting new files when one is full. Rejects with the system's error;
   * records not yet reported to `onWritten` are then in no file.
   */
  async append(
    records: readonly Uint8Array[],
    onWritten: (records: number) => void,
  ): Promise<void> {
    const { bytesMax, recordsMax } = this.#options;
    let rest = records;
    while (rest.length > 0) {
      const { bytes: written, records: before } = this.#current ?? { bytes: 0, records: 0 };
      let bytes = 0;
      let count = 0;
      for (const record of rest) {
        if (written + bytes > 0 && written + bytes + record.length > bytesMax) break;
        if (before + count === recordsMax) break;
        bytes += record.length;
        count += 1;
      }
      if (count === 0) {
        this.end();
        continue;
      }
      await this.#write(Buffer.concat(rest.slice(0, count)), count);
      onWritten(count);
      rest = rest.slice(count);
    }
  }

  /** The next record begins a new file. */
  end(): void {
    this.#current = undefined;
  }

  /** The file is open only during a write: each of many models may have its own log. */
  async #write(bytes: Buffer, records: number): Promise<void> {
    const { current, file } = await this.#open();
    try {
      for (let done = 0; done < bytes.length; ) {
        const at = current.bytes + done;
        const { bytesWritten } = await file.write(bytes, done, bytes.length - done, at);
        if (bytesWritten === 0) throw new Error('nothing could be written');
        done += bytesWritten;
      }
      await file.close();
      current.bytes += bytes.length;
      current.records += records;
    } catch (error) {
      this.#current = undefined;
      await cutBack(current, file);
      throw error;
    }
  }

  async #open(): Promise<{ current: Current; file: LogFile }> {
    const current = this.#current;
    if (current === undefined) return this.#begin();
    try {
      const file = await this.#inFolder((at) =>
        this.#options.openFile(at(basename(current.path)), false),
      );
      return { current, file };
    } catch (error) {
      // The file was moved away.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return this.#begin();
      this.#current = undefined;
      throw error;
    }
  }

  async #begin(): Promise<{ current: Current; file: LogFile }> {
    const { prefix, makesFolder } = this.#options;
    if (makesFolder) await mkdir(dirname(prefix), { recursive: true, mode: OWN_FOLDER_MODE });
    return this.#inFolder((at) => this.#beginIn(at));
  }

  /**
   * The folder is resolved for each file: its links are followed once, and a link put in place
   * meanwhile is not.
   */
  async #inFolder<T>(use: (at: OpenFolder['at']) => Promise<T>): Promise<T> {
    const { prefix, within } = this.#options;
    const folder = await openFolder(dirname(prefix), within === '' ? undefined : within);
    try {
      return await use(folder.at);
    } finally {
      await folder.close();
    }
  }

  async #beginIn(at: OpenFolder['at']): Promise<{ current: Current; file: LogFile }> {
    const { prefix, suffix, now, openFile } = this.#options;
    const from = now();
    for (let tried = 0; ; tried += 1) {
      const path = `${prefix}-${fileTime(from + tried)}${suffix}`;
      try {
        const file = await openFile(at(basename(path)), true);
        await this.#removeOldest(path);
        this.#current = { path, bytes: 0, records: 0 };
        return { current: this.#current, file };
      } catch (error) {
        const taken = (error as NodeJS.ErrnoException).code === 'EEXIST';
        if (!taken || tried === NAMES_TRIED) throw error;
      }
    }
  }

  /** Never rejects: a surplus file is no reason to stop logging. */
  async #removeOldest(current: string): Promise<void> {
    const { prefix, suffix, filesMax } = this.#options;
    const folder = dirname(prefix);
    const start = `${basename(prefix)}-`;
    try {
      const names = (await readdir(folder)).filter((name) => {
        if (!name.startsWith(start) || !name.endsWith(suffix)) return false;
        return TIME.test(name.slice(start.length, name.length - suffix.length));
      });
      const others = names.sort().filter((name) => join(folder, name) !== current);
      for (const name of others.slice(0, Math.max(0, others.length + 1 - filesMax))) {
        await unlink(join(folder, name));
      }
    } catch {
      // Retried with the next file.
    }
  }
}
