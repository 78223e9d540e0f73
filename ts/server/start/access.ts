// The server's access policy, from the settings and the key file, updated when the file changes.
// Control plane, main thread.
import { policyOf, type AccessConfig } from '../../config/access.js';
import type { Logger } from '../../base/logger.js';
import { KeyFile } from '../../access/key-file.js';
import type { ApiKey } from '../../access/keys.js';
import type { Policy } from '../../access/policy.js';

export class ServerAccess {
  readonly #config: AccessConfig;
  readonly #logger: Logger;
  readonly #file: KeyFile | undefined;
  readonly #followers: ((policy: Policy) => Promise<void>)[] = [];
  #policy: Policy;

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
    this.#policy = policyOf(config, this.#file?.keys);
  }

  get policy(): Policy {
    return this.#policy;
  }

  /** Calls `follower` with each later policy; its promise settles when the policy is in effect. */
  follow(follower: (policy: Policy) => Promise<void>): void {
    this.#followers.push(follower);
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
    this.#policy = policyOf(this.#config, keys);
    const policy = this.#policy;
    await Promise.all(this.#followers.map((follower) => follower(policy)));
    if (keys.length > 0) this.#logger.info('API keys reloaded', { keys: keys.length });
    else this.#logger.warn('API keys reloaded: the file contains none');
  }
}
