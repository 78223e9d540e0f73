// What the engine counted, for documents: statistics of models and the text of metrics. Control
// plane; the thread whose port it reads.
import type { EngineStats } from '../model/engine-api.js';
import type { EnginePort } from '../native/port.js';
import { promised } from '../native/promised.js';

/** The engine as documents use it. */
export interface EngineReadings {
  /** Statistics of the models with these handles. */
  stats(handles: readonly number[]): Promise<EngineStats>;
  /** Prometheus text: TRITON_METRICS or TENSORFLOW_METRICS of ts/native/port.ts. */
  metrics(kind: number): Promise<Buffer>;
}

export class PortReadings implements EngineReadings {
  readonly #port: EnginePort;

  constructor(port: EnginePort) {
    this.#port = port;
  }

  async stats(handles: readonly number[]): Promise<EngineStats> {
    const bytes = this.#port.read((native) => native.stats(Uint32Array.from(handles)));
    // Loaded when first asked for: a listener that is never asked does without it.
    const { readStats } = await import('../native/flat.js');
    return readStats(bytes);
  }

  metrics(kind: number): Promise<Buffer> {
    return promised(
      this.#port,
      (native) => native.metrics(kind),
      (text) => text,
    );
  }
}
