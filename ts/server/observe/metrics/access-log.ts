// Brings the engine's access log lines to their file. Control plane, main thread: one per process.
// The engine samples and formats; this takes what is there five times a second and appends it.
import type { FileHandle } from 'node:fs/promises';
import { ERRORS, ErrorCode, ServalError, type ErrorRow, reasonOf } from '../../../base/errors.js';
import type { Logger } from '../../../base/logger.js';
import { openOwn } from '../../../base/own-file.js';
import { V1_CLASSIFY, V1_PREDICT, V1_REGRESS, V2_REST } from '../../../model/request-kinds.js';

const TAKE_EVERY_MS = 200;

/** The log's sink; rejects when a write fails. */
interface Sink {
  write(lines: Buffer): Promise<void>;
  close(): Promise<void>;
}

export interface AccessLogOptions {
  /** "-" = stderr. */
  readonly path: string;
  /** Lines that the engine holds; empty when there are none. */
  readonly take: () => Buffer;
  readonly logger: Logger;
}

const stderrSink: Sink = {
  write: (lines) =>
    new Promise((resolve, reject) => {
      process.stderr.write(lines, (error) => (error ? reject(error) : resolve()));
    }),
  close: () => Promise.resolve(),
};

function fileSink(file: FileHandle): Sink {
  return { write: (lines) => file.appendFile(lines), close: () => file.close() };
}

async function openSink(path: string): Promise<Sink> {
  return path === '-' ? stderrSink : fileSink(await openOwn(path, 'append'));
}

/** Of native/stats/access_log.h, as the three below. */
const PROTOCOLS_MAX = 16;
const CODES_MAX = 32;
const UNKNOWN_STATUS = 0xffff;
const V1_PROTOCOLS: readonly number[] = [V1_PREDICT, V1_CLASSIFY, V1_REGRESS];

function columnOf(protocol: number): keyof Omit<ErrorRow, 'name'> {
  if (V1_PROTOCOLS.includes(protocol)) return 'v1Http';
  return protocol === V2_REST ? 'v2Http' : 'grpc';
}

/** What each protocol answers for each code, as the engine's lines say it: u16 at
 * protocol * CODES_MAX + code. */
export function wireStatuses(): Buffer {
  const statuses = new Uint16Array(PROTOCOLS_MAX * CODES_MAX).fill(UNKNOWN_STATUS);
  for (const [code, row] of Object.entries(ERRORS)) {
    for (let protocol = 0; protocol < PROTOCOLS_MAX; protocol += 1) {
      statuses[protocol * CODES_MAX + Number(code)] = row[columnOf(protocol)];
    }
  }
  return Buffer.from(statuses.buffer);
}

export class AccessLog {
  readonly #options: AccessLogOptions;
  readonly #timer: NodeJS.Timeout;
  readonly #onHangup: () => void;
  /** undefined = to be opened before the next write. */
  #sink: Sink | undefined;
  /** The one write at a time; the engine keeps the lines meanwhile. */
  #writing: Promise<void> | undefined;
  #reopenWanted = false;
  #failing = false;

  private constructor(options: AccessLogOptions, sink: Sink) {
    this.#options = options;
    this.#sink = sink;
    this.#timer = setInterval(() => {
      if (this.#writing === undefined) void this.flush();
    }, TAKE_EVERY_MS).unref();
    this.#onHangup = () => void this.reopen();
    process.on('SIGHUP', this.#onHangup);
  }

  /** Opens the file and begins. Errors: InvalidArgument when it cannot be opened. */
  static async start(options: AccessLogOptions): Promise<AccessLog> {
    try {
      return new AccessLog(options, await openSink(options.path));
    } catch (error) {
      throw new ServalError(
        ErrorCode.InvalidArgument,
        `cannot open the access log ${options.path}: ${reasonOf(error)}`,
      );
    }
  }

  /** Writes what the engine holds now. Settles when that is written, or could not be; never
   * rejects. */
  async flush(): Promise<void> {
    await this.#writing;
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
    });
    await this.#writing;
  }

  /** Lets go of the file, which may have been moved away, and opens its name anew. */
  async reopen(): Promise<void> {
    this.#reopenWanted = true;
    await this.flush();
  }

  /** Writes what is left and closes the file. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    process.removeListener('SIGHUP', this.#onHangup);
    await this.flush();
    await this.#closeSink();
  }

  async #write(): Promise<void> {
    if (this.#reopenWanted) await this.#closeSink();
    this.#reopenWanted = false;
    try {
      // Opened first: what cannot be written stays with the engine, which keeps it within a limit.
      this.#sink ??= await openSink(this.#options.path);
      const lines = this.#options.take();
      if (lines.length === 0) return;
      await this.#sink.write(lines);
      this.#failing = false;
    } catch (error) {
      this.#failed(error);
    }
  }

  async #closeSink(): Promise<void> {
    const sink = this.#sink;
    this.#sink = undefined;
    await sink?.close().catch((error: unknown) => this.#failed(error));
  }

  // Once until a write succeeds: a full disk must not fill the log as well.
  #failed(error: unknown): void {
    if (this.#failing) return;
    this.#failing = true;
    const { path, logger } = this.#options;
    logger.error('cannot write the access log', { path, reason: reasonOf(error) });
  }
}
