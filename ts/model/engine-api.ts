// What the rest of TypeScript may ask of the native engine: the contract of ts/engine/engine.ts.
// Control plane here; the per-request calls are in ts/engine/link.ts.
import type * as engine from '../base/generated/engine.js';
import type { VerificationMode } from './platforms.js';
import type { MessageProtocol } from './request-kinds.js';
import type { SignatureDefs, TableDoc } from './snapshot.js';

export type {
  BatchPolicy,
  BatchStat,
  DurationStat,
  EngineStats,
  ExecMode as ExecModeName,
  GraphSpec,
  GraphState,
  ModelStats,
  PriorityQueuePolicy,
  QueuePolicy,
  RowsFinding,
  TensorOverride,
  VersionRoute,
  Weight,
} from '../base/generated/engine.js';

/** What is compiled at load time. */
export type ImporterSpec = TensorFlowImporterSpec | TabularImporterSpec;

/** To ONNX. */
export interface TensorFlowImporterSpec {
  readonly format: 'tensorflow';
  /** SavedModel: the meta graph's tags; absent = serve, [] = the one without tags. */
  readonly tags?: readonly string[];
  /** GraphDef: names of its input and output tensors; absent = found. */
  readonly inputs?: readonly string[];
  readonly outputs?: readonly string[];
  /** The signature that requests without one get; absent or "" = serving_default. */
  readonly signature?: string;
  /** Whether answers may depend on random numbers. Absent: yes. */
  readonly allowRandom?: boolean;
}

/** To a plan of columns. */
export interface TabularImporterSpec {
  /** `archive`: one of the others, found when it is opened. */
  readonly format: 'spark' | 'mleap' | 'pmml' | 'archive';
  /** The file that says what its fields and outputs are; "" = the model does. */
  readonly schema: string;
  readonly verification: VerificationMode;
  /** Of wall clocks, "Europe/Berlin"; "" = UTC. */
  readonly timezone: string;
  /** "true" or "false": whether Spark's SQL is ANSI; "" = as the model's version of Spark does. */
  readonly ansi: string;
}

/** Sessions in a process of their own. */
export interface IsolationSpec {
  readonly mode: 'none' | 'process';
  /** Models of one group share a process; "" = the model has one by itself. */
  readonly group: string;
}

/** An execution provider. */
export interface ProviderOptions extends engine.Provider {
  /** Names of options that the command line or the server itself set. The others come from a
   * model's configuration: the engine checks them. */
  readonly setByServer?: readonly string[];
}

/** What a model's configuration says of GPUs. */
export interface Placement {
  /** Of its instance groups; `auto`: they do not say. */
  readonly kind: 'auto' | 'cpu' | 'gpu';
  /** Options of TensorRT's provider where its configuration asks for it. */
  readonly tensorrt: Readonly<Record<string, string>> | undefined;
  readonly cuda: Readonly<Record<string, string>>;
  /** Options of TensorRT's provider: the shapes that engines are built for. */
  readonly profiles: Readonly<Record<string, string>>;
  /** Inputs with open dims behind the batch; undefined: it names no inputs. */
  readonly open: readonly string[] | undefined;
}

/** A tensor of a TensorRT engine, as the model's configuration has it. */
export interface PlanTensor {
  readonly name: string;
  /** TYPE_FP32, ... */
  readonly type: string;
  /** Of the engine's own tensor, with the batch; -1 = free. */
  readonly dims: readonly number[];
}

/** What a TensorRT engine takes and gives: a file of its own does not say. */
export interface PlanSpec {
  readonly inputs: readonly PlanTensor[];
  readonly outputs: readonly PlanTensor[];
}

/** engine.fbs ModelSpec. Absent members take the engine's defaults. */
export interface ModelSpec extends engine.ModelSpec {
  readonly version: string;
  readonly providers?: readonly ProviderOptions[];
  readonly backend: 'onnxruntime' | 'null' | 'tabular';
  readonly nullMode?: 'echo' | 'delay' | 'fail';
  /** What compiles the files at `path` to `graphs`, or to the plan's file that `path` is then,
   * before the engine sees the spec. */
  readonly importer?: ImporterSpec;
  /** Absent: the sessions are in the server, but for a model on a GPU, unless the server's settings
   * say otherwise. */
  readonly isolation?: IsolationSpec;
  /** Where it may run, before the engine sees the spec. */
  readonly placement?: Placement;
  /** The file at `path` is a TensorRT engine, before the engine sees the spec. */
  readonly plan?: PlanSpec;
  /** Made for this load, with what `path` names in it: see LoadedModel.keepsFolder. */
  readonly ownFolder?: string;
}

/** engine.fbs ModelInfo. */
export interface LoadedModel extends engine.ModelInfo {
  /** What the model's own file says of its signatures, where its format has any. */
  readonly signatureDefs?: SignatureDefs;
  /** What only the load found of its format: where that is, as for archives. */
  readonly found?: { readonly format: string; readonly platform: string };
  /** Of a model of columns. */
  readonly table?: TableDoc;
  /** Where --providers auto put it, and why. */
  readonly placed?: { readonly providers: string; readonly why: string };
  /** The spec's ownFolder is the engine's now, which removes it behind the unload: the model's
   * process loads from it again when it comes back. */
  readonly keepsFolder?: boolean;
}

/** engine.fbs ModelRoute, with versions by their labels. */
export interface ModelRoute extends Omit<engine.ModelRoute, 'labels' | 'gone'> {
  readonly labels: Readonly<Record<string, string>>;
}

/** A region of POSIX shared memory that a client registered, by Triton's names. */
export interface SharedRegion {
  readonly name: string;
  /** Of shm_open(): a name below /dev/shm. */
  readonly key: string;
  /** Of the region's first byte in the object. */
  readonly offset: number;
  readonly byte_size: number;
}

/** A region of a GPU's memory that a client registered, by Triton's names. */
export interface CudaRegion {
  readonly name: string;
  readonly device_id: number;
  readonly byte_size: number;
}

/** The engine's table of both kinds; their names are one space. All throw ServalError. */
export interface SharedRegions {
  /** Maps it. Errors: InvalidArgument (name taken, key, no such object, size, too many);
   * MemoryFull. */
  register(region: SharedRegion): void;
  /** One, or all where the name is "". Requests that use one go on with it; a name that is not
   * there is no error. */
  unregister(name: string): void;
  /** One, or all where the name is "". Errors: InvalidArgument (no such region). */
  list(name: string): readonly SharedRegion[];
  /** Opens the cudaIpcMemHandle_t. The first one takes as long as CUDA takes to start. Errors:
   * InvalidArgument (name taken, handle, device, size, too many); Unimplemented (no CUDA here);
   * RuntimeUnavailable (no driver). */
  registerCuda(region: CudaRegion, handle: Uint8Array): void;
  /** As unregister(), list(), of this kind. */
  unregisterCuda(name: string): void;
  listCuda(name: string): readonly CudaRegion[];
}

/** The engine's control calls. All promises settle on the thread that called. */
export interface EngineControl {
  /** Loads on a native thread. Rejects with ServalError (ModelInvalid, RuntimeUnavailable). */
  load(spec: ModelSpec): Promise<LoadedModel>;
  /** Takes the model out of use; settles when its last request is done and its memory is
   * released. */
  unload(handle: number): Promise<void>;
  /** Changes the routes (gRPC requests name their model inside the message): `models` are added or
   * replaced, `removed` and those without versions go, the others stay. All of it is taken or, with
   * an error, nothing. */
  publishRoutes(epoch: number, models: readonly ModelRoute[], removed?: readonly string[]): void;
  /** Runs one request message (protobuf; a V2 ModelInferRequest or one of TensorFlow Serving's) on
   * a loaded model, routes or not, and answers the response message. It counts in no statistics.
   * Rejects with what the request would have been answered with, or Cancelled when `signal` ends
   * it. */
  warmUp(
    handle: number,
    protocol: MessageProtocol,
    message: Uint8Array,
    signal?: AbortSignal,
  ): Promise<Uint8Array>;
  /** Of these models, or of all. */
  stats(handles?: readonly number[]): engine.EngineStats;
}
