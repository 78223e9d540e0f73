// ModelControl for threads other than the registry's: each call becomes a message to the main
// thread and settles with its answer. Control plane; ControlProxy runs on a listener's thread,
// answerControl on the main one.
import { ErrorCode, ServalError, reasonOf } from '../../base/errors.js';
import type {
  LoadModelRequest,
  LogSettings,
  ModelControl,
  RepositoryIndexEntry,
  TraceSettings,
} from '../../protocols/control.js';
import { publicControl } from './public-text.js';
import type { CudaRegion, SharedRegion } from '../../model/engine-api.js';
import type { ModelSnapshot } from '../../model/snapshot.js';

/** One call. `files` of a load: "version/file" and its bytes. */
export type ControlCall =
  | { readonly method: 'index'; readonly repository: string; readonly readyOnly: boolean }
  | {
      readonly method: 'load';
      readonly model: string;
      readonly config: string | undefined;
      readonly files: readonly (readonly [string, Uint8Array])[];
    }
  | { readonly method: 'unload'; readonly model: string; readonly unloadDependents: boolean }
  | { readonly method: 'reloadModels'; readonly config: Uint8Array }
  | { readonly method: 'demand'; readonly model: string; readonly version: string }
  | { readonly method: 'reload' }
  | { readonly method: 'openApi'; readonly model: string; readonly allowed?: readonly string[] }
  | { readonly method: 'logSettings' }
  | { readonly method: 'updateLogSettings'; readonly change: Readonly<Record<string, unknown>> }
  | { readonly method: 'traceSettings'; readonly model: string }
  | {
      readonly method: 'updateTraceSettings';
      readonly model: string;
      readonly change: Readonly<Record<string, unknown>>;
    }
  | { readonly method: 'sharedRegions'; readonly name: string }
  | { readonly method: 'registerSharedRegion'; readonly region: SharedRegion }
  | { readonly method: 'unregisterSharedRegion'; readonly name: string }
  | { readonly method: 'cudaRegions'; readonly name: string }
  | {
      readonly method: 'registerCudaRegion';
      readonly region: CudaRegion;
      readonly handle: Uint8Array;
    }
  | { readonly method: 'unregisterCudaRegion'; readonly name: string };

/** Sent to the main thread; structured-cloneable. */
export interface ControlRequest {
  readonly kind: 'control';
  readonly id: number;
  readonly call: ControlCall;
  /** The caller may see paths of the server. */
  readonly seesPaths: boolean;
}

/** The answer: the call's result, or an error's code and text. */
export type ControlAnswer = { readonly kind: 'control-answer'; readonly id: number } & (
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly code: number; readonly message: string }
);

type Post = (request: ControlRequest, transfer: ArrayBuffer[]) => void;

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: ServalError) => void;
}

// Copies a view of memory that is shared with others (Node keeps small buffers in one pool): only
// whole buffers can be transferred.
function ownBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer } = bytes;
  const whole = buffer instanceof ArrayBuffer && bytes.byteLength === buffer.byteLength;
  return whole ? new Uint8Array(buffer) : Uint8Array.from(bytes);
}

/** Calls of one thread that are waiting for an answer. */
class WaitingCalls {
  readonly byId = new Map<number, Waiting>();
  lastId = 0;
}

export class ControlProxy implements ModelControl {
  readonly #post: Post;
  readonly #seesPaths: () => boolean;
  readonly #calls: WaitingCalls;

  constructor(post: Post, seesPaths = (): boolean => false, calls = new WaitingCalls()) {
    this.#post = post;
    this.#seesPaths = seesPaths;
    this.#calls = calls;
  }

  /** The same for other callers; `seesPaths` is evaluated for each call. */
  seenBy(seesPaths: () => boolean): ControlProxy {
    return new ControlProxy(this.#post, seesPaths, this.#calls);
  }

  index(repository: string, readyOnly: boolean): Promise<readonly RepositoryIndexEntry[]> {
    return this.#ask({ method: 'index', repository, readyOnly }) as Promise<
      readonly RepositoryIndexEntry[]
    >;
  }

  /** Transfers the bytes of `request.files`, which are detached here afterwards. */
  load(request: LoadModelRequest): Promise<void> {
    const files = [...request.files].map(([path, bytes]) => [path, ownBytes(bytes)] as const);
    const { model, config } = request;
    const transfer = files.map(([, bytes]) => bytes.buffer);
    return this.#ask({ method: 'load', model, config, files }, transfer) as Promise<void>;
  }

  unload(model: string, unloadDependents: boolean): Promise<void> {
    return this.#ask({ method: 'unload', model, unloadDependents }) as Promise<void>;
  }

  reloadModels(config: Uint8Array): Promise<void> {
    // Copied because posting sends the whole buffer of a view.
    return this.#ask({ method: 'reloadModels', config: Uint8Array.from(config) }) as Promise<void>;
  }

  demand(model: string, version: string): Promise<ModelSnapshot> {
    return this.#ask({ method: 'demand', model, version }) as Promise<ModelSnapshot>;
  }

  reload(): Promise<void> {
    return this.#ask({ method: 'reload' }) as Promise<void>;
  }

  openApi(model: string, allowed?: readonly string[]): Promise<string> {
    const call = { method: 'openApi', model, ...(allowed && { allowed }) } as const;
    return this.#ask(call) as Promise<string>;
  }

  logSettings(): Promise<LogSettings> {
    return this.#ask({ method: 'logSettings' }) as Promise<LogSettings>;
  }

  updateLogSettings(change: Readonly<Record<string, unknown>>): Promise<LogSettings> {
    return this.#ask({ method: 'updateLogSettings', change }) as Promise<LogSettings>;
  }

  traceSettings(model: string): Promise<TraceSettings> {
    return this.#ask({ method: 'traceSettings', model }) as Promise<TraceSettings>;
  }

  updateTraceSettings(
    model: string,
    change: Readonly<Record<string, unknown>>,
  ): Promise<TraceSettings> {
    return this.#ask({ method: 'updateTraceSettings', model, change }) as Promise<TraceSettings>;
  }

  sharedRegions(name: string): Promise<readonly SharedRegion[]> {
    return this.#ask({ method: 'sharedRegions', name }) as Promise<readonly SharedRegion[]>;
  }

  registerSharedRegion(region: SharedRegion): Promise<void> {
    return this.#ask({ method: 'registerSharedRegion', region }) as Promise<void>;
  }

  unregisterSharedRegion(name: string): Promise<void> {
    return this.#ask({ method: 'unregisterSharedRegion', name }) as Promise<void>;
  }

  cudaRegions(name: string): Promise<readonly CudaRegion[]> {
    return this.#ask({ method: 'cudaRegions', name }) as Promise<readonly CudaRegion[]>;
  }

  registerCudaRegion(region: CudaRegion, handle: Uint8Array): Promise<void> {
    const call = { method: 'registerCudaRegion', region, handle: ownBytes(handle) } as const;
    return this.#ask(call) as Promise<void>;
  }

  unregisterCudaRegion(name: string): Promise<void> {
    return this.#ask({ method: 'unregisterCudaRegion', name }) as Promise<void>;
  }

  /** Handles an answer from the main thread. */
  settle(answer: ControlAnswer): void {
    const waiting = this.#calls.byId.get(answer.id);
    if (waiting === undefined) throw new TypeError(`no control call has the id ${answer.id}`);
    this.#calls.byId.delete(answer.id);
    if (answer.ok) waiting.resolve(answer.value);
    else waiting.reject(new ServalError(answer.code as ErrorCode, answer.message));
  }

  #ask(call: ControlCall, transfer: ArrayBuffer[] = []): Promise<unknown> {
    this.#calls.lastId += 1;
    const id = this.#calls.lastId;
    const seesPaths = this.#seesPaths();
    return new Promise((resolve, reject) => {
      this.#post({ kind: 'control', id, call, seesPaths }, transfer);
      this.#calls.byId.set(id, { resolve, reject });
    });
  }
}

function run(control: ModelControl, call: ControlCall): Promise<unknown> {
  switch (call.method) {
    case 'index':
      return control.index(call.repository, call.readyOnly);
    case 'load':
      return control.load({ model: call.model, config: call.config, files: new Map(call.files) });
    case 'unload':
      return control.unload(call.model, call.unloadDependents);
    case 'reloadModels':
      return control.reloadModels(call.config);
    case 'demand':
      return control.demand(call.model, call.version);
    case 'reload':
      return control.reload();
    case 'openApi':
      return control.openApi(call.model, call.allowed);
    case 'logSettings':
      return control.logSettings();
    case 'updateLogSettings':
      return control.updateLogSettings(call.change);
    case 'traceSettings':
      return control.traceSettings(call.model);
    case 'updateTraceSettings':
      return control.updateTraceSettings(call.model, call.change);
    case 'sharedRegions':
      return control.sharedRegions(call.name);
    case 'registerSharedRegion':
      return control.registerSharedRegion(call.region);
    case 'unregisterSharedRegion':
      return control.unregisterSharedRegion(call.name);
    case 'cudaRegions':
      return control.cudaRegions(call.name);
    case 'registerCudaRegion':
      return control.registerCudaRegion(call.region, call.handle);
    case 'unregisterCudaRegion':
      return control.unregisterCudaRegion(call.name);
  }
}

/**
 * The main thread's part: runs a call. `publicText`: makes a text fit for callers who may not see
 * paths. Never rejects; foreign errors become Internal.
 */
export async function answerControl(
  control: ModelControl,
  { id, call, seesPaths }: ControlRequest,
  publicText: (text: string) => string = (text) => text,
): Promise<ControlAnswer> {
  const asked = seesPaths ? control : publicControl(control, publicText);
  try {
    return { kind: 'control-answer', id, ok: true, value: await run(asked, call) };
  } catch (error) {
    const code = error instanceof ServalError ? error.code : ErrorCode.Internal;
    const text = reasonOf(error);
    const message = seesPaths ? text : publicText(text);
    return { kind: 'control-answer', id, ok: false, code, message };
  }
}
