// The engine's control calls as promises over tickets. Control plane; the thread that made it.
import type {
  EngineControl,
  EngineStats,
  LoadedModel,
  ModelRoute,
  ModelSpec,
  SharedRegion,
  SharedRegions,
} from '../model/engine-api.js';
import { SHARED_REGIONS_MAX } from '../limits.js';
import { readModelInfo, readStats, writeModelSpec, writeRoutes } from './flat.js';
import { openLink, type EngineOptions } from './open-link.js';
import type { EngineLink } from './link.js';
import { promised, PromiseTarget } from './promised.js';
import type { MessageProtocol } from '../model/request-kinds.js';

/** This thread's part of the engine. */
export interface Engine {
  readonly link: EngineLink;
  readonly control: EngineControl;
  readonly regions: SharedRegions;
  close(): void;
}

class NativeControl implements EngineControl {
  constructor(private readonly link: EngineLink) {}

  // async: what the writer refuses becomes a rejection too.
  async load(spec: ModelSpec): Promise<LoadedModel> {
    const bytes = writeModelSpec(spec);
    return promised(this.link, (native) => native.load(bytes), readModelInfo);
  }

  unload(handle: number): Promise<void> {
    return promised(
      this.link,
      (native) => native.unload(handle),
      () => undefined,
    );
  }

  publishRoutes(
    epoch: number,
    models: readonly ModelRoute[],
    removed: readonly string[] = [],
  ): void {
    const table = writeRoutes(epoch, models, removed);
    this.link.run((native) => native.publishRoutes(table));
  }

  async warmUp(
    handle: number,
    protocol: MessageProtocol,
    message: Uint8Array,
    signal?: AbortSignal,
  ): Promise<Uint8Array> {
    const target = new PromiseTarget<Uint8Array>((bytes) => bytes);
    this.link.ask((native) => native.warmUp(handle, protocol, message), target);
    const end = (): void => this.link.cancel(target);
    if (signal?.aborted === true) end();
    signal?.addEventListener('abort', end);
    return target.promise.finally(() => signal?.removeEventListener('abort', end));
  }

  stats(handles: readonly number[] = []): EngineStats {
    return readStats(this.link.read((native) => native.stats(Uint32Array.from(handles))));
  }
}

class NativeRegions implements SharedRegions {
  constructor(private readonly link: EngineLink) {}

  register({ name, key, offset, byte_size: bytes }: SharedRegion): void {
    const [named, keyed] = [Buffer.from(name), Buffer.from(key)];
    this.link.run((native) =>
      native.registerRegion(named, keyed, offset, bytes, SHARED_REGIONS_MAX),
    );
  }

  unregister(name: string): void {
    this.link.run((native) => native.unregisterRegion(Buffer.from(name)));
  }

  list(name: string): readonly SharedRegion[] {
    const text = this.link.read((native) => native.regions(Buffer.from(name)));
    return JSON.parse(text.toString('utf8')) as readonly SharedRegion[];
  }
}

/** Attaches this thread to the process's engine (made by the first thread that attaches).
 * Throws ServalError(RuntimeUnavailable) when the addon cannot be loaded. */
export function createEngine(options: EngineOptions): Promise<Engine> {
  const link = openLink(options);
  return Promise.resolve({
    link,
    control: new NativeControl(link),
    regions: new NativeRegions(link),
    close: () => link.detach(),
  });
}

export type { EngineOptions };
