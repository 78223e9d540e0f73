// The client of V2 over REST. Any thread of any JavaScript runtime: browsers run this file. Only
// calls of the protocol and its extensions; the binary extension is used if the server lists it.
import type { Clock } from '../core/retry.js';
import { ClientError } from '../core/errors.js';
import type {
  AnyModels,
  InferOptionsOf,
  InferResultOf,
  InputsOf,
  ModelTypesByName,
} from '../core/models.js';
import { MetadataCache, needsMetadata, tensorsOf } from '../core/tensors.js';
import type {
  CallOptions,
  InferOptions,
  Inputs,
  ModelMetadata,
  RestOptions,
  ServerMetadata,
  TensorInfo,
  VersionOptions,
} from '../core/types.js';
import { RestCaller, modelPath, type Send } from './http.js';
import { v2Body, v2Result } from './v2-message.js';

const LENGTH_HEADER = 'inference-header-content-length';
const BINARY = 'binary_tensor_data';

/** The calls of inference. M: types of `serval types`. */
export class V2RestClient<M extends ModelTypesByName<M> = AnyModels> {
  protected readonly caller: RestCaller;
  readonly #metadata = new MetadataCache<ModelMetadata>();
  readonly #server = new MetadataCache<ServerMetadata>();

  /** `url`: "http://HOST:PORT", with a path if a proxy has one. `send`, `clock`: for other
   * runtimes and tests. */
  constructor(url: string, options: RestOptions = {}, send?: Send, clock?: Clock) {
    this.caller = new RestCaller(url, options, send, clock);
  }

  /** Runs a model. Missing datatypes and shapes come from its metadata, which is cached. */
  async infer<K extends keyof M & string>(
    model: K,
    inputs: InputsOf<M[K]>,
    options: InferOptionsOf<M[K]> = {},
  ): Promise<InferResultOf<M[K]>> {
    const asked = options as InferOptions;
    const { version = '', raw } = asked;
    const path = modelPath('v2', model, version);
    const left = this.caller.remaining(asked);
    const infos = needsMetadata(inputs as Inputs) ? await this.#infos(path, model, left()) : [];
    const tensors = tensorsOf(inputs as Inputs, infos);
    const binary = asked.binary ?? (await this.#hasBinary(left()));
    const { body, jsonBytes } = v2Body(tensors, asked, binary);
    const headers: Record<string, string> = {
      'content-type': jsonBytes === undefined ? 'application/json' : 'application/octet-stream',
    };
    if (jsonBytes !== undefined) headers[LENGTH_HEADER] = String(jsonBytes);
    // A model with state must not see a request twice.
    const isRepeatable =
      asked.sequence === undefined && asked.parameters?.['sequence_id'] === undefined;
    const call = { path: `${path}/infer`, headers, body, isRepeatable };
    const reply = await this.#metadata.forgetOnError(path, this.caller.call(call, left()));
    const length = reply.headers.get(LENGTH_HEADER);
    const result = v2Result(reply.body, length === null ? undefined : Number(length), raw);
    return result as InferResultOf<M[K]>;
  }

  /** The server's name, version and extensions. */
  async serverMetadata(options?: CallOptions): Promise<ServerMetadata> {
    const found = (await this.caller.json({ path: '/v2' }, options)) as Partial<ServerMetadata>;
    return {
      name: found.name ?? '',
      version: found.version ?? '',
      extensions: found.extensions ?? [],
    };
  }

  /** Whether the process runs. */
  live(options?: CallOptions): Promise<boolean> {
    return this.#healthy('/v2/health/live', options);
  }

  /** Whether the server serves; false also while a model is not ready. */
  ready(options?: CallOptions): Promise<boolean> {
    return this.#healthy('/v2/health/ready', options);
  }

  /** Whether a model serves; false if there is none. */
  modelReady(model: keyof M & string, options: VersionOptions = {}): Promise<boolean> {
    return this.#healthy(`${modelPath('v2', model, options.version)}/ready`, options);
  }

  /** Inputs, outputs and versions of a model. */
  async modelMetadata(
    model: keyof M & string,
    options: VersionOptions = {},
  ): Promise<ModelMetadata> {
    const path = modelPath('v2', model, options.version);
    const found = (await this.caller.json({ path }, options)) as Partial<ModelMetadata>;
    const { name = model, versions = [], platform = '', inputs = [], outputs = [] } = found;
    return { name, versions, platform, inputs, outputs };
  }

  async #healthy(path: string, options: CallOptions = {}): Promise<boolean> {
    const once = { ...options, retries: { attempts: 1 } };
    const accepts = (status: number): boolean => status === 400 || status === 404 || status === 503;
    const { status } = await this.caller.call({ path, accepts }, once);
    return status === 200;
  }

  async #infos(path: string, model: string, options: InferOptions): Promise<readonly TensorInfo[]> {
    const load = () => this.modelMetadata(model as keyof M & string, options);
    try {
      return (await this.#metadata.get(path, load)).inputs;
    } catch (error) {
      // Optional in the protocol.
      if ((error as ClientError).code === 'UNIMPLEMENTED') return [];
      throw error;
    }
  }

  async #hasBinary(options: CallOptions): Promise<boolean> {
    const load = () => this.serverMetadata(options);
    return (await this.#server.get('', load)).extensions.includes(BINARY);
  }
}
