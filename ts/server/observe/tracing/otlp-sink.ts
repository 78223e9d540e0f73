// Sends traces to an OpenTelemetry collector in small batches and drops those it does not accept:
// an unreachable collector costs a bounded buffer and one warning a minute. Control plane, main
// thread.
import type { OtlpSettings } from '../../../config/observation/tracing.js';
import { TRACE_FLUSH_MS, TRACE_WARN_EVERY_MS } from '../../../base/limits.js';
import { RareWarning, type Logger } from '../../../base/logger.js';
import type { TraceRecord } from '../../../base/generated/engine.js';
import { type TraceSink } from './sink.js';

/** Maximum spans of a request: itself, its four parts, its batch. */
const SPANS_OF_TRACE = 6;

/** Sends the spans of some traces. Rejects if the collector did not accept them. */
export interface SpanExport {
  send(records: readonly TraceRecord[]): Promise<void>;
  shutdown(): Promise<void>;
}

export interface OtlpSinkOptions {
  readonly settings: OtlpSettings;
  readonly spans: SpanExport;
  readonly logger: Logger;
}

export class OtlpSink implements TraceSink {
  readonly #options: OtlpSinkOptions;
  readonly #tracesMax: number;
  readonly #warning = new RareWarning(TRACE_WARN_EVERY_MS);
  #waiting: TraceRecord[] = [];
  #timer: NodeJS.Timeout | undefined;
  /** The message being sent. */
  #sending: Promise<void> | undefined;
  #lost = 0;
  #closed = false;

  constructor(options: OtlpSinkOptions) {
    this.#options = options;
    this.#tracesMax = Math.max(1, Math.floor(options.settings.spansMax / SPANS_OF_TRACE));
  }

  write(records: readonly TraceRecord[]): void {
    const room = this.#options.settings.waitingMax - this.#waiting.length;
    if (records.length > room)
      this.#lose(records.length - Math.max(room, 0), 'too many are queued');
    this.#waiting.push(...records.slice(0, Math.max(room, 0)));
    if (this.#waiting.length >= this.#tracesMax) this.#send();
    else this.#sendSoon();
  }

  takeLost(): number {
    const lost = this.#lost;
    this.#lost = 0;
    return lost;
  }

  async close(): Promise<void> {
    const { spans } = this.#options;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, TRACE_FLUSH_MS);
    });
    await Promise.race([this.#sendAll(), late]).finally(() => clearTimeout(timer));
    this.#closed = true;
    clearTimeout(this.#timer);
    if (this.#waiting.length > 0) this.#lose(this.#waiting.length, 'the server is stopping');
    this.#waiting = [];
    void spans.shutdown().catch(() => undefined);
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0 || this.#sending !== undefined) {
      this.#send();
      await this.#sending;
    }
  }

  #sendSoon(): void {
    if (this.#timer !== undefined || this.#waiting.length === 0) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#send();
    }, this.#options.settings.delayMs).unref();
  }

  #send(): void {
    if (this.#sending !== undefined || this.#waiting.length === 0) return;
    const records = this.#waiting.splice(0, this.#tracesMax);
    this.#sending = this.#options.spans
      .send(records)
      .catch((error: unknown) => this.#lose(records.length, shortReason(error)))
      .finally(() => {
        this.#sending = undefined;
        if (this.#closed) return;
        if (this.#waiting.length >= this.#tracesMax) this.#send();
        else this.#sendSoon();
      });
  }

  #lose(traces: number, reason: string): void {
    this.#lost += traces;
    const { settings, logger } = this.#options;
    this.#warning.tell(() => {
      logger.warn('traces are dropped: the collector does not accept them', {
        url: settings.url,
        reason,
        traces,
      });
    });
  }
}

// The reason of a refused connection is in its cause, or in its code.
function shortReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code } = error as NodeJS.ErrnoException;
  const text = error.message === '' ? error.name : error.message;
  return code === undefined || text.includes(String(code)) ? text : `${text} (${code})`;
}
