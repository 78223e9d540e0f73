// The server's access policy, from the settings and the key file, updated when the file changes.
// Control plane, main thread.
import { policyOf, type AccessConfig } from '../../config/access.js';
import { WEIGHT_DEFAULT } from '../../base/limits.js';
import type { Logger } from '../../base/logger.js';
import { KeyFile } from '../../access/key-file.js';
import type { ApiKey } from '../../access/keys.js';
import type { Caller } from '../../model/engine-api.js';
import type { Policy } from '../../access/policy.js';

/** The engine's limits of a caller that has none. */
const UNLIMITED = { maxInFlight: 0, requestsPerSecond: 0, rowsPerSecond: 0 } as const;

/** The engine's callers: the keys that have a number. */
function callersOf(keys: readonly ApiKey[]): readonly Caller[] {
  return keys.flatMap(({ caller, name, limits, models = [], weight = WEIGHT_DEFAULT }) =>
    caller === undefined
      ? []
      : [{ number: caller, name, limits: { ...UNLIMITED, ...limits }, models, weight }],
  );
}

/** Makes callers known to the engine: EngineControl.publishCallers(). */
export type PublishCallers = (callers: readonly Caller[]) => void;

export class ServerAccess {
  readonly #config: AccessConfig;
  readonly #logger: Logger;
  readonly #file: KeyFile | undefined;
  readonly #followers: ((policy: Policy) => Promise<void>)[] = [];
  #policy: Policy;
  /** Numbers of keys by name: a key keeps its number, and its counts, when the file changes. */
  readonly #numbers = new Map<string, number>();
  /** Numbers given so far. None is given again: requests of a key that is gone may still run. */
  #numbered = 0;
  #publish: PublishCallers = () => undefined;

  /** Errors: InvalidArgument: the key file. */
  constructor(config: AccessConfig, logger: Logger) {
    this.#config = config;
    this.#logger = logger;
    const { keyFile: path } = config;
    if (path !== undefined) {
      const changed = (keys: readonly ApiKey[] | undefined, problem: string): void =>
        void this.#changed(keys, problem);
      this.#file = new KeyFile({ path, changed });
    }
    this.#policy = policyOf(config, this.#file && this.#withNumbers(this.#file.keys));
  }

  get policy(): Policy {
    return this.#policy;
  }

  /** Calls `follower` with each later policy; its promise settles when the policy is in effect. */
  follow(follower: (policy: Policy) => Promise<void>): void {
    this.#followers.push(follower);
  }

  /** Calls `publish` with the engine's callers, now and before each later policy is in effect. */
  publishTo(publish: PublishCallers): void {
    this.#publish = publish;
    this.#publish(callersOf(this.#policy.keys ?? []));
  }

  /** Rereads the key file. */
  reload(): void {
    this.#file?.reload();
  }

  close(): void {
    this.#file?.close();
  }

  async #changed(keys: readonly ApiKey[] | undefined, problem: string): Promise<void> {
    if (keys === undefined) {
      this.#logger.error('failed to reload API keys; keeping the current ones', {
        reason: problem,
      });
      return;
    }
    const before = callersOf(this.#policy.keys ?? []);
    const policy = policyOf(this.#config, this.#withNumbers(keys));
    const callers = callersOf(policy.keys ?? []);
    // Until every listener has the new keys, the engine knows the old ones too.
    const known = new Set(callers.map(({ number }) => number));
    this.#publish([...callers, ...before.filter(({ number }) => !known.has(number))]);
    this.#policy = policy;
    await Promise.all(this.#followers.map((follower) => follower(policy)));
    if (this.#policy === policy) this.#publish(callers);
    if (keys.length > 0) this.#logger.info('API keys reloaded', { keys: keys.length });
    else this.#logger.warn('API keys reloaded: the file contains none');
  }

  /** The keys with their numbers; those of other keys are forgotten. */
  #withNumbers(keys: readonly ApiKey[]): readonly ApiKey[] {
    const names = new Set(keys.map(({ name }) => name));
    for (const name of this.#numbers.keys()) {
      if (!names.has(name)) this.#numbers.delete(name);
    }
    return keys.map((key) => {
      // A single key shares the models with nobody.
      const isPlain = key.limits === undefined && key.models === undefined;
      if (isPlain && keys.length === 1 && !this.#numbers.has(key.name)) return key;
      const caller = this.#numbers.get(key.name) ?? ++this.#numbered;
      this.#numbers.set(key.name, caller);
      return { ...key, caller };
    });
  }
}
