// The engine's part of the request log, as ts/server/observe/request-log asks for it. Control
// plane; the link's thread.
import type { RequestLogBatch, RequestLogRate } from '../base/generated/engine.js';
import { readLogBatch, writeLogRates } from './flat.js';
import type { EngineLink } from './link.js';
import { promised } from './promised.js';

/** Outcome of the requests that were taken, and the number of logs that are stopped now. */
export interface LogCounts {
  readonly written: number;
  readonly unwritten: number;
  readonly formless: number;
  readonly stopped: number;
}

export class LinkRequestLog {
  constructor(private readonly link: EngineLink) {}

  /**
   * Returns requests logged and not taken yet, or a part of them. Errors: MemoryFull; QueueFull.
   */
  take({ written, unwritten, formless, stopped }: LogCounts): Promise<RequestLogBatch> {
    return promised(
      this.link,
      (native) => native.takeRequestLog(written, unwritten, formless, stopped),
      readLogBatch,
    );
  }

  setRates(rates: readonly RequestLogRate[]): void {
    const bytes = writeLogRates(rates);
    this.link.run((native) => native.setRequestLog(bytes));
  }
}
