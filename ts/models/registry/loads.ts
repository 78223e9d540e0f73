// Loads and unloads one version: engine calls, configuration check, warm-up, log lines. Control
// plane, main thread. It reports the resulting state and decides nothing.
import { ErrorCode, ServalError, reasonOf } from '../../base/errors.js';
import type { Logger } from '../../base/logger.js';
import { verifyChecksums } from '../config/files/checksums.js';
import { checkAgainstModel, completeConfig } from '../config/triton-model.js';
import type { EngineControl, LoadedModel, PlaceControl } from '../../model/engine-api.js';
import type { Clock } from './clock.js';
import { againstRows } from '../../model/rows-text.js';
import type { Prepare } from '../warmup/prepare.js';
import type { LoadLine } from './load-line.js';
import { LoadProgress } from './load-progress.js';
import { LoadedLines } from './loaded-lines.js';
import type { DesiredServable } from './servables.js';
import type { ServableId } from './lifecycle.js';
import { deepFreeze, type Servable } from './snapshot-build.js';

/** A version that was never loaded. */
const UNSEEN: Omit<LoadedModel, 'handle'> = {
  signatures: [],
  producer: '',
  graphName: '',
  description: '',
  domain: '',
  modelVersion: '0',
  metadata: {},
  fileBytes: 0,
  loadUs: 0,
  providers: [],
  batchMode: 'off',
  inputsBatchable: false,
  batchProof: 'untried',
  batchFinding: '',
};

/** Counts since the start. */
export interface RegistryCounters {
  readonly loads: number;
  readonly loadFailures: number;
  readonly unloads: number;
}

export interface LoadsOptions {
  readonly engine: EngineControl;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly prepare: Prepare | undefined;
  readonly line: LoadLine | undefined;
  /** Loads versions on demand; undefined: every version loads when it is found. */
  readonly places: PlaceControl | undefined;
  /** Whether the version is still desired. */
  readonly isWanted: (id: Pick<ServableId, 'name' | 'key'>) => boolean;
}

export class Loads {
  readonly #options: LoadsOptions;
  /** Aborts the preparation of a version. */
  readonly #preparing = new Map<Servable, AbortController>();
  readonly #lines: LoadedLines;
  /** The reason of each version's last failure. */
  readonly #reasons = new Map<string, string>();
  #counters: RegistryCounters = { loads: 0, loadFailures: 0, unloads: 0 };

  constructor(options: LoadsOptions) {
    this.#options = options;
    this.#lines = new LoadedLines(options.logger, options.clock);
  }

  get counters(): RegistryCounters {
    return this.#counters;
  }

  /** Records a version that no load can help. */
  refuse({ name, version, desired }: DesiredServable): void {
    this.#failed({ model: name, version }, desired.problem ?? '');
  }

  /**
   * Returns the version's new state: AVAILABLE, or END with the reason. A version that loads on
   * demand only gets its place. Never rejects.
   */
  async load(servable: Servable): Promise<Partial<Servable>> {
    const { places } = this.#options;
    if (places !== undefined && servable.desired.demand !== undefined) {
      await Promise.resolve(); // LOADING is published first, or in a burst soon after
      return this.#reserve(servable, places);
    }
    return this.#load(servable);
  }

  #reserve(servable: Servable, places: PlaceControl): Partial<Servable> {
    const { name, desired } = servable;
    try {
      const loaded = { ...UNSEEN, handle: places.reserve(desired.spec) };
      return { state: 'AVAILABLE', loaded, configJson: '', loadMs: 0, demand: 'unseen' };
    } catch (error) {
      const { code, message } = asServalError(error);
      this.#failed({ model: name, version: desired.version }, message);
      return this.#ended(servable, code, message);
    }
  }

  /** Loads into the place of a version that loads on demand. Returns as load() does. */
  async loadInto(servable: Servable, place: number): Promise<Partial<Servable>> {
    const { places } = this.#options;
    const result = await this.#load(servable);
    const { loaded } = result;
    if (loaded === undefined || places === undefined) return result;
    try {
      places.put(loaded.handle, place);
    } catch (error) {
      // It was unloaded meanwhile.
      await this.#discard(loaded, { model: servable.name, version: servable.desired.version });
      const { code, message } = asServalError(error);
      return this.#ended(servable, code, message);
    }
    return { ...result, loaded: deepFreeze({ ...loaded, handle: place }), demand: 'loaded' };
  }

  async #load(servable: Servable): Promise<Partial<Servable>> {
    const { engine, logger, clock, line } = this.#options;
    const { name, desired } = servable;
    const fields = { model: name, version: desired.version };
    logger.debug('loading model', { ...fields, path: desired.spec.path });
    const beganMs = clock.nowMs();
    const { path = '', importer } = desired.spec;
    const stage = importer === undefined ? 'loading' : 'importing';
    const progress = new LoadProgress({ logger, clock, line }, fields, { path, stage });
    let loaded: LoadedModel | undefined;
    try {
      await Promise.resolve(); // LOADING is published first, or in a burst soon after
      if (desired.config) await verifyChecksums(desired.modelFolder, desired.config);
      loaded = deepFreeze(structuredClone(await engine.load(desired.spec)));
      const configJson = completeJson(servable, loaded);
      progress.stage = 'warming up';
      await this.#prepare(servable, loaded);
      this.#count('loads');
      const loadMs = Math.round(loaded.loadUs / 1000);
      const facts = { ...loaded.placed, ...nodesOf(loaded), ...runsOf(loaded), ...rowsOf(loaded) };
      this.#reasons.delete(servable.key);
      this.#lines.add({ ...fields, loadMs, ...facts });
      for (const note of loaded.notes ?? []) logger.warn('not served', { ...fields, what: note });
      tellBatching(logger, fields, loaded);
      return { state: 'AVAILABLE', loaded, configJson, loadMs: clock.nowMs() - beganMs };
    } catch (error) {
      if (loaded !== undefined) await this.#discard(loaded, fields);
      const { code, message } = asServalError(error);
      const isKnown = servable.failures > 0 && this.#reasons.get(servable.key) === message;
      this.#reasons.set(servable.key, message);
      this.#failed({ ...fields, ...retryOf(servable) }, message, isKnown);
      return this.#ended(servable, code, message);
    } finally {
      progress.end();
    }
  }

  #ended({ failures }: Servable, errorCode: ErrorCode, errorMessage: string): Partial<Servable> {
    const failedAtMs = this.#options.clock.nowMs();
    return { state: 'END', errorCode, errorMessage, failures: failures + 1, failedAtMs };
  }

  /** Aborts the preparation of versions that are no longer wanted. */
  endPreparations(): void {
    for (const [servable, end] of this.#preparing) {
      if (!this.#options.isWanted(servable)) end.abort();
    }
  }

  /** Returns the version's new state, always END. Never rejects. */
  async unload({ name, key, desired, loaded }: Servable): Promise<Partial<Servable>> {
    const fields = { model: name, version: desired.version };
    const ended = { state: 'END', unloaded: true, loaded: undefined, demand: undefined } as const;
    this.#reasons.delete(key);
    const error = loaded && (await this.#discard(loaded, fields));
    if (error !== undefined)
      return { ...ended, errorCode: error.code, errorMessage: error.message };
    this.#count('unloads');
    this.#options.logger.info('model unloaded', fields);
    return ended;
  }

  async #prepare(servable: Servable, loaded: LoadedModel): Promise<void> {
    const { name, desired } = servable;
    const { config, version, folder: path } = desired;
    const end = new AbortController();
    this.#preparing.set(servable, end);
    this.endPreparations();
    try {
      await this.#options.prepare?.({ name, version, path, config, loaded }, end.signal);
    } finally {
      this.#preparing.delete(servable);
    }
  }

  /** Returns the error, if any, after logging it. */
  async #discard(loaded: LoadedModel, fields: object): Promise<ServalError | undefined> {
    try {
      await this.#options.engine.unload(loaded.handle);
      return undefined;
    } catch (error) {
      const known = asServalError(error);
      const reason = known.message;
      this.#options.logger.error('model failed to unload', { ...fields, reason });
      return known;
    }
  }

  /** A retry that fails for a `known` reason is logged only at level debug. */
  #failed(fields: object, reason: string, isKnown = false): void {
    this.#count('loadFailures');
    const level = isKnown ? 'debug' : 'error';
    this.#options.logger[level]('model failed to load', { ...fields, reason });
  }

  #count(what: keyof RegistryCounters): void {
    this.#counters = { ...this.#counters, [what]: this.#counters[what] + 1 };
  }
}

const retryOf = ({ failures }: Servable): { readonly retry?: number } =>
  failures > 0 ? { retry: failures } : {};

/**
 * The version's complete configuration as JSON. Errors: ModelInvalid: the model and its
 * configuration contradict each other.
 */
function completeJson({ name, desired }: Servable, loaded: LoadedModel): string {
  const { config, spec } = desired;
  const platform = loaded.found?.platform ?? desired.platform;
  const problems = config === undefined ? [] : checkAgainstModel(config, loaded);
  if (problems.length > 0) {
    const text = problems.map((one) => `${one.place}: ${one.message}`).join('; ');
    throw new ServalError(ErrorCode.ModelInvalid, text);
  }
  const maxBatchSize = loaded.batchMode === 'off' ? 0 : (spec.batch?.rowsMax ?? 0);
  const { instances = 1, decoupled = false } = spec;
  const auto = { maxBatchSize, instances, platform, decoupled };
  const complete = completeConfig(name, config, loaded, auto);
  return JSON.stringify(complete);
}

/** Number of graph nodes per provider: "tensorrt 118, cuda 7, cpu 3". */
function nodesOf({ nodes = [] }: LoadedModel): { readonly nodes?: string } {
  if (nodes.length === 0) return {};
  const short = (name: string): string => name.replace(/ExecutionProvider$/, '').toLowerCase();
  return {
    nodes: nodes.map(({ provider, nodes: count }) => `${short(provider)} ${count}`).join(', '),
  };
}

/** How the model runs on a GPU: graphs="1, 4, 16 (12 MiB)", sizes="1, 4, 16", runs=<reason>. */
function runsOf({ device }: LoadedModel): Readonly<Record<string, string>> {
  if (device === undefined) return {};
  const { graphRows, graphBytes, fixedRows, why } = device;
  const mebibytes = Math.ceil(graphBytes / 2 ** 20);
  const graphs = graphRows[0] === 0 ? '1' : graphRows.join(', ');
  return {
    ...(graphRows.length > 0 && { graphs: `${graphs} (${mebibytes} MiB)` }),
    ...(graphRows.length === 0 && fixedRows.length > 0 && { sizes: fixedRows.join(', ') }),
    ...(why !== '' && { runs: why }),
  };
}

/**
 * Why a configuration that requests batching cannot be proved safe: the first node that couples
 * rows.
 */
function rowsOf({ batchMode, rows = [] }: LoadedModel): { readonly rows?: string } {
  const against = batchMode === 'on' ? againstRows(rows) : '';
  return against === '' ? {} : { rows: against };
}

/** Logs the engine's finding about row independence if it differs from the configured batching. */
function tellBatching(
  logger: Logger,
  fields: Readonly<Record<string, unknown>>,
  loaded: LoadedModel,
): void {
  const { batchMode, batchProof, batchFinding: finding, rows = [] } = loaded;
  const against = againstRows(rows);
  if (batchProof === 'contradicted' && rows.length > 0 && against === '') {
    const text =
      'the graph proves that rows are independent, but batched rows give other results than single ' +
      'ones: this is a bug in Serval, please report it with the model';
    logger.error(text, { ...fields, finding, batched: batchMode === 'on' });
    return;
  }
  if (batchMode === 'on' && against !== '') {
    const text =
      'requests are batched as configured, but rows are not proved to be independent: results ' +
      'may be wrong';
    logger.warn(text, { ...fields, rows: against });
  }
  if (batchMode === 'on' && batchProof === 'contradicted') {
    const text =
      'requests are batched as configured, but batched rows give other results than single ones: ' +
      'answers may be wrong';
    logger.warn(text, { ...fields, finding });
  } else if (finding !== '' && batchProof === 'proven') {
    const text =
      'requests are batched based on the proof alone: its check by a test run was cut short';
    logger.info(text, { ...fields, finding });
  } else if (finding !== '') {
    const text =
      batchMode === 'off'
        ? 'requests are not batched: the first dim is not proven to be the batch'
        : 'requests are batched as configured; the check by a test run failed';
    logger.debug(text, { ...fields, finding });
  }
}

function asServalError(error: unknown): ServalError {
  if (error instanceof ServalError) return error;
  const message = reasonOf(error);
  return new ServalError(ErrorCode.Internal, message);
}
