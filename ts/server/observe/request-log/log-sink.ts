// One log: converts logged requests to records and writes them to its files. A write failure stops
// it for a while, with one line in the server's log; it never stops the server. Control plane, main
// thread.
import { reasonOf } from '../../../base/errors.js';
import { REQUEST_LOG_RETRY_MS } from '../../../base/limits.js';
import type { Logger } from '../../../base/logger.js';
import type { LoggedRequest } from '../../../base/generated/engine.js';
import { LogFiles, type LogFilesOptions } from './log-files.js';
import type { LoggedForm } from './prediction-log.js';

/** Converts a request to a record. */
export type FormOf = (request: LoggedRequest) => LoggedForm;

/** A request and its record. */
export interface Logged {
  readonly request: LoggedRequest;
  readonly form: FormOf;
}

export interface LogSinkOptions {
  readonly files: LogFilesOptions;
  readonly logger: Logger;
  readonly now?: () => number;
  readonly retryMs?: number;
}

/** Counts since the last call. */
export interface SinkCounts {
  readonly written: number;
  /** Their record could not be written. */
  readonly unwritten: number;
  /** They have no record form. */
  readonly formless: number;
}

const NOTHING: SinkCounts = { written: 0, unwritten: 0, formless: 0 };

export class LogSink {
  readonly #options: LogSinkOptions;
  readonly #files: LogFiles;
  readonly #now: () => number;
  /** When writing is retried; undefined: it is writing. */
  #retryAtMs: number | undefined;
  #isTold = false;
  #counts: SinkCounts = NOTHING;
  /** Models of which a request was omitted. */
  readonly #leftOut = new Set<string>();

  constructor(options: LogSinkOptions) {
    this.#options = options;
    this.#files = new LogFiles(options.files);
    this.#now = options.now ?? Date.now;
  }

  get isStopped(): boolean {
    return this.#isTold;
  }

  takeCounts(): SinkCounts {
    const counts = this.#counts;
    this.#counts = NOTHING;
    return counts;
  }

  /** Settles when they are written or the write failed; never rejects. One call at a time. */
  async log(requests: readonly Logged[]): Promise<void> {
    if (requests.length === 0) return;
    if (this.#retryAtMs !== undefined && this.#now() < this.#retryAtMs) {
      this.#count({ unwritten: requests.length });
      return;
    }
    const records = requests.flatMap((one) => this.#recordOf(one));
    let left = records.length;
    try {
      await this.#files.append(records, (count) => {
        left -= count;
        this.#count({ written: count });
      });
      if (records.length > 0) this.#works();
    } catch (error) {
      this.#count({ unwritten: left });
      this.#stop(error);
    }
  }

  /** The next record begins a new file. */
  endFile(): void {
    this.#files.end();
  }

  #recordOf({ request, form: formOf }: Logged): readonly Uint8Array[] {
    const form = formOf(request);
    if (form.kind === 'record') return [form.bytes];
    if (form.kind === 'none') return [];
    this.#count({ formless: 1 });
    const { model } = request;
    if (!this.#leftOut.has(model)) {
      this.#leftOut.add(model);
      const { logger, files } = this.#options;
      const fields = { log: files.prefix, model, reason: form.reason };
      logger.warn('a request was not logged: the log format cannot represent it', fields);
    }
    return [];
  }

  #count(more: Partial<SinkCounts>): void {
    const { written, unwritten, formless } = this.#counts;
    this.#counts = {
      written: written + (more.written ?? 0),
      unwritten: unwritten + (more.unwritten ?? 0),
      formless: formless + (more.formless ?? 0),
    };
  }

  #works(): void {
    this.#retryAtMs = undefined;
    if (!this.#isTold) return;
    this.#isTold = false;
    const { logger, files } = this.#options;
    logger.info('writing of the request log resumed', {
      log: files.prefix,
      file: this.#files.path,
    });
  }

  // Logged once until a write succeeds: a full disk must not also flood the log.
  #stop(error: unknown): void {
    const { logger, files, retryMs = REQUEST_LOG_RETRY_MS } = this.#options;
    this.#retryAtMs = this.#now() + retryMs;
    if (this.#isTold) return;
    this.#isTold = true;
    const fields = { log: files.prefix, reason: reasonOf(error), retryMs };
    logger.error('the request log is paused: it cannot be written', fields);
  }
}
