// Engine readings that a test defines.
import type { EngineStats, ModelStats } from '../../../ts/model/engine-api.js';
import type { EngineReadings } from '../../../ts/protocols/engine-readings.js';

/**
 * Statistics of one handle: all counts and times differ, so that none can be mistaken for another.
 */
export function statsOf(handle: number): ModelStats {
  const duration = (count: number): { count: number; ns: number } => ({ count, ns: count * 1000 });
  return {
    handle,
    requestsInline: 1,
    requestsQueued: 2,
    failures: 3,
    cancelled: 4,
    queueFull: 5,
    queueNs: 6,
    computeNs: 7,
    lastInferenceMs: 1_700_000_000_000 + handle,
    inferenceCount: 11,
    executionCount: 12,
    success: duration(21),
    fail: duration(22),
    queue: duration(23),
    computeInput: duration(24),
    computeInfer: duration(25),
    computeOutput: duration(26),
    batches: [
      {
        batchSize: 4,
        computeInput: duration(31),
        computeInfer: duration(32),
        computeOutput: duration(33),
      },
    ],
    rejected: 8,
    pending: 9,
    cacheHit: duration(41),
    cacheMiss: duration(42),
  };
}

export class FakeReadings implements EngineReadings {
  readonly asked: unknown[] = [];
  error: Error | undefined;
  /** Handles that the engine no longer knows. */
  gone: readonly number[] = [];
  /** The reasons why models' processes are down. */
  readonly outages = new Map<string, string>();

  outage(model: string, version: string): string {
    return this.outages.get(`${model}:${version}`) ?? '';
  }

  stats(handles: readonly number[]): Promise<EngineStats> {
    this.asked.push([...handles]);
    if (this.error !== undefined) return Promise.reject(this.error);
    const models = handles.filter((handle) => !this.gone.includes(handle)).map(statsOf);
    return Promise.resolve({
      models,
      tensorBytesCopied: 0,
      tensorBytesViewed: 0,
      bodiesOpen: 0,
      ticketsOpen: 0,
    });
  }

  metrics(kind: number): Promise<Buffer> {
    this.asked.push(kind);
    if (this.error !== undefined) return Promise.reject(this.error);
    return Promise.resolve(Buffer.from(`engine_text{kind="${kind}"} 1\n`));
  }
}
