// The last line of a terminal, rewritten in place: other output printed meanwhile goes above it.
// Also counts the bytes that a process has read from files. Control plane, main thread.
import { readFileSync } from 'node:fs';
import type { LineTerminal } from '../../models/registry/load-line.js';

/** Moves to the beginning of the line and clears it. */
const CLEAR = '\r\u001b[2K';
const COLUMNS = 80;

/** The part of a stream that the line uses. */
export interface LineStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write: NodeJS.WriteStream['write'];
}

export class TerminalLine implements LineTerminal {
  readonly #at: LineStream;
  readonly #watched: readonly LineStream[];
  readonly #writes = new Map<LineStream, LineStream['write']>();
  #stands = false;
  readonly #onExit = (): void => this.erase();

  /** Draws on `at`; `others` are streams that may write to the same terminal. */
  constructor(at: LineStream, others: readonly LineStream[]) {
    this.#at = at;
    this.#watched = [at, ...others.filter((one) => one.isTTY === true)];
  }

  get columns(): number {
    return this.#at.columns || COLUMNS;
  }

  draw(text: string): void {
    if (this.#writes.size === 0) this.#watch();
    this.#stands = true;
    this.#print(CLEAR + text);
  }

  erase(): void {
    this.#clear();
    for (const [stream, write] of this.#writes) stream.write = write;
    this.#writes.clear();
    process.off('exit', this.#onExit);
  }

  /** Bypasses the write hook. */
  #print(text: string): void {
    (this.#writes.get(this.#at) ?? this.#at.write).call(this.#at, text);
  }

  #clear(): void {
    if (!this.#stands) return;
    this.#stands = false;
    this.#print(CLEAR);
  }

  #watch(): void {
    process.on('exit', this.#onExit);
    for (const stream of this.#watched) {
      const write = stream.write;
      this.#writes.set(stream, write);
      stream.write = ((...args: Parameters<typeof write>): boolean => {
        this.#clear();
        return write.apply(stream, args);
      }) as typeof write;
    }
  }
}

/**
 * Bytes that this process has read by system calls, plus pages of files that it has mapped; 0 if
 * the system does not report them. Source: proc(5), /proc/pid/io and /proc/pid/status.
 */
export function bytesReadByProcess(): number {
  try {
    const [, read = '0'] = /^rchar: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8')) ?? [];
    const status = readFileSync('/proc/self/status', 'utf8');
    const [, mapped = '0'] = /^RssFile:\s+(\d+) kB$/m.exec(status) ?? [];
    return Number(read) + Number(mapped) * 1024;
  } catch {
    return 0;
  }
}
