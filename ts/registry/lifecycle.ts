// Desired versions minus actual versions gives loads and unloads. Pure functions of a view; the one
// caller is ts/registry/registry.ts. Control plane.
// Source: tfserving.md 3.4, "availability preserving".
import type { VersionState } from './snapshot.js';
import { compareVersions } from './version-policy.js';

/** One version with one content. Equal keys mean the same model file with the same settings. */
export interface InstanceId {
  readonly key: string;
  readonly name: string;
  readonly version: string;
}

export interface InstanceView extends InstanceId {
  readonly state: VersionState;
  /** END after an unload, not after a failed load. */
  readonly unloaded: boolean;
}

export interface LifecycleView {
  /** Names of the models that are asked for, those without versions included. */
  readonly models: ReadonlySet<string>;
  readonly desired: readonly InstanceId[];
  readonly actual: readonly InstanceView[];
  readonly loadsAtOnce: number;
  readonly endedVersionsMax: number;
}

export type LifecycleAction =
  /** Make it known in state START. */
  | { readonly kind: 'add'; readonly key: string }
  /** START -> LOADING. */
  | { readonly kind: 'load'; readonly key: string }
  /** AVAILABLE -> UNLOADING. */
  | { readonly kind: 'unload'; readonly key: string }
  /** Drop from the view. */
  | { readonly kind: 'forget'; readonly key: string };

/** What to do now. Applying all of it and asking again, until the answer is empty and nothing is
 * LOADING or UNLOADING, reaches the desired state. A failed load is not tried again under its
 * key. */
export function planActions(view: LifecycleView): readonly LifecycleAction[] {
  const desiredKeys = new Set(view.desired.map((id) => id.key));
  return [
    ...planForgets(view, desiredKeys),
    ...planAdds(view),
    ...planLoads(view, desiredKeys),
    ...planUnloads(view, desiredKeys),
  ];
}

/** By name, then the highest version first. */
export function compareInstances(a: InstanceId, b: InstanceId): number {
  if (a.name !== b.name) return a.name < b.name ? -1 : 1;
  return compareVersions(b.version, a.version);
}

function planAdds(view: LifecycleView): LifecycleAction[] {
  const known = new Set(view.actual.filter((one) => !one.unloaded).map((one) => one.key));
  return [...view.desired]
    .filter((id) => !known.has(id.key))
    .sort(compareInstances)
    .map((id) => ({ kind: 'add', key: id.key }));
}

function planLoads(view: LifecycleView, desired: ReadonlySet<string>): LifecycleAction[] {
  const loading = view.actual.filter((one) => one.state === 'LOADING').length;
  return view.actual
    .filter((one) => one.state === 'START' && desired.has(one.key))
    .sort(compareInstances)
    .slice(0, Math.max(0, view.loadsAtOnce - loading))
    .map((one) => ({ kind: 'load', key: one.key }));
}

function planUnloads(view: LifecycleView, desired: ReadonlySet<string>): LifecycleAction[] {
  const actions: LifecycleAction[] = [];
  const byName = groupByName(view.actual);
  const desiredByName = groupByName(view.desired);
  for (const [name, instances] of byName) {
    const available = instances.filter((one) => one.state === 'AVAILABLE');
    const wanted = desiredByName.get(name) ?? [];
    const surplus = available.filter((one) => !desired.has(one.key)).sort(compareInstances);
    const serving = available.filter((one) => desired.has(one.key));
    surplus.forEach((one, rank) => {
      if (canGo(one, rank, wanted, serving)) actions.push({ kind: 'unload', key: one.key });
    });
  }
  return actions;
}

/** Whether a surplus instance may go. `rank` 0 is the highest surplus version of its model. */
function canGo(
  one: InstanceId, rank: number, wanted: readonly InstanceId[], serving: readonly InstanceId[],
): boolean {
  if (wanted.length === 0) return true;
  const sameVersion = (other: InstanceId): boolean => other.version === one.version;
  if (wanted.some(sameVersion)) return serving.some(sameVersion);
  return serving.length > 0 || rank > 0;
}

function planForgets(view: LifecycleView, desired: ReadonlySet<string>): LifecycleAction[] {
  const actions: LifecycleAction[] = [];
  for (const [name, instances] of groupByName(view.actual)) {
    const ended = instances.filter((one) => one.unloaded).sort(compareInstances);
    const shown = new Set(instances.filter((one) => !one.unloaded).map((one) => one.version));
    let kept = 0;
    for (const one of ended) {
      const keep = view.models.has(name) && !desired.has(one.key) && !shown.has(one.version);
      if (keep && kept < view.endedVersionsMax) kept += 1;
      else actions.push({ kind: 'forget', key: one.key });
    }
    for (const one of instances) {
      const idle = one.state === 'START' || (one.state === 'END' && !one.unloaded);
      if (idle && !desired.has(one.key)) actions.push({ kind: 'forget', key: one.key });
    }
  }
  return actions;
}

function groupByName<T extends InstanceId>(items: readonly T[]): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(item.name);
    if (group === undefined) groups.set(item.name, [item]);
    else group.push(item);
  }
  return groups;
}
