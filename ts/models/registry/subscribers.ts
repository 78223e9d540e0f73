// Subscribers of the registry's snapshots, and their outstanding acknowledgements. Control plane,
// main thread only.
import { reasonOf } from '../../base/errors.js';
import type { Logger } from '../../base/logger.js';
import type { RegistrySnapshot } from '../../model/snapshot.js';

/**
 * Receives a snapshot. A resolved promise acknowledges it: from then on the subscriber begins no
 * request on a handle that is not in it. A rejection is logged and counts as an acknowledgement.
 */
export type SnapshotListener = (snapshot: RegistrySnapshot) => void | Promise<void>;

interface Subscriber {
  readonly listener: SnapshotListener;
  /** Resolvers of outstanding acknowledgements. */
  readonly due: Set<() => void>;
}

export class Subscribers {
  readonly #all = new Set<Subscriber>();
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /**
   * Calls the listener at once with `present`; the returned function unsubscribes it: its
   * outstanding acknowledgements then count as given.
   */
  add(listener: SnapshotListener, present: RegistrySnapshot): () => void {
    const subscriber: Subscriber = { listener, due: new Set() };
    this.#all.add(subscriber);
    void this.#deliver(subscriber, present);
    return () => {
      this.#all.delete(subscriber);
      for (const resolve of subscriber.due) resolve();
      subscriber.due.clear();
    };
  }

  /** Settles when every current subscriber has acknowledged. */
  async deliver(snapshot: RegistrySnapshot): Promise<void> {
    await Promise.all([...this.#all].map((one) => this.#deliver(one, snapshot)));
  }

  #deliver(subscriber: Subscriber, snapshot: RegistrySnapshot): Promise<void> {
    return new Promise((resolve) => {
      subscriber.due.add(resolve);
      const acknowledge = (): void => {
        subscriber.due.delete(resolve);
        resolve();
      };
      const failed = (error: unknown): void => {
        const reason = reasonOf(error);
        this.#logger.error('a subscriber failed to apply a snapshot', {
          epoch: snapshot.epoch,
          reason,
        });
        acknowledge();
      };
      try {
        Promise.resolve(subscriber.listener(snapshot)).then(acknowledge, failed);
      } catch (error) {
        failed(error);
      }
    });
  }
}
