// loadModel(): a model in this process, without a server. Requests reach the engine as those of the
// REST listener do, by the same codec, but over no socket. The caller's thread; control plane.
import { ErrorCode, ServalError } from '../base/errors.js';
import type { SignatureInfo } from '../model/snapshot.js';
import { V2_REST } from '../model/request-kinds.js';
import type { CompletionTarget, EngineLink } from '../engine/link.js';
import { failure } from '../engine/missing.js';
import type { Written } from '../config/values/values.js';
import { keptAlive, openModel, type ModelChoice, type OpenModel } from './open-model.js';
import { columnsOf, tableAnswer, tableBody } from './table-request.js';
import { encodeInputs, tensorAnswer, tensorBody, type RequestBody } from './tensor-request.js';
import type { InferOptions, InputInfo, Inputs, Outputs } from './types.js';

const CLOSED = 'the model is closed';

/** One model, loaded. */
export class Model {
  readonly name: string;
  readonly version: string;
  /** "onnx", "tensorflow", "spark", "mleap" or "pmml". */
  readonly format: string;
  readonly platform: string;
  /** The signature that infer() calls. */
  readonly signature: string;
  readonly signatures: readonly string[];
  readonly inputs: SignatureInfo['inputs'];
  readonly outputs: SignatureInfo['outputs'];
  /** The model is a tabular model: it also accepts rows, and returns cells. */
  readonly isTable: boolean;
  readonly #open: OpenModel;
  #running = 0;
  /** Keeps the process alive while calls run. */
  #alive: NodeJS.Timeout | undefined;
  #idle: (() => void) | undefined;
  #closed: Promise<void> | undefined;

  constructor(open: OpenModel) {
    const { name, version, format, platform, loaded } = open;
    const first = loaded.signatures[0];
    this.#open = open;
    this.name = name;
    this.version = version;
    this.format = format;
    this.platform = platform;
    this.signature = first?.name ?? '';
    this.signatures = loaded.signatures.map((one) => one.name);
    this.inputs = first?.inputs ?? [];
    this.outputs = first?.outputs ?? [];
    this.isTable = loaded.table !== undefined;
  }

  /**
   * Runs the model once. Inputs by name; for a tabular model also rows as objects by field. Reads
   * the arguments before it returns. Rejects with ServalError: InvalidArgument naming input and
   * element; SignatureNotFound, QueueFull, MemoryFull, BackendFailed as a server answers;
   * Cancelled; ShuttingDown after close().
   */
  async infer(
    inputs: Inputs | readonly Readonly<Record<string, unknown>>[],
    options: InferOptions = {},
  ): Promise<Outputs> {
    if (this.#closed !== undefined) throw new ServalError(ErrorCode.ShuttingDown, CLOSED);
    const request = this.prepare(inputs, options);
    this.#began();
    try {
      return await runBody(this.#open, request, (body, jsonBytes) => this.read(body, jsonBytes), {
        signal: options.signal,
      });
    } finally {
      this.#ended();
    }
  }

  /** Encodes a request for the engine. Errors: InvalidArgument. */
  prepare(
    inputs: Inputs | readonly Readonly<Record<string, unknown>>[],
    options: InferOptions = {},
  ): RequestBody {
    return requestOf(this, inputs, options);
  }

  /** Decodes a response. */
  read(body: Uint8Array, jsonBytes: number): Outputs {
    return this.isTable ? tableAnswer(body) : tensorAnswer(body, jsonBytes);
  }

  /**
   * Waits for running calls, unloads the model and frees its memory. Never rejects for a model that
   * is already closed.
   */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    if (this.#running > 0) {
      await new Promise<void>((resolve) => {
        this.#idle = resolve;
      });
    }
    const { engine, loaded } = this.#open;
    const alive = keptAlive();
    try {
      await engine.control.unload(loaded.handle);
    } finally {
      clearInterval(alive);
      engine.close();
    }
  }

  #began(): void {
    this.#running += 1;
    this.#alive ??= keptAlive();
  }

  #ended(): void {
    this.#running -= 1;
    if (this.#running > 0) return;
    clearInterval(this.#alive);
    this.#alive = undefined;
    this.#idle?.();
  }
}

/** Encodes a request for a model with these known facts. Errors: InvalidArgument. */
export function requestOf(
  model: { readonly isTable: boolean; readonly inputs: readonly InputInfo[] },
  inputs: Inputs | readonly Readonly<Record<string, unknown>>[],
  options: InferOptions,
): RequestBody {
  if (model.isTable) {
    const isRows = Array.isArray(inputs);
    const columns = isRows ? columnsOf(inputs) : (inputs as Inputs);
    return tableBody(model.inputs, columns, options);
  }
  if (typeof inputs !== 'object' || inputs === null || Array.isArray(inputs)) {
    throw new ServalError(ErrorCode.InvalidArgument, 'infer: expected an object by input name');
  }
  return tensorBody(encodeInputs(model.inputs, inputs as Inputs), options);
}

/** One call of the engine; `read` gets the response while its memory is valid. */
class BodyTarget<T> implements CompletionTarget {
  ticket = 0;
  readonly promise: Promise<T>;
  #resolve: (value: T) => void = () => undefined;
  #reject: (error: unknown) => void = () => undefined;

  constructor(private readonly read: (body: Uint8Array, jsonBytes: number) => T) {
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  complete(code: number, body: Buffer, jsonBytes: number): void {
    if (code !== ErrorCode.Ok) {
      this.#reject(failure(code, body, jsonBytes));
      return;
    }
    try {
      this.#resolve(this.read(body, jsonBytes));
    } catch (error) {
      this.#reject(error);
    }
  }
}

/** Submits a body to the engine. Errors: the engine's; Cancelled. */
export function runBody<T>(
  {
    engine,
    loaded,
  }: { readonly engine: { readonly link: EngineLink }; readonly loaded: OpenModel['loaded'] },
  { body, jsonBytes }: RequestBody,
  read: (body: Uint8Array, jsonBytes: number) => T,
  { signal }: { readonly signal?: AbortSignal | undefined } = {},
): Promise<T> {
  const { link } = engine;
  const target = new BodyTarget(read);
  if (signal?.aborted === true) {
    return Promise.reject(new ServalError(ErrorCode.Cancelled, 'the call was cancelled'));
  }
  link.infer(V2_REST, loaded.handle, body, jsonBytes, target);
  if (signal === undefined || target.ticket === 0) return target.promise;
  const end = (): void => link.cancel(target);
  signal.addEventListener('abort', end);
  return target.promise.finally(() => signal.removeEventListener('abort', end));
}

/**
 * Loads a model of any format that `serval serve` serves, and starts nothing else: no socket, no
 * listener thread. `settings`: those of MODEL_SETTINGS, by flag name. Errors: those of openModel().
 */
export async function loadModelWith(
  path: string,
  choice: ModelChoice,
  settings: ReadonlyMap<string, Written>,
): Promise<Model> {
  return new Model(await openModel(path, choice, settings));
}
