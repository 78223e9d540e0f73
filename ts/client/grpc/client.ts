// The client of V2 and of TensorFlow Serving's Predict over gRPC. Node only, any thread. Only calls
// of the two protocols, so Triton and TensorFlow Serving answer them too.
import { INFERENCE_SERVICE, PREDICTION_SERVICE } from '../../base/services.js';
import {
  MODEL_CONFIG_RESPONSE as CONFIG_FIELDS,
  MODEL_METADATA_REQUEST as MODEL_FIELDS,
  MODEL_REPOSITORY_PARAMETER as LOAD_PARAMETER,
  MODEL_STREAM_INFER_RESPONSE as STREAM_FIELDS,
  REPOSITORY_INDEX_REQUEST as INDEX_FIELDS,
  REPOSITORY_MODEL_LOAD_REQUEST as LOAD_FIELDS,
} from '../../protobuf/generated/inference-fields.js';
import {
  MODEL_METADATA_RESPONSE,
  MODEL_READY_RESPONSE,
  MODEL_STATISTICS_RESPONSE,
  REPOSITORY_INDEX_RESPONSE,
  SERVER_LIVE_RESPONSE,
  SERVER_METADATA_RESPONSE,
  SERVER_READY_RESPONSE,
} from '../../protobuf/generated/inference.js';
import { MAP_ENTRY } from '../../protobuf/generated/map-entry-fields.js';
import { MODEL_CONFIG } from '../../protobuf/generated/model-config.js';
import { WireReader } from '../../protobuf/reader.js';
import { withDefaults } from '../../protobuf/schema-json.js';
import { decodeWire } from '../../protobuf/schema-read.js';
import type { MessageSchema } from '../../protobuf/schema.js';
import { ProtobufWriter } from '../../protobuf/writer.js';
import { ClientError, badResponse } from '../core/errors.js';
import type {
  AnyModels,
  InferOptionsOf,
  InferResultOf,
  InputsOf,
  ModelTypesByName,
} from '../core/models.js';
import { Calls, CLOCK, TIMEOUT_MS, type Clock } from '../core/retry.js';
import { MetadataCache, needsMetadata, tensorsOf } from '../core/tensors.js';
import type {
  CallOptions,
  Document,
  IndexOptions,
  InferOptions,
  InferResult,
  Inputs,
  LoadOptions,
  ModelIndex,
  ModelMetadata,
  ServerMetadata,
  TensorInfo,
  VersionOptions,
} from '../core/types.js';
import { Channel, type StreamCall } from './channel.js';
import { inferRequest, inferResult } from './infer-message.js';
import {
  DEFAULT_SIGNATURE,
  metadataRequest,
  predictRequest,
  predictResult,
  signatureInputs,
} from './serving.js';
import type { GrpcOptions, PredictOptions, StreamOptions, StreamRequest } from './options.js';

const V2 = `/${INFERENCE_SERVICE}/`;
const SERVING = `/${PREDICTION_SERVICE}/`;

/** V2 (Predict Protocol V2, Triton's and KServe's) over gRPC, and TensorFlow Serving's Predict. M:
 * types of `serval types`. */
export class GrpcClient<M extends ModelTypesByName<M> = AnyModels> {
  readonly #channel: Channel;
  readonly #calls: Calls;
  readonly #clock: Clock;
  readonly #options: GrpcOptions;
  readonly #metadata = new MetadataCache<ModelMetadata>();
  readonly #signatures = new MetadataCache<ReadonlyMap<string, readonly TensorInfo[]>>();

  /** `target`: "grpc://HOST:PORT", "grpcs://HOST:PORT" (TLS) or "unix:PATH". It connects with the
   * first call, and again after a lost connection. An idle client does not keep the process
   * running. */
  constructor(target: string, options: GrpcOptions = {}, clock: Clock = CLOCK) {
    this.#channel = new Channel(target, options);
    this.#calls = new Calls(options, clock);
    this.#clock = clock;
    this.#options = options;
  }

  /** Closes the connection when the calls in progress have ended. */
  close(): void {
    this.#channel.close();
  }

  /** Runs a model. Missing datatypes and shapes come from its metadata, which is cached. */
  async infer<K extends keyof M & string>(
    model: K,
    inputs: InputsOf<M[K]>,
    options: InferOptionsOf<M[K]> = {},
  ): Promise<InferResultOf<M[K]>> {
    const asked = options as InferOptions;
    const left = this.#remaining(asked);
    const message = await this.#inferMessage(model, inputs as Inputs, left());
    const hasState =
      asked.sequence !== undefined || asked.parameters?.['sequence_id'] !== undefined;
    const reply = await this.#metadata.forgetOnError(
      keyOf(model, asked),
      this.#unary(`${V2}ModelInfer`, message, left(), !hasState),
    );
    return decoded(reply, 'ModelInferResponse', (reader) =>
      inferResult(reader, asked.raw),
    ) as InferResultOf<M[K]>;
  }

  /**
   * Sends requests as they are yielded and yields the responses as they arrive: a decoupled model
   * returns any number for each request, so pass an `id`. Leaving the loop cancels the call. There
   * is no time limit by default, and no retry. Errors: ClientError; those of `requests`.
   */
  async *streamInfer(
    requests: Iterable<StreamRequest> | AsyncIterable<StreamRequest>,
    options: StreamOptions = {},
  ): AsyncGenerator<InferResult> {
    const { timeoutMs = 0, onError, raw } = options;
    const path = `${V2}ModelStreamInfer`;
    const ended = new AbortController();
    const signals = [ended.signal, ...(options.signal ? [options.signal] : [])];
    const limit = timeoutMs > 0 ? AbortSignal.timeout(timeoutMs) : undefined;
    const signal = AbortSignal.any(limit ? [...signals, limit] : signals);
    const encode = async function* (this: GrpcClient<M>): AsyncGenerator<Uint8Array> {
      for await (const { model, inputs, ...rest } of requests) {
        yield await this.#inferMessage(model, inputs, { ...options, ...rest, signal });
      }
    }.bind(this);
    const call = this.#call(path, options, { signal, left: timeoutMs > 0 ? timeoutMs : undefined });
    try {
      for await (const message of this.#channel.stream(encode(), call)) {
        const { error, result } = decoded(message, 'ModelStreamInferResponse', (reader) =>
          streamItem(path, reader, raw),
        );
        if (error === undefined) yield result as InferResult;
        else if (onError === undefined) throw error;
        else onError(error);
      }
    } catch (error) {
      if (options.signal?.aborted === true) {
        const cause = options.signal.reason as unknown;
        throw new ClientError('CANCELLED', `${path}: cancelled by the caller`, { cause });
      }
      if (limit?.aborted === true) {
        throw new ClientError('DEADLINE_EXCEEDED', `${path}: not ended in ${timeoutMs} ms`);
      }
      throw error;
    } finally {
      ended.abort();
    }
  }

  /** The server's name, version and extensions. */
  async serverMetadata(options?: CallOptions): Promise<ServerMetadata> {
    return (await this.#document(
      'ServerMetadata',
      NOTHING,
      SERVER_METADATA_RESPONSE,
      options,
    )) as never;
  }

  /** Whether the process runs. */
  async live(options: CallOptions = {}): Promise<boolean> {
    const once = { ...options, retries: { attempts: 1 } };
    return (
      (await this.#document('ServerLive', NOTHING, SERVER_LIVE_RESPONSE, once))['live'] === true
    );
  }

  /** Whether the server serves; false also while a model is not ready. */
  async ready(options: CallOptions = {}): Promise<boolean> {
    const once = { ...options, retries: { attempts: 1 } };
    return (
      (await this.#document('ServerReady', NOTHING, SERVER_READY_RESPONSE, once))['ready'] === true
    );
  }

  /** Whether a model serves; false if there is none. */
  async modelReady(model: keyof M & string, options: VersionOptions = {}): Promise<boolean> {
    const once = { ...options, retries: { attempts: 1 } };
    try {
      const found = await this.#document(
        'ModelReady',
        modelMessage(model, options),
        MODEL_READY_RESPONSE,
        once,
      );
      return found['ready'] === true;
    } catch (error) {
      if (error instanceof ClientError && error.code === 'NOT_FOUND') return false;
      throw error;
    }
  }

  /** Inputs, outputs and versions of a model. */
  async modelMetadata(
    model: keyof M & string,
    options: VersionOptions = {},
  ): Promise<ModelMetadata> {
    const message = modelMessage(model, options);
    return (await this.#document(
      'ModelMetadata',
      message,
      MODEL_METADATA_RESPONSE,
      options,
    )) as never;
  }

  /** Triton's ModelConfig. */
  async modelConfig(model: keyof M & string, options: VersionOptions = {}): Promise<Document> {
    const reply = await this.#unary(`${V2}ModelConfig`, modelMessage(model, options), options);
    const bytes = decoded(reply, 'ModelConfigResponse', (reader) => {
      let found: Uint8Array = NOTHING;
      while (reader.next()) {
        if (reader.field === CONFIG_FIELDS.config) found = reader.view();
        else reader.skip();
      }
      return found;
    });
    return documentOf(bytes, MODEL_CONFIG);
  }

  /** Triton's statistics of a model, or of all. */
  statistics(model: string = '', options: VersionOptions = {}): Promise<Document> {
    const message = modelMessage(model, options);
    return this.#document('ModelStatistics', message, MODEL_STATISTICS_RESPONSE, options);
  }

  /** The models of the repository with their states. */
  async index({ ready, ...options }: IndexOptions = {}): Promise<readonly ModelIndex[]> {
    const message = new ProtobufWriter();
    if (ready === true) message.varint(INDEX_FIELDS.ready, 1);
    const found = await this.#document(
      'RepositoryIndex',
      message.concat(),
      REPOSITORY_INDEX_RESPONSE,
      options,
    );
    return found['models'] as readonly ModelIndex[];
  }

  /** Loads or reloads a model; settles when it serves. */
  async load(model: keyof M & string, { config, parameters, ...options }: LoadOptions = {}) {
    const text = typeof config === 'object' ? JSON.stringify(config) : config;
    await this.#control(model, 'RepositoryModelLoad', { ...parameters, config: text }, options);
  }

  /** Unloads a model; settles when it has ended. `parameters`: `unload_dependents`. */
  async unload(model: keyof M & string, { parameters, ...options }: LoadOptions = {}) {
    await this.#control(model, 'RepositoryModelUnload', { ...parameters }, options);
  }

  /** TensorFlow Serving's Predict. Missing datatypes and shapes come from the signature. */
  async predict(model: string, inputs: Inputs, options: PredictOptions = {}): Promise<InferResult> {
    const key = `${keyOf(model, options)}/${options.label ?? ''}`;
    const left = this.#remaining(options);
    const infos = needsMetadata(inputs) ? await this.#signatureInfos(key, model, left()) : [];
    const message = predictRequest(model, tensorsOf(inputs, infos), options);
    const calling = this.#unary(`${SERVING}Predict`, message, left());
    const reply = await this.#signatures.forgetOnError(key, calling);
    return decoded(reply, 'PredictResponse', (reader) => predictResult(reader, options.raw));
  }

  async #signatureInfos(key: string, model: string, options: PredictOptions) {
    const { signature = DEFAULT_SIGNATURE } = options;
    const signatures = await this.#signatures.get(key, async () => {
      const path = `${SERVING}GetModelMetadata`;
      const reply = await this.#unary(path, metadataRequest(model, options), options);
      return decoded(reply, 'GetModelMetadataResponse', signatureInputs);
    });
    const found = signatures.get(signature);
    if (found !== undefined) return found;
    const known = [...signatures.keys()].join(', ') || 'none';
    const message = `${model}: expected one of the signatures ${known}, got ${signature}`;
    throw new ClientError('INVALID_ARGUMENT', message);
  }

  async #inferMessage(model: string, inputs: Inputs, options: InferOptions): Promise<Uint8Array> {
    const infos = needsMetadata(inputs) ? await this.#infos(model, options) : [];
    return inferRequest(model, tensorsOf(inputs, infos), options);
  }

  async #infos(model: string, options: InferOptions): Promise<readonly TensorInfo[]> {
    const load = () => this.modelMetadata(model as keyof M & string, options);
    try {
      return (await this.#metadata.get(keyOf(model, options), load)).inputs;
    } catch (error) {
      // Optional in the protocol.
      if ((error as ClientError).code === 'UNIMPLEMENTED') return [];
      throw error;
    }
  }

  /** Options for the further requests of one call, which share its time limit. */
  #remaining<O extends CallOptions>(options: O): () => O {
    const { timeoutMs = this.#options.timeoutMs ?? TIMEOUT_MS } = options;
    const end = this.#clock.now() + timeoutMs;
    return () =>
      timeoutMs > 0 ? { ...options, timeoutMs: Math.max(1, end - this.#clock.now()) } : options;
  }

  async #control(model: string, method: string, parameters: Document, options: CallOptions) {
    const message = new ProtobufWriter().string(LOAD_FIELDS.modelName, model);
    for (const [name, value] of Object.entries(parameters)) {
      if (value === undefined) continue;
      message.message(LOAD_FIELDS.parameters, (entry) => {
        entry.string(MAP_ENTRY.key, name).message(MAP_ENTRY.value, (choice) => {
          if (typeof value === 'boolean') choice.varint(LOAD_PARAMETER.boolParam, Number(value));
          else if (typeof value === 'string') choice.string(LOAD_PARAMETER.stringParam, value);
          else choice.varint(LOAD_PARAMETER.int64Param, value as number | bigint);
        });
      });
    }
    await this.#unary(V2 + method, message.concat(), options);
  }

  async #document(
    method: string,
    message: Uint8Array,
    schema: MessageSchema,
    options?: CallOptions,
  ): Promise<Document> {
    return documentOf(await this.#unary(V2 + method, message, options), schema);
  }

  #unary(
    path: string,
    message: Uint8Array,
    options: CallOptions = {},
    isRepeatable = true,
  ): Promise<Uint8Array> {
    const where = this.#channel.url + path;
    return this.#calls.run(where, options, isRepeatable, (attempt) =>
      this.#channel.unary(message, this.#call(path, options, attempt)),
    );
  }

  #call(
    path: string,
    options: CallOptions,
    attempt: Pick<StreamCall, 'signal' | 'left'>,
  ): StreamCall {
    const { apiKey, apiKeyHeader, headers, compression = 'none' } = this.#options;
    const key: Record<string, string> = {};
    if (apiKey !== undefined) {
      key[(apiKeyHeader ?? 'authorization').toLowerCase()] = apiKeyHeader
        ? apiKey
        : `Bearer ${apiKey}`;
    }
    const encoding = options.compression ?? compression;
    return { path, ...attempt, encoding, headers: { ...key, ...headers, ...options.headers } };
  }
}

const NOTHING = new Uint8Array(0);

const keyOf = (model: string, { version = '' }: VersionOptions): string =>
  JSON.stringify([model, String(version)]);

function modelMessage(model: string, { version = '' }: VersionOptions): Uint8Array {
  const out = new ProtobufWriter();
  if (model !== '') out.string(MODEL_FIELDS.name, model);
  if (version !== '') out.string(MODEL_FIELDS.version, String(version));
  return out.concat();
}

/** Errors: INTERNAL: not such a message. */
function decoded<T>(bytes: Uint8Array, name: string, read: (reader: WireReader) => T): T {
  try {
    return read(new WireReader(bytes, name));
  } catch (error) {
    if (error instanceof ClientError) throw error;
    throw badResponse(name, 'a message', error instanceof Error ? error.message : String(error));
  }
}

const documentOf = (bytes: Uint8Array, schema: MessageSchema): Document =>
  decoded(bytes, schema.name, () =>
    withDefaults(decodeWire(bytes, schema, schema.name).value, schema),
  );

function streamItem(path: string, reader: WireReader, raw: boolean | undefined) {
  let message = '';
  let result: InferResult | undefined;
  while (reader.next()) {
    if (reader.field === STREAM_FIELDS.errorMessage) message = reader.string();
    else if (reader.field === STREAM_FIELDS.inferResponse) {
      result = inferResult(reader.nested('ModelInferResponse'), raw);
    } else reader.skip();
  }
  // The protocol has a text, but no code for it.
  const error = message === '' ? undefined : new ClientError('UNKNOWN', `${path}: ${message}`);
  if (error === undefined && result === undefined) {
    throw badResponse(path, 'a response or an error', 'neither');
  }
  return { error, result };
}
