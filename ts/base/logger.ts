// Writes one line per record to stderr, as text or JSON. Control plane, any thread. Accepts only
// small fields: never payloads, never tensor values. Cuts values at a limit and escapes control
// characters, so that nothing a client sends can forge a line.
import { writeSync } from 'node:fs';
import { LOG_BACKLOG_BYTES_MAX, LOG_VALUE_CHARS_MAX } from './limits.js';
import { logFileWriter } from './log-file.js';
import { visible, visibleJson } from './text.js';

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'off'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export const LOG_FORMATS = ['text', 'json'] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];

export type LogValue = string | number | bigint | boolean;
/** Undefined values are omitted. */
export type LogFields = Readonly<Record<string, LogValue | undefined>>;

export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** Returns whether a record of this level would be written. */
  enabled(level: LogLevel): boolean;
}

/** Enabled state of each level. */
export type LogSwitches = Readonly<Record<Exclude<LogLevel, 'off'>, boolean>>;

/** Levels that can change while loggers use them; all loggers of a thread may share one. */
export class LogLevels {
  switches: LogSwitches;

  constructor(level: LogLevel) {
    this.switches = levelSwitches(level);
  }
}

/** Enables the level and everything above it. */
export function levelSwitches(level: LogLevel): LogSwitches {
  const threshold = LOG_LEVELS.indexOf(level);
  const at = (one: LogLevel): boolean => LOG_LEVELS.indexOf(one) >= threshold;
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

export interface LoggerOptions {
  readonly level: LogLevel;
  /** Overrides `level` for each record. */
  readonly control?: LogLevels;
  readonly format: LogFormat;
  /** Writes one line including its final newline. Default: `file`, or stderr. */
  readonly write?: (line: string) => void;
  /** undefined: no log file. */
  readonly file?: string | undefined;
  /** Milliseconds since the epoch. Default: Date.now. */
  readonly now?: () => number;
}

/** Field names that every JSON record already has; a field with such a name gets a "_" suffix. */
const RESERVED = new Set(['time', 'level', 'message']);
const PLAIN_VALUE = /^[^\s"=\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+$/u;

/** Lines that stderr rejects are lost: a closed reader, a full disk. */
function writeLine(line: string): void {
  try {
    if (process.stderr.writableLength < LOG_BACKLOG_BYTES_MAX) process.stderr.write(line);
  } catch {
    // A failure here cannot be reported anywhere.
  }
}

/**
 * A `write` for the last lines of a process: writes directly to the descriptor, so that the line is
 * out on return. Any thread.
 */
export function writeLineNow(line: string): void {
  try {
    writeSync(2, line);
  } catch {
    // A failure here cannot be reported anywhere.
  }
}

/**
 * Keeps the process alive when the readers of its output close or a disk is full; output printed
 * then is lost. Call once, on the main thread: the output of other threads passes through it.
 */
export function surviveLostOutput(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
}

/** Errors: InvalidArgument: the log file cannot be opened. */
export function createLogger(options: LoggerOptions): Logger {
  const control = options.control ?? new LogLevels(options.level);
  const { file } = options;
  const write = options.write ?? (file === undefined ? writeLine : logFileWriter(file));
  const now = options.now ?? Date.now;
  const render = options.format === 'json' ? renderJson : renderText;
  const enabled = (level: LogLevel): boolean => level === 'off' || control.switches[level];
  const at =
    (level: LogLevel) =>
    (message: string, fields: LogFields = {}): void => {
      if (!enabled(level)) return;
      write(render(new Date(now()).toISOString(), level, message, fields));
    };
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    enabled,
  };
}

function cut(text: string): string {
  if (text.length <= LOG_VALUE_CHARS_MAX) return text;
  return `${text.slice(0, LOG_VALUE_CHARS_MAX)}...(${text.length} characters)`;
}

function textValue(value: LogValue): string {
  const text = cut(String(value));
  if (typeof value !== 'string' || PLAIN_VALUE.test(text)) return text;
  const quoted = text.replaceAll('\\', '\\\\').replaceAll('"', '\\"');
  return `"${visible(quoted)}"`;
}

function renderText(time: string, level: string, message: string, fields: LogFields): string {
  let line = `${time} ${level.toUpperCase().padEnd(5)} `;
  line += visible(cut(message));
  for (const [key, value] of Object.entries(fields)) {
    if (value !== undefined) line += ` ${key}=${textValue(value)}`;
  }
  return `${line}\n`;
}

function renderJson(time: string, level: string, message: string, fields: LogFields): string {
  const record: Record<string, string | number | boolean> = { time, level, message: cut(message) };
  for (const [key, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    const name = RESERVED.has(key) ? `${key}_` : key;
    record[name] = typeof value === 'string' ? cut(value) : jsonValue(value);
  }
  return `${visibleJson(record)}\n`;
}

/** Numbers without a JSON form (bigint, NaN, Infinity) become text. */
function jsonValue(value: number | bigint | boolean): number | string | boolean {
  if (typeof value === 'boolean' || Number.isFinite(value)) return value as number | boolean;
  return String(value);
}

/** Rate-limits a warning. */
export class RareWarning {
  #toldMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly everyMs: number) {}

  tell(warn: () => void): void {
    const now = performance.now();
    if (now - this.#toldMs < this.everyMs) return;
    this.#toldMs = now;
    warn();
  }
}
