// The client of V2 over REST with Triton's extensions for control: configuration, statistics, the
// repository. Any thread of any JavaScript runtime.
import type { AnyModels, ModelTypesByName } from '../core/models.js';
import type {
  CallOptions,
  Document,
  IndexOptions,
  LoadOptions,
  ModelIndex,
  VersionOptions,
} from '../core/types.js';
import { modelPath } from './http.js';
import { V2RestClient } from './v2.js';

/** V2 (Predict Protocol V2, Triton's and KServe's) over REST. M: types of `serval types`. */
export class V2ControlClient<M extends ModelTypesByName<M> = AnyModels> extends V2RestClient<M> {
  /** Triton's ModelConfig. */
  modelConfig(model: keyof M & string, options: VersionOptions = {}): Promise<Document> {
    const path = `${modelPath('v2', model, options.version)}/config`;
    return this.caller.json({ path }, options) as Promise<Document>;
  }

  /** Triton's statistics of a model, or of all. */
  statistics(model?: keyof M & string, options: VersionOptions = {}): Promise<Document> {
    const path = model === undefined ? '/v2/models' : modelPath('v2', model, options.version);
    return this.caller.json({ path: `${path}/stats` }, options) as Promise<Document>;
  }

  /** The models of the repository with their states. */
  async index({ ready, ...options }: IndexOptions = {}): Promise<readonly ModelIndex[]> {
    const found = await this.caller.post('/v2/repository/index', { ready }, options);
    return (found as Partial<ModelIndex>[]).map(
      ({ name = '', version = '', state = '', reason = '' }) => ({ name, version, state, reason }),
    );
  }

  /** Loads or reloads a model; settles when it serves. */
  async load(model: keyof M & string, { config, parameters, ...options }: LoadOptions = {}) {
    const text = typeof config === 'object' ? JSON.stringify(config) : config;
    await this.#control(model, 'load', { ...parameters, config: text }, options);
  }

  /** Unloads a model; settles when it has ended. `parameters`: `unload_dependents`. */
  async unload(model: keyof M & string, { parameters, ...options }: LoadOptions = {}) {
    await this.#control(model, 'unload', { ...parameters }, options);
  }

  async #control(model: string, verb: string, parameters: Document, options: CallOptions) {
    const path = `/v2/repository/models/${encodeURIComponent(model)}/${verb}`;
    await this.caller.call({ path, body: JSON.stringify({ parameters }) }, options);
  }
}
