// The engine's control calls as promises over tickets. Control plane; the thread that made it.
import { rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import type {
  Caller,
  CallerControl,
  EngineControl,
  EngineStats,
  LoadedModel,
  ModelRoute,
  ModelSpec,
  PlaceControl,
  PlaceSpec,
  CudaRegion,
  SharedRegion,
  SharedRegions,
} from '../model/engine-api.js';
import type { ServalError } from '../base/errors.js';
import { SHARED_REGIONS_MAX } from '../base/limits.js';
import { readModelInfo, readStats, writeCallers, writeModelSpec, writeRoutes } from './flat.js';
import type { NativeBinding } from './binding.js';
import { Isolation, withLibraries } from './isolated.js';
import { openLink, type EngineOptions } from './open-link.js';
import type { EngineLink } from './link.js';
import { promised, PromiseTarget } from './promised.js';
import type { MessageProtocol } from '../model/request-kinds.js';

/** This thread's part of the engine. */
export interface Engine {
  readonly link: EngineLink;
  readonly control: EngineControl & PlaceControl & CallerControl;
  readonly regions: SharedRegions;
  readonly isolation: Isolation;
  close(): void;
}

class NativeControl implements EngineControl, PlaceControl, CallerControl {
  /** Handles of the models that were loaded here and not unloaded. */
  readonly #handles = new Set<number>();
  /** Folders that isolated models are loaded from, by handle. */
  readonly #folders = new Map<number, string>();

  constructor(
    private readonly link: EngineLink,
    private readonly isolation: Isolation,
    /** Folders that libraries with custom operators may be in. */
    private readonly libraries: readonly string[],
  ) {}

  // async, so that the writer's errors become rejections too.
  async load(given: ModelSpec): Promise<LoadedModel> {
    const isIsolated = this.isolation.isolates(given);
    const spec = await withLibraries(given, { allowed: this.libraries, isIsolated });
    const bytes = writeModelSpec(spec);
    const call = this.isolation.loadCall(spec, bytes);
    const loaded = await promised(this.link, call, readModelInfo);
    this.#handles.add(loaded.handle);
    if (spec.ownFolder === undefined || !isIsolated) return loaded;
    this.#folders.set(loaded.handle, spec.ownFolder);
    return { ...loaded, keepsFolder: true };
  }

  /** Unloads the models that were loaded here. */
  unloadAll(): void {
    for (const handle of this.#handles) void this.unload(handle).catch(() => undefined);
  }

  unload(handle: number): Promise<void> {
    this.#handles.delete(handle);
    return this.#release(handle, (native) => native.unload(handle));
  }

  reserve(spec: PlaceSpec): number {
    const { name, version, queueRequestsMax, priorityLevels, defaultPriority } = spec;
    const { queuePolicy, priorityPolicies, limits } = spec;
    const bytes = writeModelSpec({
      ...{ name, version, backend: 'null' },
      ...(queueRequestsMax !== undefined && { queueRequestsMax }),
      ...(priorityLevels !== undefined && { priorityLevels }),
      ...(defaultPriority !== undefined && { defaultPriority }),
      ...(queuePolicy && { queuePolicy }),
      ...(priorityPolicies && { priorityPolicies }),
      ...(limits && { limits }),
    });
    const place = this.link.readTicket((native) => native.reserveModel(bytes));
    this.#handles.add(place);
    return place;
  }

  put(handle: number, place: number): void {
    this.link.run((native) => native.putModel(handle, place));
    this.#handles.delete(handle);
    const folder = this.#folders.get(handle);
    this.#folders.delete(handle);
    if (folder !== undefined) this.#folders.set(place, folder);
  }

  evict(place: number): Promise<void> {
    return this.#release(place, (native) => native.evictModel(place));
  }

  refuse(place: number, { code, message }: ServalError): void {
    this.link.run((native) => native.refuseModel(place, code, Buffer.from(message)));
  }

  asked(): Promise<readonly number[]> {
    return promised(
      this.link,
      (native) => native.takeAsked(),
      (bytes) => Array.from({ length: bytes.length / 4 }, (_, at) => bytes.readUInt32LE(at * 4)),
    );
  }

  async #release(handle: number, call: (native: NativeBinding) => number): Promise<void> {
    const folder = this.#folders.get(handle);
    this.#folders.delete(handle);
    try {
      await promised(this.link, call, () => undefined);
    } finally {
      if (folder !== undefined) await rm(folder, { recursive: true, force: true });
    }
  }

  /** Removes the folders of models that were never unloaded: nothing loads them again. */
  removeFolders(): void {
    for (const folder of this.#folders.values()) rmSync(folder, { recursive: true, force: true });
    this.#folders.clear();
  }

  publishRoutes(
    epoch: number,
    models: readonly ModelRoute[],
    removed: readonly string[] = [],
  ): void {
    const table = writeRoutes(epoch, models, removed);
    this.link.run((native) => native.publishRoutes(table));
  }

  publishCallers(callers: readonly Caller[]): void {
    const table = writeCallers(callers);
    this.link.run((native) => native.publishCallers(table));
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

/** Kinds of regions, numbered as in the addon. */
const SYSTEM = 0;
const CUDA = 1;

class NativeRegions implements SharedRegions {
  constructor(private readonly link: EngineLink) {}

  register({ name, key, offset, byte_size: bytes }: SharedRegion): void {
    const [named, keyed] = [Buffer.from(name), Buffer.from(key)];
    this.link.run((native) =>
      native.registerRegion(named, keyed, offset, bytes, SHARED_REGIONS_MAX),
    );
  }

  unregister(name: string): void {
    this.link.run((native) => native.unregisterRegion(Buffer.from(name), SYSTEM));
  }

  list(name: string): readonly SharedRegion[] {
    return this.#list(name, SYSTEM) as readonly SharedRegion[];
  }

  registerCuda(
    { name, device_id: device, byte_size: bytes }: CudaRegion,
    handle: Uint8Array,
  ): void {
    const named = Buffer.from(name);
    this.link.run((native) =>
      native.registerCudaRegion(named, Buffer.from(handle), device, bytes, SHARED_REGIONS_MAX),
    );
  }

  unregisterCuda(name: string): void {
    this.link.run((native) => native.unregisterRegion(Buffer.from(name), CUDA));
  }

  listCuda(name: string): readonly CudaRegion[] {
    return this.#list(name, CUDA) as readonly CudaRegion[];
  }

  #list(name: string, kind: number): unknown {
    const text = this.link.read((native) => native.regions(Buffer.from(name), kind));
    return JSON.parse(text.toString('utf8'));
  }
}

/**
 * This thread's link and its number of holders: a server and models of the library may share it.
 */
let shared: { readonly link: EngineLink; holders: number } | undefined;

/**
 * Attaches this thread to the process's engine (the first thread that attaches makes it). If the
 * thread is attached already, the earlier options apply. close() unloads what this holder loaded,
 * and detaches the thread after the last holder has closed. Throws ServalError(RuntimeUnavailable)
 * when the addon cannot be loaded.
 */
export function createEngine(options: EngineOptions): Promise<Engine> {
  shared ??= { link: openLink(options), holders: 0 };
  shared.holders += 1;
  const { link } = shared;
  const isolation = new Isolation(link, options);
  const control = new NativeControl(link, isolation, options.operatorLibraries ?? []);
  let isOpen = true;
  const close = (): void => {
    if (!isOpen || shared === undefined) return;
    isOpen = false;
    isolation.close();
    control.removeFolders();
    shared.holders -= 1;
    if (shared.holders > 0) {
      control.unloadAll();
      return;
    }
    shared = undefined;
    link.detach();
  };
  return Promise.resolve({ link, control, regions: new NativeRegions(link), isolation, close });
}

export type { EngineOptions };
