// Desired versions minus actual versions gives loads and unloads. Pure functions of a view and a
// clock; the one caller is ts/models/registry/registry.ts. Control plane.
// Source: tfserving.md 3.4.
import type { VersionState } from '../../model/snapshot.js';
import { compareVersions } from '../../model/version-policy.js';

/** One version with one content. Equal keys mean the same model file with the same settings. */
export interface ServableId {
  readonly key: string;
  readonly name: string;
  readonly version: string;
}

export interface ServableView extends ServableId {
  readonly state: VersionState;
  /** END after an unload, not after a failed load. */
  readonly unloaded: boolean;
  /** Failed loads so far; Infinity if retrying cannot help. */
  readonly failures: number;
  /** When the last load failed. */
  readonly failedAtMs: number;
}

/**
 * availability: the new version serves before the old one is unloaded; resource: the old one is
 * unloaded before the new one is loaded.
 */
export type Transition = 'availability' | 'resource';

export interface RetryRules {
  /** How often a failed load is retried. */
  readonly loadRetries: number;
  readonly loadRetryMs: number;
}

/** Some models, or all of them. */
export interface LifecycleView extends RetryRules {
  /** Names of the desired models, including those without versions. */
  readonly models: ReadonlySet<string>;
  readonly desired: readonly ServableId[];
  readonly actual: readonly ServableView[];
  readonly loadsAtOnce: number;
  /** Loads under way of models that are not in the view. */
  readonly loadingElsewhere: number;
  readonly endedVersionsMax: number;
  readonly transition: Transition;
  /** A clock that never goes back. */
  readonly nowMs: number;
}

/**
 * add: insert it in state START (END if no load can help). load: START -> LOADING. unload:
 * AVAILABLE -> UNLOADING. retry: END -> START, retries a failed load. forget: remove it from the
 * view.
 */
export interface LifecycleAction {
  readonly kind: 'add' | 'load' | 'unload' | 'retry' | 'forget';
  readonly key: string;
  readonly name: string;
}

/**
 * Actions to take now. The desired state is reached by applying all of them and calling again until
 * the result is empty, nothing is LOADING or UNLOADING, and retryAtMs() returns nothing.
 */
export function lifecycleActions(view: LifecycleView): readonly LifecycleAction[] {
  const desiredKeys = new Set(view.desired.map((id) => id.key));
  return [
    ...forgets(view, desiredKeys),
    ...adds(view),
    ...retries(view, desiredKeys),
    ...loads(view, desiredKeys),
    ...unloads(view, desiredKeys),
  ];
}

function action(kind: LifecycleAction['kind'], { key, name }: ServableId): LifecycleAction {
  return { kind, key, name };
}

/** When a failed load is retried; undefined if it is not. */
export function retryAtMs(
  one: Omit<ServableView, keyof ServableId>,
  rules: RetryRules,
): number | undefined {
  if (one.state !== 'END' || one.unloaded || one.failures > rules.loadRetries) return undefined;
  return one.failedAtMs + rules.loadRetryMs;
}

/** Orders by name, then by version, highest first. */
export function compareServables(a: ServableId, b: ServableId): number {
  if (a.name !== b.name) return a.name < b.name ? -1 : 1;
  return compareVersions(b.version, a.version);
}

function adds(view: LifecycleView): LifecycleAction[] {
  const known = new Set(view.actual.filter((one) => !one.unloaded).map((one) => one.key));
  return [...view.desired]
    .filter((id) => !known.has(id.key))
    .sort(compareServables)
    .map((id) => action('add', id));
}

function retries(view: LifecycleView, desired: ReadonlySet<string>): LifecycleAction[] {
  return view.actual
    .filter((one) => desired.has(one.key) && (retryAtMs(one, view) ?? Infinity) <= view.nowMs)
    .sort(compareServables)
    .map((one) => action('retry', one));
}

function loads(view: LifecycleView, desired: ReadonlySet<string>): LifecycleAction[] {
  const loading = view.actual.filter((one) => one.state === 'LOADING').length;
  const occupied = new Set(
    view.transition === 'availability'
      ? []
      : view.actual
          .filter((one) => !desired.has(one.key) && holdsMemory(one))
          .map((one) => one.name),
  );
  return view.actual
    .filter((one) => one.state === 'START' && desired.has(one.key) && !occupied.has(one.name))
    .sort(compareServables)
    .slice(0, Math.max(0, view.loadsAtOnce - view.loadingElsewhere - loading))
    .map((one) => action('load', one));
}

function holdsMemory({ state }: ServableView): boolean {
  return state === 'LOADING' || state === 'AVAILABLE' || state === 'UNLOADING';
}

function unloads(view: LifecycleView, desired: ReadonlySet<string>): LifecycleAction[] {
  const actions: LifecycleAction[] = [];
  const byName = groupByName(view.actual);
  const desiredByName = groupByName(view.desired);
  for (const [name, servables] of byName) {
    const available = servables.filter((one) => one.state === 'AVAILABLE');
    const wanted = desiredByName.get(name) ?? [];
    const surplus = available.filter((one) => !desired.has(one.key)).sort(compareServables);
    const serving = available.filter((one) => desired.has(one.key));
    const makesRoom =
      view.transition === 'resource' &&
      servables.some((one) => one.state === 'START' && desired.has(one.key));
    // While a wanted version is not yet available, a label may still need the surplus one.
    const coming = wanted.some(
      (id) =>
        !servables.some(
          (one) => one.key === id.key && (one.state === 'AVAILABLE' || one.state === 'END'),
        ),
    );
    surplus.forEach((one, rank) => {
      if (makesRoom || (!coming && canGo(one, rank, wanted, serving))) {
        actions.push(action('unload', one));
      }
    });
  }
  return actions;
}

/**
 * Whether a surplus servable can be unloaded without a gap in service, once all wanted versions
 * have been tried. `rank` 0 is the highest surplus version of its model.
 */
function canGo(
  one: ServableId,
  rank: number,
  wanted: readonly ServableId[],
  serving: readonly ServableId[],
): boolean {
  if (wanted.length === 0) return true;
  const sameVersion = (other: ServableId): boolean => other.version === one.version;
  if (wanted.some(sameVersion)) return serving.some(sameVersion);
  return serving.length > 0 || rank > 0;
}

function forgets(view: LifecycleView, desired: ReadonlySet<string>): LifecycleAction[] {
  const actions: LifecycleAction[] = [];
  for (const [name, servables] of groupByName(view.actual)) {
    const ended = servables.filter((one) => one.unloaded).sort(compareServables);
    const shown = new Set(servables.filter((one) => !one.unloaded).map((one) => one.version));
    let kept = 0;
    for (const one of ended) {
      const keep = view.models.has(name) && !desired.has(one.key) && !shown.has(one.version);
      if (keep && kept < view.endedVersionsMax) kept += 1;
      else actions.push(action('forget', one));
    }
    for (const one of servables) {
      const idle = one.state === 'START' || (one.state === 'END' && !one.unloaded);
      if (idle && !desired.has(one.key)) actions.push(action('forget', one));
    }
  }
  return actions;
}

function groupByName<T extends ServableId>(items: readonly T[]): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(item.name);
    if (group === undefined) groups.set(item.name, [item]);
    else group.push(item);
  }
  return groups;
}
