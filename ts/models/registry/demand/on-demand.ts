// Versions that load on demand: loads one when a request waits for it, after others have left if
// memory is short. Control plane, main thread. Which ones leave is decided in leaving.ts.
import { stat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ErrorCode, ServalError, reasonOf } from '../../../base/errors.js';
import {
  DEMAND_RETRY_MAX_MS,
  DEMAND_RETRY_MS,
  ROOM_LOOK_MS,
  ROOM_WAIT_MS,
  SESSION_BYTES,
} from '../../../base/limits.js';
import type { Logger } from '../../../base/logger.js';
import type { ModelStats, PlaceControl } from '../../../model/engine-api.js';
import type { Clock } from '../clock.js';
import { whoLeaves, type Resident } from './leaving.js';
import type { ServableId } from '../lifecycle.js';
import type { Servable } from '../snapshot-build.js';

/**
 * Values of the server's metrics. served, loaded, bytes: versions that load on demand, those that
 * are loaded, and their bytes. The others count since the start.
 */
export type DemandValue =
  | 'served'
  | 'loaded'
  | 'bytes'
  | 'loads'
  | 'failures'
  | 'refusals'
  | 'evictions';

export interface OnDemandOptions {
  readonly places: PlaceControl;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly memoryBytes: number;
  readonly loadsAtOnce: number;
  readonly readStats: (handles: readonly number[]) => readonly ModelStats[];
  readonly servables: () => readonly Servable[];
  readonly find: (id: Pick<ServableId, 'name' | 'key'>) => Servable | undefined;
  /** Loads into the place; never rejects. */
  readonly load: (servable: Servable, place: number) => Promise<Partial<Servable>>;
  readonly changed: (id: Pick<ServableId, 'name' | 'key'>, change: Partial<Servable>) => void;
  readonly isDraining: () => boolean;
  /** Makes a load's error fit for clients. */
  readonly publicText: (text: string) => string;
  /** Adds to a value. */
  readonly count: (value: DemandValue, change: number) => void;
}

/** A version that loads on demand. */
interface Entry {
  readonly id: Pick<ServableId, 'name' | 'key'>;
  readonly place: number;
  /** Bytes of its files, as known at its last load, and of its session; 0 = not known yet. */
  bytes: number;
  loading: Promise<void> | undefined;
  isLoaded: boolean;
  loadedAtMs: number;
  /** Failed loads in a row, the last one's error, and when the next one may begin. */
  failures: number;
  error: ServalError | undefined;
  retryAtMs: number;
}

export class OnDemand {
  readonly #options: OnDemandOptions;
  readonly #entries = new Map<number, Entry>();
  /** Loads that wait for one of the others to end. */
  readonly #turns: (() => void)[] = [];
  #loading = 0;
  /** Bytes of loads under way. */
  #comingBytes = 0;
  #listens = false;

  constructor(options: OnDemandOptions) {
    this.#options = options;
  }

  /** Serves a version whose place was reserved. */
  serve({ name, key }: Pick<ServableId, 'name' | 'key'>, { loaded }: Partial<Servable>): void {
    if (loaded === undefined) return;
    this.#entries.set(loaded.handle, {
      id: { name, key },
      place: loaded.handle,
      bytes: 0,
      loading: undefined,
      isLoaded: false,
      loadedAtMs: 0,
      failures: 0,
      error: undefined,
      retryAtMs: 0,
    });
    this.#options.count('served', 1);
    if (this.#listens) return;
    this.#listens = true;
    void this.#listen();
  }

  /** The version is about to be unloaded. */
  forget({ loaded }: Servable): void {
    const entry = loaded && this.#entries.get(loaded.handle);
    if (entry === undefined) return;
    this.#entries.delete(entry.place);
    this.#options.count('served', -1);
    if (entry.isLoaded) this.#left(entry);
  }

  #left(entry: Entry): void {
    entry.isLoaded = false;
    this.#options.count('loaded', -1);
    this.#options.count('bytes', -entry.bytes);
  }

  /**
   * Settles when the version is loaded. Errors: the load's own, also that of an earlier load for
   * some time; MemoryFull: no other version can leave; ModelNotFound: it was unloaded.
   */
  demand({ loaded, name }: Servable): Promise<void> {
    const entry = loaded && this.#entries.get(loaded.handle);
    if (entry !== undefined) return this.#need(entry);
    return Promise.reject(new ServalError(ErrorCode.ModelNotFound, `model '${name}' was unloaded`));
  }

  /** Ends with the engine, which answers without places then. */
  async #listen(): Promise<void> {
    const { places, logger } = this.#options;
    try {
      for (;;) {
        const asked = await places.asked();
        if (asked.length === 0) return;
        for (const place of asked) {
          const entry = this.#entries.get(place);
          // The error is in the waiting requests' answers, and in the log.
          if (entry !== undefined) this.#need(entry).catch(() => undefined);
        }
      }
    } catch (error) {
      logger.error('models can no longer load on demand', { reason: reasonOf(error) });
    }
  }

  #need(entry: Entry): Promise<void> {
    if (entry.isLoaded) return Promise.resolve();
    entry.loading ??= this.#load(entry).finally(() => {
      entry.loading = undefined;
    });
    return entry.loading;
  }

  /** Loads the version, or answers its waiting requests with the reason why not. */
  async #load(entry: Entry): Promise<void> {
    const { clock, isDraining, count } = this.#options;
    const beganMs = clock.nowMs();
    try {
      if (isDraining())
        throw new ServalError(ErrorCode.ShuttingDown, 'the server is shutting down');
      if (entry.error !== undefined && beganMs < entry.retryAtMs) throw entry.error;
      await this.#inTurn(() => this.#loadNow(entry));
      count('loads', 1);
    } catch (error) {
      const known =
        error instanceof ServalError ? error : new ServalError(ErrorCode.Internal, reasonOf(error));
      this.#refuse(entry, known);
      throw known;
    }
  }

  #refuse(entry: Entry, error: ServalError): void {
    try {
      this.#options.places.refuse(entry.place, error);
    } catch (problem) {
      if (!(problem instanceof ServalError && problem.code === ErrorCode.ModelNotFound))
        throw problem;
      // It was unloaded, and its requests were answered.
    }
  }

  async #inTurn(work: () => Promise<void>): Promise<void> {
    if (this.#loading >= this.#options.loadsAtOnce) {
      await new Promise<void>((resolve) => this.#turns.push(resolve));
    } else {
      this.#loading += 1;
    }
    try {
      await work();
    } finally {
      // Hands its turn over, if another one waits.
      const next = this.#turns.shift();
      if (next !== undefined) next();
      else this.#loading -= 1;
    }
  }

  async #loadNow(entry: Entry): Promise<void> {
    const { find, load, changed, clock } = this.#options;
    const servable = find(entry.id);
    if (servable === undefined || this.#entries.get(entry.place) !== entry) {
      throw new ServalError(ErrorCode.ModelNotFound, `model '${entry.id.name}' was unloaded`);
    }
    const before = servable.demand;
    if (entry.bytes === 0) {
      entry.bytes = SESSION_BYTES + (await sizeOf(servable.desired.spec.path ?? ''));
    }
    const coming = entry.bytes;
    await this.#makeRoom(entry);
    let change: Partial<Servable>;
    try {
      changed(entry.id, { demand: 'loading' });
      change = await load(servable, entry.place);
    } finally {
      this.#comingBytes -= coming;
    }
    if (change.state !== 'AVAILABLE') {
      this.#failed(entry, change);
      changed(entry.id, { demand: before });
      throw entry.error ?? new ServalError(ErrorCode.Internal, 'the load failed');
    }
    Object.assign(entry, {
      isLoaded: true,
      loadedAtMs: clock.nowMs(),
      failures: 0,
      error: undefined,
    });
    entry.bytes = Math.max(SESSION_BYTES + (change.loaded?.fileBytes ?? 0), coming);
    if (this.#entries.get(entry.place) !== entry) return; // it was unloaded, as soon as it served
    this.#options.count('loaded', 1);
    this.#options.count('bytes', entry.bytes);
    changed(entry.id, change);
  }

  #failed(entry: Entry, { errorMessage = '' }: Partial<Servable>): void {
    const pauseMs = Math.min(DEMAND_RETRY_MAX_MS, DEMAND_RETRY_MS * 2 ** entry.failures);
    entry.failures += 1;
    entry.retryAtMs = this.#options.clock.nowMs() + pauseMs;
    const reason = this.#options.publicText(errorMessage);
    const text = `model '${entry.id.name}' is not ready: failed to load: ${reason}`;
    entry.error = new ServalError(ErrorCode.ModelNotReady, text);
    this.#options.count('failures', 1);
  }

  /** Lets others leave until the version fits; counts its bytes as coming. Errors: MemoryFull. */
  async #makeRoom(entry: Entry): Promise<void> {
    const { memoryBytes, clock } = this.#options;
    const untilMs = clock.nowMs() + ROOM_WAIT_MS;
    for (;;) {
      const others = this.#residents(entry);
      const held = this.#eagerBytes();
      const coming = this.#comingBytes;
      const answer = whoLeaves(
        others,
        { held, coming, needs: entry.bytes, limit: memoryBytes },
        clock.nowMs(),
      );
      if (answer.fits) {
        this.#comingBytes += entry.bytes;
        await Promise.all(answer.leave.map((one) => this.#evict(one)));
        return;
      }
      if (answer.isHopeless || clock.nowMs() >= untilMs)
        throw this.#noRoom(entry, held + coming, others);
      await new Promise<void>((resolve) => {
        clock.after(ROOM_LOOK_MS, resolve);
      });
    }
  }

  #noRoom(entry: Entry, held: number, others: readonly Resident[]): ServalError {
    this.#options.count('refusals', 1);
    const [needs, limit] = [megabytes(entry.bytes), megabytes(this.#options.memoryBytes)];
    const pinned = others.filter((one) => one.pin).length;
    const message =
      `model '${entry.id.name}' needs ${needs}, and --models-memory-limit is ${limit}: ` +
      `${megabytes(held)} are held by models that cannot leave, and ${others.length} loaded on ` +
      `demand (${pinned} pinned) are in use; raise the limit`;
    this.#options.logger.warn('no memory for a model', { model: entry.id.name, needs, limit });
    return new ServalError(ErrorCode.MemoryFull, message);
  }

  #eagerBytes(): number {
    let bytes = 0;
    for (const { demand, loaded } of this.#options.servables()) {
      if (demand === undefined && loaded !== undefined) bytes += SESSION_BYTES + loaded.fileBytes;
    }
    return bytes;
  }

  #residents(besides: Entry): readonly Resident[] {
    const loaded = [...this.#entries.values()].filter((one) => one.isLoaded && one !== besides);
    if (loaded.length === 0) return [];
    const stats = new Map(
      this.#options.readStats(loaded.map(({ place }) => place)).map((one) => [one.handle, one]),
    );
    const wallMs = Date.now() - this.#options.clock.nowMs();
    return loaded.map(({ id, place, bytes, loadedAtMs }) => {
      const rules = this.#options.find(id)?.desired.demand;
      const { pending = 0, lastInferenceMs = 0 } = stats.get(place) ?? {};
      const usedAtMs = Math.max(loadedAtMs, lastInferenceMs - wallMs);
      const { pin = false, minIdleMs = 0, priority = 0 } = rules ?? {};
      const isBusy = pending > 0;
      return { place, bytes, loadedAtMs, usedAtMs, isBusy, pin, minIdleMs, priority };
    });
  }

  async #evict({ place }: Resident): Promise<void> {
    const entry = this.#entries.get(place);
    if (entry === undefined) return;
    this.#left(entry);
    this.#options.count('evictions', 1);
    this.#options.changed(entry.id, { demand: 'waiting' });
    this.#options.logger.debug('model left memory', { model: entry.id.name });
    await this.#options.places.evict(place);
  }
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;

/** Bytes of a file, or of all files in a folder; 0 if it cannot be read (the load says why). */
async function sizeOf(path: string): Promise<number> {
  try {
    const found = await stat(path);
    if (!found.isDirectory()) return found.size;
    const names = await readdir(path);
    const sizes = await Promise.all(names.map((name) => sizeOf(join(path, name))));
    return sizes.reduce((sum, size) => sum + size, 0);
  } catch {
    return 0;
  }
}
