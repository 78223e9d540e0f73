// Writes the engine's access log lines to their file. Control plane, main thread: one per process.
// The engine samples and formats; this fetches the lines five times a second and appends them.
import { ACCESS_CODES_MAX, ACCESS_PROTOCOLS_MAX } from '../../../base/limits.js';
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
  /** Returns the lines that the engine holds; empty if there are none. */
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

/** A status that the table does not have, for native/stats/access_log.h. */
const UNKNOWN_STATUS = 0xffff;
const V1_PROTOCOLS: readonly number[] = [V1_PREDICT, V1_CLASSIFY, V1_REGRESS];

function columnOf(protocol: number): keyof Omit<ErrorRow, 'name'> {
  if (V1_PROTOCOLS.includes(protocol)) return 'v1Http';
  return protocol === V2_REST ? 'v2Http' : 'grpc';
}

/**
 * The wire status of each protocol for each error code, for the engine's lines: u16 at protocol *
 * ACCESS_CODES_MAX + code.
 */
export function wireStatuses(): Buffer {
  const statuses = new Uint16Array(ACCESS_PROTOCOLS_MAX * ACCESS_CODES_MAX).fill(UNKNOWN_STATUS);
  for (const [code, row] of Object.entries(ERRORS)) {
    for (let protocol = 0; protocol < ACCESS_PROTOCOLS_MAX; protocol += 1) {
      statuses[protocol * ACCESS_CODES_MAX + Number(code)] = row[columnOf(protocol)];
    }
  }
  return Buffer.from(statuses.buffer);
}

export class AccessLog {
  readonly #options: AccessLogOptions;
  readonly #timer: NodeJS.Timeout;
  readonly #onHangup: () => void;
  /** undefined = must be opened before the next write. */
  #sink: Sink | undefined;
  /** The write in progress; the engine buffers the lines meanwhile. */
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

  /** Opens the file and starts writing. Errors: InvalidArgument if it cannot be opened. */
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

  /**
   * Writes the lines that the engine holds now. Settles when they are written or the write failed;
   * never rejects.
   */
  async flush(): Promise<void> {
    await this.#writing;
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
    });
    await this.#writing;
  }

  /** Closes the file, which may have been moved, and reopens it by name. */
  async reopen(): Promise<void> {
    this.#reopenWanted = true;
    await this.flush();
  }

  /** Writes what is buffered and closes the file. */
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
      // Opens before fetching: lines that cannot be written stay in the engine, which bounds their
      // size.
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

  // Logged once until a write succeeds: a full disk must not also flood the log.
  #failed(error: unknown): void {
    if (this.#failing) return;
    this.#failing = true;
    const { path, logger } = this.#options;
    logger.error('cannot write the access log', { path, reason: reasonOf(error) });
  }
}
