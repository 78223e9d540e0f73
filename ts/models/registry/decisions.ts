// Decides the registry's next steps from its table and a clock: which actions each model needs,
// when a snapshot is due, which waiters are done. Pure; its one caller,
// ts/models/registry/registry.ts, carries them out. Control plane.
import { BURST_MODELS } from '../../base/limits.js';
import type { Servables, Wanted } from './servables.js';
import { lifecycleActions } from './lifecycle.js';
import type { ServableId, LifecycleAction, RetryRules, Transition } from './lifecycle.js';
import type { Servable } from './snapshot-build.js';

export interface RegistryView {
  readonly wanted: Wanted;
  readonly servables: Servables;
  /** Ensembles whose steps are still moving. Absent: none. */
  readonly waiting?: ReadonlySet<string>;
  /** The server is shutting down: no load begins. */
  readonly draining: boolean;
}

export interface DecisionRules extends RetryRules {
  readonly loadsAtOnce: number;
  readonly endedVersionsMax: number;
  readonly transition: Transition;
}

/**
 * Actions for the models that have changed and, if loads may begin, for those that have waited
 * longest. The caller repeats until the result is empty.
 */
export function nextActions(
  { wanted, servables, draining }: RegistryView,
  rules: DecisionRules,
  nowMs: number,
): readonly LifecycleAction[] {
  const loadsAtOnce = draining ? 0 : rules.loadsAtOnce;
  const free = rules.transition === 'resource' ? Infinity : loadsAtOnce - servables.loading;
  const { dirty, starting } = servables;
  const names = new Set(dirty);
  for (const name of starting) {
    if (names.size - dirty.size >= free) break;
    names.add(name);
  }
  const chosen = [...names];
  const actual = chosen.flatMap((name) => servables.of(name));
  const loadingHere = actual.filter((one) => one.state === 'LOADING').length;
  return lifecycleActions({
    ...rules,
    models: new Set(chosen.filter((name) => wanted.models.has(name))),
    desired: chosen.flatMap((name) => wanted.versions.get(name) ?? []),
    actual: actual.map((one) => ({ ...one, version: one.desired.version })),
    loadsAtOnce,
    loadingElsewhere: servables.loading - loadingHere,
    nowMs,
  });
}

/**
 * When to publish the differences from the snapshot. While many models load or wait, a publish that
 * is not `urgent` waits until the last one is old enough (`isOpen`), to include changes that arrive
 * until then.
 */
export function whenToPublish(
  { loading, unloading, starting }: Pick<Servables, 'loading' | 'unloading' | 'starting'>,
  urgent: boolean,
  isOpen: boolean,
): 'now' | 'when open' {
  const moving = loading + unloading;
  const few = moving === 0 || moving + starting.size < BURST_MODELS;
  return urgent || few || isOpen ? 'now' : 'when open';
}

/** Models that a caller waits for. */
export interface Awaited {
  /** undefined = every model. */
  readonly names: readonly string[] | undefined;
  /** Whether loads that will be retried count as under way. */
  readonly retries: boolean;
}

/** Whether none of these models is loading, unloading or waiting for either. */
export function isSettled(view: RegistryView, { names, retries }: Awaited): boolean {
  const { loading, unloading, starting, retryAtMs } = view.servables;
  const begins = !view.draining;
  if (names === undefined) {
    const moving = loading + unloading > 0 || (begins && starting.size > 0);
    return !moving && !(begins && retries && retryAtMs.size > 0);
  }
  const moves = ({ state }: Servable): boolean =>
    state === 'LOADING' || state === 'UNLOADING' || (begins && state === 'START');
  return !names.some(
    (name) =>
      view.servables.of(name).some(moves) ||
      (begins && view.waiting?.has(name)) ||
      (begins && retries && retryAtMs.has(name)),
  );
}

/** Whether this exact content is still desired. */
export function isWanted(
  { wanted, draining }: RegistryView,
  { name, key }: Pick<ServableId, 'name' | 'key'>,
): boolean {
  return !draining && (wanted.versions.get(name)?.some((one) => one.key === key) ?? false);
}

/** When the next failed load is retried; undefined if there is none. */
export function nextRetryMs({ servables, draining }: RegistryView): number | undefined {
  if (draining || servables.retryAtMs.size === 0) return undefined;
  return Math.min(...servables.retryAtMs.values());
}
