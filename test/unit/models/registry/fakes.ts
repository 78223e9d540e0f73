// An engine that loads and unloads on the test's command, a clock that a test advances, and makers
// of the registry's inputs.
import { ErrorCode, ServalError } from '../../../../ts/base/errors.js';
import { createLogger } from '../../../../ts/base/logger.js';
import type { Logger } from '../../../../ts/base/logger.js';
import type {
  EngineControl,
  EngineStats,
  LoadedModel,
  ModelRoute,
  ModelSpec,
} from '../../../../ts/model/engine-api.js';
import type { DesiredModel } from '../../../../ts/models/registry/desired.js';
import type { Clock } from '../../../../ts/models/registry/clock.js';

interface PendingLoad {
  readonly spec: ModelSpec;
  resolve(model: LoadedModel): void;
  reject(error: Error): void;
}

interface PendingUnload {
  readonly handle: number;
  resolve(): void;
  reject(error: Error): void;
}

export class FakeEngine implements EngineControl {
  /** Loads and unloads that wait for finish...() or fail...(). */
  readonly loads: PendingLoad[] = [];
  readonly unloads: PendingUnload[] = [];
  /** Everything that happened, in order. */
  readonly events: string[] = [];
  routes: readonly ModelRoute[] = [];
  routeEpochs: number[] = [];
  loading = 0;
  loadingMax = 0;
  #nextHandle = 1;

  load(spec: ModelSpec): Promise<LoadedModel> {
    this.events.push(`load ${spec.name}/${spec.version}`);
    this.loading += 1;
    this.loadingMax = Math.max(this.loadingMax, this.loading);
    return new Promise((resolve, reject) => this.loads.push({ spec, resolve, reject }));
  }

  unload(handle: number): Promise<void> {
    this.events.push(`unload ${handle}`);
    return new Promise((resolve, reject) => this.unloads.push({ handle, resolve, reject }));
  }

  publishRoutes(
    epoch: number,
    models: readonly ModelRoute[],
    removed: readonly string[] = [],
  ): void {
    this.routeEpochs.push(epoch);
    const stay = this.routes.filter(
      ({ name }) => !removed.includes(name) && !models.some((one) => one.name === name),
    );
    this.routes = [...stay, ...models].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  warmUp(): Promise<Uint8Array> {
    return Promise.reject(new Error('nothing warms up here'));
  }

  stats(): EngineStats {
    const zeros = { tensorBytesCopied: 0, tensorBytesViewed: 0, bodiesOpen: 0, ticketsOpen: 0 };
    return { models: [], ...zeros };
  }

  /** Completes the oldest load with a model that has these members; returns its handle. */
  async finishLoad(change: Partial<LoadedModel> = {}): Promise<number> {
    const pending = this.loads.shift();
    if (pending === undefined) throw new Error('no load waits');
    const handle = this.#nextHandle++;
    this.loading -= 1;
    pending.resolve({ ...loadedModel(handle), ...change });
    await settle();
    return handle;
  }

  async failLoad(message = 'broken file'): Promise<void> {
    const pending = this.loads.shift();
    if (pending === undefined) throw new Error('no load waits');
    this.loading -= 1;
    pending.reject(new ServalError(ErrorCode.ModelInvalid, message));
    await settle();
  }

  async finishUnload(): Promise<void> {
    const pending = this.unloads.shift();
    if (pending === undefined) throw new Error('no unload waits');
    pending.resolve();
    await settle();
  }
}

/** Time that only the test advances. */
export class FakeClock implements Clock {
  #nowMs = 1000;
  #timers: { readonly atMs: number; readonly call: () => void }[] = [];

  nowMs(): number {
    return this.#nowMs;
  }

  after(ms: number, call: () => void): () => void {
    const timer = { atMs: this.#nowMs + ms, call };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((one) => one !== timer);
    };
  }

  /** The time until the next timer. */
  get nextMs(): number | undefined {
    if (this.#timers.length === 0) return undefined;
    return Math.min(...this.#timers.map((one) => one.atMs)) - this.#nowMs;
  }

  /** Advances the time by `ms` and calls due timers on the way. */
  async pass(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms;
    for (;;) {
      const due = this.#timers
        .filter((one) => one.atMs <= endMs)
        .sort((a, b) => a.atMs - b.atMs)[0];
      if (due === undefined) break;
      this.#timers = this.#timers.filter((one) => one !== due);
      this.#nowMs = Math.max(this.#nowMs, due.atMs);
      due.call();
      await settle();
    }
    this.#nowMs = endMs;
    await settle();
  }
}

/** Lets every promise that can continue do so. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

export function loadedModel(handle: number): LoadedModel {
  const input = {
    name: 'x',
    datatype: 'FP32',
    shape: [-1],
    symbols: ['batch'],
    unknownRank: false,
  } as const;
  return {
    handle,
    signatures: [{ name: 'serving_default', inputs: [input], outputs: [{ ...input, name: 'y' }] }],
    producer: '',
    graphName: '',
    description: '',
    domain: '',
    modelVersion: '0',
    metadata: {},
    fileBytes: 1,
    loadUs: 1000,
    providers: ['cpu'],
    batchMode: 'off',
    inputsBatchable: true,
    batchProof: 'untried',
    batchFinding: '',
  };
}

/** A model with these versions; `revision` distinguishes contents of one version. */
export function desired(
  name: string,
  versions: readonly string[],
  revision = 'r1',
  labels: Record<string, string> = {},
): DesiredModel {
  return {
    name,
    versions: versions.map((version) => ({
      version,
      revision,
      format: 'onnx',
      platform: 'onnxruntime_onnx',
      folder: `/m/${name}/${version}`,
      modelFolder: `/m/${name}`,
      spec: { name, version, backend: 'onnxruntime', path: `/m/${name}/${version}/model.onnx` },
    })),
    labels,
  };
}

export function quietLogger(lines: string[] = []): Logger {
  return createLogger({ level: 'debug', format: 'text', write: (line) => lines.push(line) });
}
