// Turns the registry's instances into the immutable snapshot that readers see and into the engine's
// route table. Pure; control plane.
import { ErrorCode } from '../errors.js';
import type { LoadedModel, ModelRoute } from '../native/engine-api.js';
import type { DesiredModel, DesiredVersion } from './desired.js';
import { applyLabels } from './labels.js';
import type {
  ModelSnapshot, RegistrySnapshot, VersionSnapshot, VersionState,
} from './snapshot.js';
import { compareVersions } from './version-policy.js';

/** What the registry knows of one version with one content. */
export interface Instance {
  readonly name: string;
  readonly desired: DesiredVersion;
  readonly state: VersionState;
  readonly unloaded: boolean;
  /** Frozen. */
  readonly loaded: LoadedModel | undefined;
  readonly errorCode: ErrorCode;
  readonly errorMessage: string;
}

export interface SnapshotInputs {
  readonly epoch: number;
  readonly models: readonly DesiredModel[];
  readonly instances: readonly Instance[];
  /** Labels are kept from it while their new version is not available. */
  readonly previous: RegistrySnapshot;
  /** Everything asked for at start was loaded or failed. */
  readonly started: boolean;
  readonly draining: boolean;
  /** Ready only while every model that is asked for is available; false: ready once started. */
  readonly strictReadiness: boolean;
}

export const EMPTY_SNAPSHOT: RegistrySnapshot = deepFreeze({
  epoch: 0, models: {}, ready: false, draining: false,
});

/** Which of several instances of one version stands for it: the one that serves. */
const STATE_RANK: Readonly<Record<VersionState, number>> = {
  AVAILABLE: 0, LOADING: 1, START: 2, UNLOADING: 3, END: 4,
};

/** A new frozen snapshot; shares nothing mutable with the inputs. */
export function buildSnapshot(inputs: SnapshotInputs): RegistrySnapshot {
  const wanted = new Map(inputs.models.map((model) => [model.name, model]));
  const instances = new Map<string, Instance[]>();
  for (const name of wanted.keys()) instances.set(name, []);
  for (const instance of inputs.instances) {
    const group = instances.get(instance.name);
    if (group === undefined) instances.set(instance.name, [instance]);
    else group.push(instance);
  }
  const models = [...instances.keys()].sort().map((name): [string, ModelSnapshot] => {
    const before = findModel(inputs.previous, name);
    const labels = wanted.get(name)?.labels ?? {};
    return [name, buildModel(name, instances.get(name) ?? [], labels, before?.labels ?? {})];
  });
  const byName = Object.fromEntries(models);
  const available = (model: DesiredModel): boolean =>
    byName[model.name]?.defaultVersion !== undefined;
  return deepFreeze({
    epoch: inputs.epoch,
    models: byName,
    ready: inputs.started && (!inputs.strictReadiness || inputs.models.every(available)),
    draining: inputs.draining,
  });
}

function buildModel(
  name: string, instances: readonly Instance[], labels: Readonly<Record<string, string>>,
  previousLabels: Readonly<Record<string, string>>,
): ModelSnapshot {
  const shown = new Map<string, Instance>();
  for (const instance of instances) {
    const { version } = instance.desired;
    const other = shown.get(version);
    if (other === undefined || STATE_RANK[instance.state] < STATE_RANK[other.state]) {
      shown.set(version, instance);
    }
  }
  const versions = [...shown.values()]
    .sort((a, b) => compareVersions(b.desired.version, a.desired.version))
    .map(buildVersion);
  const available = versions.filter((one) => one.state === 'AVAILABLE').map((one) => one.version);
  return {
    name,
    versions,
    labels: applyLabels(labels, new Set(available), previousLabels),
    defaultVersion: available[0],
  };
}

function buildVersion(instance: Instance): VersionSnapshot {
  const { desired, state, loaded } = instance;
  const serving = state === 'AVAILABLE' ? loaded : undefined;
  return {
    version: desired.version,
    state,
    handle: serving?.handle,
    errorCode: instance.errorCode,
    errorMessage: instance.errorMessage,
    format: desired.format,
    platform: desired.platform,
    signatures: serving?.signatures ?? [],
  };
}

/** The same for the engine. Versions that do not serve have handle 0 and a reason. */
export function buildRoutes(snapshot: RegistrySnapshot): readonly ModelRoute[] {
  return Object.values(snapshot.models).map((model) => ({
    name: model.name,
    defaultVersion: model.versions.findIndex((one) => one.version === model.defaultVersion),
    versions: model.versions.map((one) => ({
      version: one.version,
      handle: one.handle ?? 0,
      ready: one.handle !== undefined,
      reason: one.handle === undefined ? notReadyReason(one) : '',
    })),
    labels: model.labels,
  }));
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

/** The model of that name; names such as "constructor" find nothing. */
export function findModel(snapshot: RegistrySnapshot, name: string): ModelSnapshot | undefined {
  return Object.hasOwn(snapshot.models, name) ? snapshot.models[name] : undefined;
}

/** Freezes plain data and returns it. Depth is that of the snapshot's types. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const member of Object.values(value)) deepFreeze(member);
  return Object.freeze(value);
}
