// The server as callers see it whose key has a number: the models that it may use, and requests
// that count under its number. Control plane, but for the look-up of a route; the listener's
// thread.
import type { ApiKey } from '../../access/keys.js';
import { CallerLink } from '../../engine/caller-link.js';
import type { RequestLink } from '../../engine/link.js';
import type { Route, Router } from '../../listeners/http/listener.js';
import { RouteCache } from '../../listeners/http/routes/route-cache.js';
import type { ListenerSnapshots, RegistrySnapshot } from '../../model/snapshot.js';
import { limitedSnapshot } from '../../models/registry/snapshot-build.js';
import type { ModelControl } from '../../protocols/control.js';
import type { EngineReadings } from '../../protocols/engine-readings.js';
import { limitedControl } from '../../protocols/limited-control.js';
import { limitedMetrics } from '../observe/metrics/limited-metrics.js';
import type { ListenerThread } from './listener-thread.js';

/** The part of the server that protocols show and use. */
export interface ModelView extends ListenerSnapshots {
  readonly link: RequestLink;
  readonly readings: EngineReadings;
  /** The control calls, for the models of this view. */
  limited(control: ModelControl): ModelControl;
}

/** A key that was just removed may use nothing. */
const NOTHING: readonly string[] = [];
export class KeyView implements ModelView {
  readonly link: RequestLink;
  readonly readings: EngineReadings;
  readonly #thread: ListenerThread;
  readonly #models: readonly string[] | undefined;
  /** The latest snapshots, and what the key sees of them. */
  #snapshot: readonly [RegistrySnapshot, RegistrySnapshot] | undefined;
  #shown: readonly [RegistrySnapshot, RegistrySnapshot] | undefined;

  /** `caller`: ApiKey.caller. The view is valid until the keys change. */
  constructor(thread: ListenerThread, caller: number) {
    const key = (thread.policy.keys ?? []).find((one) => one.caller === caller);
    this.#thread = thread;
    this.#models = key === undefined ? NOTHING : key.models;
    this.link = new CallerLink(thread.link, caller);
    this.readings = this.#limitedReadings(key);
  }

  get snapshot(): RegistrySnapshot {
    this.#snapshot = this.#seen(this.#snapshot, this.#thread.snapshot);
    return this.#snapshot[1];
  }

  get shown(): RegistrySnapshot {
    this.#shown = this.#seen(this.#shown, this.#thread.shown);
    return this.#shown[1];
  }

  limited(control: ModelControl): ModelControl {
    return this.#models === undefined ? control : limitedControl(control, this.#models);
  }

  #seen(
    before: readonly [RegistrySnapshot, RegistrySnapshot] | undefined,
    now: RegistrySnapshot,
  ): readonly [RegistrySnapshot, RegistrySnapshot] {
    if (before?.[0] === now) return before;
    return [now, this.#models === undefined ? now : limitedSnapshot(now, this.#models)];
  }

  #limitedReadings(key: ApiKey | undefined): EngineReadings {
    const { readings } = this.#thread;
    const models = this.#models;
    if (models === undefined) return readings;
    return {
      stats: (handles) => readings.stats(handles),
      outage: (model, version) => readings.outage(model, version),
      metrics: async (kind) => {
        const text = (await readings.metrics(kind)).toString('utf8');
        return Buffer.from(limitedMetrics(text, models, key?.name ?? ''), 'utf8');
      },
    };
  }
}

/** Routes of callers whose keys have numbers, kept until what they depend on changes. */
export class KeyedRouters {
  readonly #routers = new Map<number, RouteCache>();

  /** `routerOf`: the routes of a caller. */
  constructor(
    thread: Pick<ListenerThread, 'subscribe'>,
    private readonly routerOf: (caller: number) => Router,
  ) {
    thread.subscribe((models) => {
      if (models === undefined) this.#routers.clear();
      else for (const routes of this.#routers.values()) routes.clear();
    });
  }

  find(caller: number, method: string, path: string): Route {
    let routes = this.#routers.get(caller);
    if (routes === undefined) {
      routes = new RouteCache(this.routerOf(caller));
      this.#routers.set(caller, routes);
    }
    return routes.find(method, path);
  }
}
