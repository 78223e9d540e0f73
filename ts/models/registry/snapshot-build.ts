// Builds the immutable snapshot that readers see and the engine's route table from the registry's
// servables. Pure; control plane.
import { mayUse } from '../../access/model-patterns.js';
import { ErrorCode } from '../../base/errors.js';
import type { LoadedModel, ModelRoute, TensorOverride } from '../../model/engine-api.js';
import type { DesiredModel, DesiredVersion } from './desired.js';
import { applyLabels } from './labels.js';
import type {
  DemandState,
  ModelSnapshot,
  RegistrySnapshot,
  SignatureInfo,
  TensorInfo,
  VersionSnapshot,
  VersionState,
} from '../../model/snapshot.js';
import { compareVersions } from '../../model/version-policy.js';

/** State of one version with one content. */
export interface Servable {
  readonly key: string;
  readonly name: string;
  readonly desired: DesiredVersion;
  readonly state: VersionState;
  readonly unloaded: boolean;
  /** Frozen. */
  readonly loaded: LoadedModel | undefined;
  readonly configJson: string;
  readonly loadMs: number;
  readonly errorCode: ErrorCode;
  readonly errorMessage: string;
  /** Failed loads so far; Infinity if no load can help. */
  readonly failures: number;
  readonly failedAtMs: number;
  /** Set while a version that loads on demand is AVAILABLE. */
  readonly demand?: DemandState | undefined;
}

export interface SnapshotInputs {
  readonly epoch: number;
  /** By name. */
  readonly models: ReadonlyMap<string, DesiredModel>;
  /** By model name; a model without servables may be missing. */
  readonly servables: ReadonlyMap<string, readonly Servable[]>;
  /** Labels stay as in this snapshot while their new version is not available. */
  readonly previous: RegistrySnapshot;
  /**
   * Names of the models that may differ from `previous`, including new and removed ones; the others
   * are copied from it.
   */
  readonly changed: ReadonlySet<string>;
  /** Every model desired at start was loaded or has failed. */
  readonly started: boolean;
  readonly draining: boolean;
  /** Faults that have existed since the start. */
  readonly faults: readonly string[];
  /**
   * true: ready only while there is no fault and every desired model is available; false: ready
   * once started.
   */
  readonly strictReadiness: boolean;
}

export const EMPTY_SNAPSHOT: RegistrySnapshot = deepFreeze({
  epoch: 0,
  models: {},
  ready: false,
  draining: false,
  faults: [],
});

/** Rank that selects which of several servables represents a version: the serving one first. */
const STATE_RANK: Readonly<Record<VersionState, number>> = {
  AVAILABLE: 0,
  LOADING: 1,
  START: 2,
  UNLOADING: 3,
  END: 4,
};

/**
 * A new frozen snapshot; shares nothing mutable with the inputs. Unchanged models are the same
 * objects as in `previous`.
 */
export function buildSnapshot(inputs: SnapshotInputs): RegistrySnapshot {
  const { previous, changed } = inputs;
  const built: ModelSnapshot[] = [];
  const removed: string[] = [];
  for (const name of changed) {
    const servables = inputs.servables.get(name);
    const desired = inputs.models.get(name);
    if (servables === undefined && desired === undefined) {
      removed.push(name);
      continue;
    }
    const labelsBefore = findModel(previous, name)?.labels ?? {};
    built.push(buildModel(name, servables ?? [], desired, labelsBefore));
  }
  const byName = changeModels(previous.models, built, removed);
  const available = (model: DesiredModel): boolean =>
    model.required === false || byName[model.name]?.defaultVersion !== undefined;
  const { faults } = inputs;
  const allGood = (): boolean =>
    faults.length === 0 && [...inputs.models.values()].every(available);
  return deepFreeze({
    epoch: inputs.epoch,
    models: byName,
    ready: inputs.started && (!inputs.strictReadiness || allGood()),
    draining: inputs.draining,
    faults: [...faults],
  });
}

function buildModel(
  name: string,
  servables: readonly Servable[],
  desired: DesiredModel | undefined,
  previousLabels: Readonly<Record<string, string>>,
): ModelSnapshot {
  const shown = new Map<string, Servable>();
  for (const servable of servables) {
    const { version } = servable.desired;
    const other = shown.get(version);
    if (other === undefined || STATE_RANK[servable.state] < STATE_RANK[other.state]) {
      shown.set(version, servable);
    }
  }
  const versions = [...shown.values()]
    .sort((a, b) => compareVersions(b.desired.version, a.desired.version))
    .map((one) => buildVersion(one, servables));
  const available = versions.filter((one) => one.state === 'AVAILABLE').map((one) => one.version);
  return {
    name,
    versions,
    labels: applyLabels(desired?.labels ?? {}, new Set(available), previousLabels),
    problem: versions.length === 0 ? (desired?.problem ?? '') : '',
    defaultVersion: available[0],
  };
}

function buildVersion(servable: Servable, others: readonly Servable[]): VersionSnapshot {
  const { desired, state, loaded } = servable;
  const serving = state === 'AVAILABLE' ? loaded : undefined;
  const { errorCode, errorMessage } =
    serving === undefined
      ? servable
      : (others.find((one) => replacesInVain(one, desired.version)) ?? servable);
  return {
    version: desired.version,
    state,
    handle: serving?.handle,
    errorCode,
    errorMessage,
    format: serving?.found?.format ?? desired.format,
    platform: serving?.found?.platform ?? desired.platform,
    signatures:
      serving === undefined ? [] : withLabels(shownSignatures(serving), desired.spec.outputs ?? []),
    ...(serving?.signatureDefs === undefined ? {} : { signatureDefs: serving.signatureDefs }),
    ...(serving?.table === undefined ? {} : { table: serving.table }),
    ...(serving !== undefined && servable.demand !== undefined && { demand: servable.demand }),
    ...(desired.spec.decoupled === true && { decoupled: true }),
    configJson: serving === undefined ? '' : servable.configJson,
    loadMs: serving === undefined ? 0 : servable.loadMs,
  };
}

/**
 * Signatures shown for a tabular model: without the outputs that are returned only on request, and
 * with decimals as their wire type.
 */
function shownSignatures({ signatures, table }: LoadedModel): readonly SignatureInfo[] {
  if (table === undefined) return signatures;
  const extra = new Set(table.extra);
  const shown = (tensor: TensorInfo): TensorInfo =>
    tensor.datatype === 'DECIMAL' ? { ...tensor, datatype: 'FP64' } : tensor;
  return signatures.map((one) => ({
    ...one,
    inputs: one.inputs.map(shown),
    outputs: one.outputs.filter(({ name }) => !extra.has(name)).map(shown),
  }));
}

/** Adds the class names of the configuration's label files, which are of the first signature. */
function withLabels(
  signatures: readonly SignatureInfo[],
  outputs: readonly TensorOverride[],
): readonly SignatureInfo[] {
  const [first, ...others] = signatures;
  const named = outputs.filter(({ labels = [] }) => labels.length > 0);
  if (first === undefined || named.length === 0) return signatures;
  const labelled = first.outputs.map((output) => {
    const labels = named.find(({ name }) => name === output.name)?.labels;
    return labels === undefined ? output : { ...output, labels };
  });
  return [{ ...first, outputs: labelled }, ...others];
}

/** Whether this is newer content of a version, which failed to load. */
function replacesInVain(one: Servable, version: string): boolean {
  return one.desired.version === version && one.state === 'END' && !one.unloaded;
}

/**
 * The engine's route of a model. Versions that do not serve have handle 0 and a reason for clients,
 * passed through `publicText`.
 */
export function buildRoute(
  model: ModelSnapshot,
  publicText: (text: string) => string = (text) => text,
): ModelRoute {
  return {
    name: model.name,
    defaultVersion: model.versions.findIndex((one) => one.version === model.defaultVersion),
    versions: model.versions.map((one) => ({
      version: one.version,
      handle: one.handle ?? 0,
      ready: one.handle !== undefined,
      reason: one.handle === undefined ? publicText(notReadyReason(one)) : '',
    })),
    labels: model.labels,
  };
}

/**
 * Models by name, sorted: `before` without `removed`, with `models` replacing those of the same
 * names. Sorts only if a name is new.
 */
function changeModels(
  before: RegistrySnapshot['models'],
  models: readonly ModelSnapshot[],
  removed: readonly string[],
): RegistrySnapshot['models'] {
  if (removed.length === 0 && models.every(({ name }) => Object.hasOwn(before, name))) {
    const after = { ...before };
    // Defined rather than assigned: a model may be called "__proto__".
    for (const model of models) Object.defineProperty(after, model.name, { value: model });
    return after;
  }
  const after = new Map(Object.entries(before));
  for (const name of removed) after.delete(name);
  for (const model of models) after.set(model.name, model);
  return Object.fromEntries([...after].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Why a version does not serve, as a sentence for clients. */
export function notReadyReason(version: VersionSnapshot): string {
  switch (version.state) {
    case 'START':
      return 'waiting to be loaded';
    case 'LOADING':
      return 'loading';
    case 'UNLOADING':
      return 'unloading';
    case 'END':
      return version.errorCode === ErrorCode.Ok
        ? 'unloaded'
        : `failed to load: ${version.errorMessage}`;
    case 'AVAILABLE':
      return '';
  }
}

/** Why no version of a model serves, as a sentence for clients. */
export function modelProblem({ versions, problem, briefProblem }: ModelSnapshot): string {
  const newest = versions[0];
  if (newest !== undefined) return versionProblem(newest);
  return problem === '' ? 'it has no version' : (briefProblem ?? problem);
}

/** The same model with its problems, for callers who may read metadata. */
export function withReasons(model: ModelSnapshot): ModelSnapshot {
  const { briefProblem: _, ...rest } = model;
  const versions = model.versions.map(({ briefMessage: _, ...version }) => version);
  return { ...rest, versions };
}

/** "version 1 is END: REASON", for callers who may not read metadata. */
export function versionProblem({
  version,
  state,
  errorMessage,
  briefMessage = errorMessage,
}: VersionSnapshot): string {
  return `version ${version} is ${state}${briefMessage === '' ? '' : `: ${briefMessage}`}`;
}

/** The model of that name; names such as "constructor" find nothing. */
export function findModel(snapshot: RegistrySnapshot, name: string): ModelSnapshot | undefined {
  return Object.hasOwn(snapshot.models, name) ? snapshot.models[name] : undefined;
}

/** Freezes plain data and returns it. Recursion depth is bounded by the snapshot's types. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const member of Object.values(value)) deepFreeze(member);
  return Object.freeze(value);
}

/**
 * `newest` as a listener may show it. Versions that serve in it but not yet in `confirmed`, the
 * newest snapshot that every listener has, are shown as loading: after a "ready" response, a client
 * may call any listener.
 */
export function shownSnapshot(
  newest: RegistrySnapshot,
  confirmed: RegistrySnapshot,
): RegistrySnapshot {
  if (newest === confirmed) return newest;
  const held: ModelSnapshot[] = [];
  for (const model of Object.values(newest.models)) {
    const shown = shownModel(model, findModel(confirmed, model.name));
    if (shown !== model) held.push(shown);
  }
  const models = changeModels(newest.models, held, []);
  return { ...newest, models, ready: newest.ready && confirmed.ready };
}

function shownModel(model: ModelSnapshot, confirmed: ModelSnapshot | undefined): ModelSnapshot {
  if (model === confirmed) return model;
  const servesThere = (version: string): boolean =>
    confirmed?.versions.some((one) => one.version === version && one.handle !== undefined) ?? false;
  const holds = (one: VersionSnapshot): boolean =>
    one.handle !== undefined && !servesThere(one.version);
  if (!model.versions.some(holds)) return model;
  const versions = model.versions.map(
    (one): VersionSnapshot => (holds(one) ? { ...one, state: 'LOADING', handle: undefined } : one),
  );
  const defaultVersion = versions.find((one) => one.handle !== undefined)?.version;
  return { ...model, versions, defaultVersion };
}

/** Differences between two snapshots, sent to readers on other threads that have the older one. */
export interface SnapshotChange {
  readonly epoch: number;
  readonly ready: boolean;
  readonly draining: boolean;
  readonly faults: readonly string[];
  /** Models that are new or differ. */
  readonly models: readonly ModelSnapshot[];
  readonly removed: readonly string[];
}

/** Compares models by identity: snapshots share unchanged ones. */
export function snapshotChange(before: RegistrySnapshot, after: RegistrySnapshot): SnapshotChange {
  const { epoch, ready, draining, faults } = after;
  const models = Object.values(after.models).filter(
    (model) => findModel(before, model.name) !== model,
  );
  const removed = Object.keys(before.models).filter((name) => findModel(after, name) === undefined);
  return { epoch, ready, draining, faults, models, removed };
}

/** Rebuilds the newer snapshot from the result of snapshotChange(). */
export function applyChange(before: RegistrySnapshot, change: SnapshotChange): RegistrySnapshot {
  const { epoch, ready, draining, faults } = change;
  const models = changeModels(before.models, change.models, change.removed);
  return { epoch, models, ready, draining, faults };
}

/** The snapshot for callers that may use models with names of these patterns only. */
export function limitedSnapshot(
  snapshot: RegistrySnapshot,
  patterns: readonly string[],
): RegistrySnapshot {
  const open = Object.entries(snapshot.models).filter(([name]) => mayUse(patterns, name));
  return { ...snapshot, models: Object.fromEntries(open), faults: [] };
}
