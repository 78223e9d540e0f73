// What the engine counted, for documents: statistics of models and the text of metrics. Control
// plane; the thread whose link it reads.
import type { EngineStats } from '../model/engine-api.js';
import type { EngineLink } from '../engine/link.js';
import { promised } from '../engine/promised.js';

/** The engine as documents use it. */
export interface EngineReadings {
  /** Statistics of the models with these handles. */
  stats(handles: readonly number[]): Promise<EngineStats>;
  /** Prometheus text: TRITON_METRICS or TENSORFLOW_METRICS of ts/engine/link.ts. */
  metrics(kind: number): Promise<Buffer>;
  /** Why a version that is loaded cannot be run now: its process is down. "" where it can. */
  outage(model: string, version: string): string;
}

export class LinkReadings implements EngineReadings {
  readonly #link: EngineLink;

  constructor(link: EngineLink) {
    this.#link = link;
  }

  async stats(handles: readonly number[]): Promise<EngineStats> {
    const bytes = this.#link.read((native) => native.stats(Uint32Array.from(handles)));
    // Loaded when first asked for: a listener that is never asked does without it.
    const { readStats } = await import('../engine/flat.js');
    return readStats(bytes);
  }

  metrics(kind: number): Promise<Buffer> {
    return promised(
      this.#link,
      (native) => native.metrics(kind),
      (text) => text,
    );
  }

  outage(model: string, version: string): string {
    const [named, numbered] = [Buffer.from(model), Buffer.from(version)];
    return this.#link.read((native) => native.isolatedOutage(named, numbered)).toString('utf8');
  }
}
