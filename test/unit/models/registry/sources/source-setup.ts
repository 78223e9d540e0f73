// A model source over real folders, with an engine that loads everything and a clock that the test
// advances.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { ErrorCode, ServalError } from '../../../../../ts/base/errors.js';
import type { LoadedModel, ModelSpec } from '../../../../../ts/model/engine-api.js';
import { ModelSource } from '../../../../../ts/models/registry/sources/model-source.js';
import type { SourceConfig } from '../../../../../ts/models/registry/sources/desired-models.js';
import { Registry } from '../../../../../ts/models/registry/registry.js';
import type { RegistryOptions } from '../../../../../ts/models/registry/registry.js';
import { FakeClock, FakeEngine, loadedModel, quietLogger, settle } from '../fakes.js';

/** Loads and unloads at once; files in `broken` fail. */
export class WillingEngine extends FakeEngine {
  readonly specs: ModelSpec[] = [];
  readonly broken = new Set<string>();
  #handles = 0;

  override load(spec: ModelSpec): Promise<LoadedModel> {
    this.specs.push(spec);
    this.events.push(`load ${spec.name}/${spec.version}`);
    if (this.broken.has(spec.path ?? '')) {
      return Promise.reject(new ServalError(ErrorCode.ModelInvalid, `${spec.path} is broken`));
    }
    return Promise.resolve(loadedModel(++this.#handles));
  }

  override unload(handle: number): Promise<void> {
    this.events.push(`unload ${handle}`);
    return Promise.resolve();
  }
}

export interface SourceSetup {
  readonly engine: WillingEngine;
  readonly registry: Registry;
  readonly source: ModelSource;
  readonly clock: FakeClock;
  readonly lines: string[];
  /** Advances time until `looks` more scans have ended and their changes are loaded. */
  look(ms: number, looks?: number): Promise<void>;
  /** "name/version:STATE" of every version. */
  states(): string;
}

export const CONFIG: SourceConfig = {
  sources: { paths: [], modelRepositories: [], baseModel: undefined, modelConfigFile: undefined },
  model: {
    execMode: 'auto',
    inlineUsMax: 100,
    queueRequestsMax: 10,
    instances: 1,
    intraOpThreads: 3,
    interOpThreads: 0,
    graphOptimization: 99,
    providers: [],
  },
  control: {
    mode: 'none',
    loadModels: [],
    repositoryPollSeconds: 15,
    modelConfigFilePollSeconds: 0,
    fileSystemPollSeconds: 1,
    settleMs: 1000,
    reloadChangedVersions: true,
    loadMode: 'eager',
    modelsMemoryBytes: 0,
    transition: 'availability',
    labelsForUnavailable: true,
    namespacing: false,
    loadRetries: 0,
    loadRetryMs: 0,
    loadsAtOnce: 0,
    exitOnError: false,
  },
  batching: {
    enabled: false,
    parametersFile: undefined,
    perModel: false,
    defaultMaxBatchSize: 4,
    autoComplete: true,
  },
  savedModelTags: ['serve'],
  allowRandom: true,
};

export interface SetupChange {
  readonly sources?: Partial<SourceConfig['sources']>;
  readonly control?: Partial<SourceConfig['control']>;
  readonly batching?: Partial<SourceConfig['batching']>;
  readonly registry?: Partial<RegistryOptions>;
  readonly tempRoot?: string;
}

export function setupSource(change: SetupChange): SourceSetup {
  const { registry: registryOptions = {}, tempRoot } = change;
  const engine = new WillingEngine();
  const clock = new FakeClock();
  const lines: string[] = [];
  const logger = quietLogger(lines);
  const registry = new Registry({ engine, logger, clock, ...registryOptions });
  const config: SourceConfig = {
    sources: { ...CONFIG.sources, ...change.sources },
    model: CONFIG.model,
    control: { ...CONFIG.control, ...change.control },
    batching: { ...CONFIG.batching, ...change.batching },
    savedModelTags: CONFIG.savedModelTags,
    allowRandom: CONFIG.allowRandom,
  };
  const options = tempRoot === undefined ? { clock } : { clock, tempRoot };
  const source = new ModelSource(config, logger, registry, options);
  return {
    engine,
    registry,
    source,
    clock,
    lines,
    look: async (ms, looks = 1) => {
      const wanted = source.counters.looks + looks;
      await clock.pass(ms);
      for (let i = 0; source.counters.looks < wanted; i++) {
        assert.ok(i < 100_000, `${source.counters.looks} looks, not ${wanted}`);
        await settle();
      }
      await settle();
      await registry.whenSettled();
    },
    states: () =>
      Object.values(registry.snapshot.models)
        .flatMap((model) =>
          model.versions.map((one) => `${model.name}/${one.version}:${one.state}`),
        )
        .join(' '),
  };
}

/** A control section that polls repositories. */
export const POLL = { mode: 'poll', repositoryPollSeconds: 10 } as const;

/** Writes a file, its folders included. */
export function write(path: string, text = 'x'): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** Makes a source and starts it. */
export async function startSource(change: SetupChange): Promise<SourceSetup> {
  const setup = setupSource(change);
  await setup.source.firstLook();
  await setup.source.start();
  return setup;
}
