// Publishes snapshots: to the engine as the routes that differ, to subscribers whole, each at its
// time (publish-turns.ts). Control plane, main thread.
import { reasonOf } from '../../base/errors.js';
import { HeapOfModels } from '../../base/memory/garbage.js';
import type { Logger } from '../../base/logger.js';
import type { EngineControl } from '../../model/engine-api.js';
import type { RegistrySnapshot } from '../../model/snapshot.js';
import type { Clock } from './clock.js';
import { PublishTurns } from './publish-turns.js';
import { buildRoute, buildSnapshot, EMPTY_SNAPSHOT, findModel } from './snapshot-build.js';
import type { SnapshotInputs } from './snapshot-build.js';
import { Subscribers, type SnapshotListener } from './subscribers.js';

export class Publisher {
  readonly turns: PublishTurns;
  readonly #engine: EngineControl;
  readonly #logger: Logger;
  readonly #subscribers: Subscribers;
  /** Makes a text fit for clients: the engine tells them why a model is not ready. */
  readonly #publicText: (text: string) => string;
  /** Models whose new routes have not been sent to the engine yet. */
  readonly #routesDue = new Set<string>();
  readonly #heap = new HeapOfModels();
  #snapshot: RegistrySnapshot = EMPTY_SNAPSHOT;

  constructor(
    engine: EngineControl,
    logger: Logger,
    clock: Clock,
    publicText: (text: string) => string = (text) => text,
  ) {
    this.turns = new PublishTurns(clock);
    this.#engine = engine;
    this.#logger = logger;
    this.#publicText = publicText;
    this.#subscribers = new Subscribers(logger);
  }

  /** The latest snapshot; frozen. */
  get snapshot(): RegistrySnapshot {
    return this.#snapshot;
  }

  /** See Registry.subscribe(). */
  subscribe(listener: SnapshotListener): () => void {
    return this.#subscribers.add(listener, this.#snapshot);
  }

  /** Publishes now. Settles when every current subscriber has acknowledged. */
  publish(inputs: Omit<SnapshotInputs, 'epoch' | 'previous'>): Promise<void> {
    return this.turns.take(async () => {
      const previous = this.#snapshot;
      const snapshot = buildSnapshot({ ...inputs, epoch: previous.epoch + 1, previous });
      this.#snapshot = snapshot;
      for (const name of inputs.changed) this.#routesDue.add(name);
      this.#heap.note(inputs.changed.size);
      this.#publishRoutes(snapshot);
      await this.#subscribers.deliver(snapshot);
    });
  }

  #publishRoutes(snapshot: RegistrySnapshot): void {
    const models = [...this.#routesDue].flatMap((name) => findModel(snapshot, name) ?? []);
    const gone = [...this.#routesDue].filter((name) => findModel(snapshot, name) === undefined);
    try {
      const routes = models.map((model) => buildRoute(model, this.#publicText));
      this.#engine.publishRoutes(snapshot.epoch, routes, gone);
      this.#routesDue.clear();
    } catch (error) {
      const reason = reasonOf(error);
      this.#logger.error('the engine did not accept the routes', { epoch: snapshot.epoch, reason });
    }
  }
}
