// The engine's counters, for documents: model statistics and the metrics text. Control plane; the
// thread whose link it reads.
import type { EngineStats } from '../model/engine-api.js';
import type { EngineLink } from '../engine/link.js';
import { promised } from '../engine/promised.js';

/** The engine's interface for documents. */
export interface EngineReadings {
  /** Statistics of the models with these handles. */
  stats(handles: readonly number[]): Promise<EngineStats>;
  /** Prometheus text: TRITON_METRICS or TENSORFLOW_METRICS of ts/engine/link.ts. */
  metrics(kind: number): Promise<Buffer>;
  /** Why a loaded version cannot run now: its process is down. "" if it can. */
  outage(model: string, version: string): string;
}

export class LinkReadings implements EngineReadings {
  readonly #link: EngineLink;

  constructor(link: EngineLink) {
    this.#link = link;
  }

  async stats(handles: readonly number[]): Promise<EngineStats> {
    const bytes = this.#link.read((native) => native.stats(Uint32Array.from(handles)));
    // Loaded when first used: listeners that are never asked do without it.
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
