// A ModelControl that records its calls and answers what the test sets.
import type { ModelSnapshot } from '../../../../ts/model/snapshot.js';
import type { CudaRegion, SharedRegion } from '../../../../ts/model/engine-api.js';
import type {
  LoadModelRequest,
  LogSettings,
  ModelControl,
  RepositoryIndexEntry,
  TraceSettings,
} from '../../../../ts/protocols/control.js';
import type { TraceControl } from '../../../../ts/protocols/control.js';

export const LOG_SETTINGS: LogSettings = {
  log_file: '',
  log_info: true,
  log_warning: true,
  log_error: false,
  log_verbose_level: 0,
  log_format: 'default',
};

export const TRACE_SETTINGS: TraceSettings = {
  trace_level: ['OFF'],
  trace_rate: '1000',
  trace_count: '-1',
};

/** The trace control of a server without traces. */
export const NO_TRACES: TraceControl = {
  settings: () => Promise.resolve(TRACE_SETTINGS),
  update: () => Promise.resolve(TRACE_SETTINGS),
};

export const ENTRIES: readonly RepositoryIndexEntry[] = [
  { name: 'm', version: '1', state: 'UNAVAILABLE', reason: 'unloaded' },
  { name: 'm', version: '2', state: 'READY', reason: '' },
  { name: 'never', version: '', state: 'UNAVAILABLE', reason: '' },
];

export const REGION: SharedRegion = { name: 'r', key: '/k', offset: 8, byte_size: 64 };
export const CUDA_REGION: CudaRegion = { name: 'c', device_id: 1, byte_size: 4096 };

export class FakeControl implements ModelControl {
  /** Method and arguments of each call. */
  readonly calls: unknown[][] = [];
  /** If set, the next call rejects with it. */
  error: Error | undefined;
  /** The answer of demand(). */
  demanded: ModelSnapshot | undefined;
  /** Called inside each call, so that a test may wait here. */
  gate: () => Promise<void> = () => Promise.resolve();

  index(repository: string, readyOnly: boolean): Promise<readonly RepositoryIndexEntry[]> {
    const shown = readyOnly ? ENTRIES.filter((entry) => entry.state === 'READY') : ENTRIES;
    return this.#answer(shown, 'index', repository, readyOnly);
  }
  load(request: LoadModelRequest): Promise<void> {
    const files = [...request.files].map(([path, bytes]) => [
      path,
      Buffer.from(bytes).toString('hex'),
    ]);
    return this.#answer(undefined, 'load', request.model, request.config, files);
  }
  openApi(model: string): Promise<string> {
    return this.#answer(`{"openapi":"of ${model}"}`, 'openApi', model);
  }
  unload(model: string, unloadDependents: boolean): Promise<void> {
    return this.#answer(undefined, 'unload', model, unloadDependents);
  }
  reloadModels(config: Uint8Array): Promise<void> {
    return this.#answer(undefined, 'reloadModels', Buffer.from(config).toString('hex'));
  }
  demand(model: string, version: string): Promise<ModelSnapshot> {
    const demanded = this.demanded ?? ({ name: model, versions: [] } as unknown as ModelSnapshot);
    return this.#answer(demanded, 'demand', model, version);
  }
  reload(): Promise<void> {
    return this.#answer(undefined, 'reload');
  }
  logSettings(): Promise<LogSettings> {
    return this.#answer(LOG_SETTINGS, 'logSettings');
  }
  updateLogSettings(change: Readonly<Record<string, unknown>>): Promise<LogSettings> {
    return this.#answer({ ...LOG_SETTINGS, ...change } as LogSettings, 'updateLogSettings', {
      ...change,
    });
  }

  traceSettings(model: string): Promise<TraceSettings> {
    return this.#answer(TRACE_SETTINGS, 'traceSettings', model);
  }
  updateTraceSettings(
    model: string,
    change: Readonly<Record<string, unknown>>,
  ): Promise<TraceSettings> {
    return this.#answer(TRACE_SETTINGS, 'updateTraceSettings', model, { ...change });
  }
  sharedRegions(name: string): Promise<readonly SharedRegion[]> {
    return this.#answer([REGION], 'sharedRegions', name);
  }
  registerSharedRegion(region: SharedRegion): Promise<void> {
    return this.#answer(undefined, 'registerSharedRegion', region);
  }
  unregisterSharedRegion(name: string): Promise<void> {
    return this.#answer(undefined, 'unregisterSharedRegion', name);
  }
  cudaRegions(name: string): Promise<readonly CudaRegion[]> {
    return this.#answer([CUDA_REGION], 'cudaRegions', name);
  }
  registerCudaRegion(region: CudaRegion, handle: Uint8Array): Promise<void> {
    const bytes = Buffer.from(handle).toString('hex');
    return this.#answer(undefined, 'registerCudaRegion', region, bytes);
  }
  unregisterCudaRegion(name: string): Promise<void> {
    return this.#answer(undefined, 'unregisterCudaRegion', name);
  }

  async #answer<T>(value: T, ...call: unknown[]): Promise<T> {
    this.calls.push(call);
    await this.gate();
    const { error } = this;
    this.error = undefined;
    if (error !== undefined) throw error;
    return value;
  }
}
