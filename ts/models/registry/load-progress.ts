// Reports that a model is still loading: its name, size, stage and elapsed time, in the log or on a
// terminal line. Quick loads are not reported. Control plane, main thread.
import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import {
  LOAD_SIZE_ENTRIES_MAX,
  LOAD_TOLD_AFTER_MS,
  LOAD_TOLD_EVERY_MS_MAX,
} from '../../base/limits.js';
import type { LogFields, Logger } from '../../base/logger.js';
import type { Clock } from './clock.js';
import type { LoadLine, ShownLoad } from './load-line.js';

export type LoadStage = 'importing' | 'loading' | 'warming up';

/** One load, from construction until end(). */
export class LoadProgress {
  stage: LoadStage;
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #fields: LogFields;
  readonly #path: string;
  readonly #beganMs: number;
  #waitMs = LOAD_TOLD_AFTER_MS;
  #megabytes: number | undefined;
  #ended = false;
  #cancel: () => void;

  /** `line`: shows progress there instead of in the log. */
  constructor(
    {
      logger,
      clock,
      line,
    }: { readonly logger: Logger; readonly clock: Clock; readonly line?: LoadLine | undefined },
    fields: LogFields,
    { path, stage }: { readonly path: string; readonly stage: LoadStage },
  ) {
    this.#logger = logger;
    this.#clock = clock;
    this.#fields = fields;
    this.#path = path;
    this.stage = stage;
    this.#beganMs = clock.nowMs();
    this.#cancel =
      line === undefined
        ? clock.after(this.#waitMs, () => void this.#tell())
        : line.add(this.#shown());
  }

  #shown(): ShownLoad {
    const text = (name: string): string => String(this.#fields[name] ?? '');
    const stage = (): LoadStage => this.stage;
    return {
      model: text('model'),
      version: text('version'),
      get stage() {
        return stage();
      },
      bytes: () => modelBytes(this.#path).catch(() => undefined),
    };
  }

  end(): void {
    this.#ended = true;
    this.#cancel();
  }

  /** The interval doubles after each report, up to a maximum. */
  async #tell(): Promise<void> {
    this.#megabytes ??= await modelBytes(this.#path).then(
      (bytes) => Math.ceil(bytes / 1e6),
      () => undefined,
    );
    if (this.#ended) return;
    const seconds = Math.round((this.#clock.nowMs() - this.#beganMs) / 1000);
    const { stage } = this;
    this.#logger.info('loading model', { ...this.#fields, stage, mb: this.#megabytes, seconds });
    this.#cancel = this.#clock.after(this.#waitMs, () => void this.#tell());
    this.#waitMs = Math.min(this.#waitMs * 2, LOAD_TOLD_EVERY_MS_MAX);
  }
}

/**
 * Size of a model: of all files in a folder, or of a file plus the files beside it whose names
 * begin with its name, as external weights are named. Errors: the file system's.
 */
export async function modelBytes(path: string): Promise<number> {
  const own = await stat(path);
  const folder = own.isDirectory() ? path : dirname(path);
  const stem = own.isDirectory() ? '' : basename(path, extname(path));
  const names = await readdir(folder, { recursive: own.isDirectory() });
  const counted = names.filter((name) => name.startsWith(stem)).slice(0, LOAD_SIZE_ENTRIES_MAX);
  const sizes = await Promise.all(
    counted.map(async (name) => {
      const found = await stat(join(folder, name));
      return found.isFile() ? found.size : 0;
    }),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
