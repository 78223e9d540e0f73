// The files of one log: the one that is written, and so many full ones. A file has whole records
// only, whatever a full disk leaves of a write. Control plane, main thread; one call at a time.
import { constants } from 'node:fs';
import { mkdir, open, readdir, unlink, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { openFolder, type OpenFolder } from '../../../base/own-file.js';

/** Requests have what clients send: the owner's alone. */
const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;
const NAMES_TRIED = 100;
const TIME = /^\d{8}T\d{9}Z$/;

/** What is written to. Tests put others in its place. */
export type OpenFile = (path: string, isNew: boolean) => Promise<LogFile>;
type LogFile = Pick<FileHandle, 'write' | 'truncate' | 'close'>;

export interface LogFilesOptions {
  /** Absolute: "<prefix>-20260102T030405678Z<suffix>". */
  readonly prefix: string;
  readonly suffix: string;
  /** A file is full before a record that would make it longer. */
  readonly bytesMax: number;
  /** Records that a file may have; undefined: any number. */
  readonly recordsMax?: number;
  /** Files that are kept, the one that is written included. */
  readonly filesMax: number;
  /** The folder is made where it is missing, for the owner alone. Default: it has to be there. */
  readonly makesFolder?: boolean;
  /** The folder has to be in this one, with links resolved; "" = anywhere. */
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
  open(path, isNew ? WRITING | constants.O_CREAT | constants.O_EXCL : WRITING, FILE_MODE);

/** The time in a file's name; names sort as their times do. */
export function fileTime(ms: number): string {
  return new Date(ms).toISOString().replace(/[-:.]/g, '');
}

/** A record that is there in part makes the whole file unreadable. Never rejects: what is to be
 * said is why the write failed. */
async function cutBack({ path, bytes }: Current, file: LogFile): Promise<void> {
  await file.truncate(bytes).catch(() => undefined);
  await file.close().catch(() => undefined);
  if (bytes === 0) await unlink(path).catch(() => undefined);
}

export class LogFiles {
  readonly #options: Required<LogFilesOptions>;
  /** undefined: to be opened before the next record. */
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

  /** The file that is written; undefined before the first record. */
  get path(): string | undefined {
    return this.#current?.path;
  }

  /** Appends the records, in new files where one is full. Rejects with the system's error; then the
   * records that `onWritten` was not told of are in no file. */
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

  /** The file is open for one write only: there may be a log for each of many models. */
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
      // It was moved away.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return this.#begin();
      this.#current = undefined;
      throw error;
    }
  }

  async #begin(): Promise<{ current: Current; file: LogFile }> {
    const { prefix, makesFolder } = this.#options;
    if (makesFolder) await mkdir(dirname(prefix), { recursive: true, mode: FOLDER_MODE });
    return this.#inFolder((at) => this.#beginIn(at));
  }

  /** The folder is looked up for each file: links to it are resolved, and none is followed that
   * comes in the way meanwhile. */
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

  /** Never rejects: a file too many is no reason to log nothing. */
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
      // Tried again with the next file.
    }
  }
}
