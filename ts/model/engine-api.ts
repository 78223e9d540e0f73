// The native engine's interface for TypeScript: the contract of ts/engine/engine.ts. Control plane
// here; the per-request calls are in ts/engine/link.ts.
import type { ServalError } from '../base/errors.js';
import type * as engine from '../base/generated/engine.js';
import type { BoosterAnswer } from './booster-answer.js';
import type { VerificationMode } from './platforms.js';
import type { MessageProtocol } from './request-kinds.js';
import type { SignatureDefs, TableDoc } from './snapshot.js';

export type {
  BatchPolicy,
  BatchStat,
  Caller,
  DurationStat,
  EngineStats,
  ExecMode as ExecModeName,
  GraphSpec,
  GraphState,
  LimitSpec,
  ModelStats,
  PriorityQueuePolicy,
  QueuePolicy,
  RowsFinding,
  SequenceControl,
  SequenceSpec,
  SequenceState,
  TensorOverride,
  VersionRoute,
  Weight,
} from '../base/generated/engine.js';

/** How a model is compiled at load time. */
export type ImporterSpec = TensorFlowImporterSpec | TabularImporterSpec;

/** Import to ONNX. */
export interface TensorFlowImporterSpec {
  readonly format: 'tensorflow';
  /** SavedModel: the meta graph's tags; absent = serve, [] = the one without tags. */
  readonly tags?: readonly string[];
  /** GraphDef: names of its input and output tensors; absent = detected. */
  readonly inputs?: readonly string[];
  readonly outputs?: readonly string[];
  /** The default signature of requests; absent or "" = serving_default. */
  readonly signature?: string;
  /** Whether results may depend on random numbers. Absent: yes. */
  readonly allowRandom?: boolean;
}

/** Import to a tabular plan. */
export interface TabularImporterSpec {
  /** `archive`, `booster`: one of several, determined when it is opened. */
  readonly format:
    | ('spark' | 'mleap' | 'pmml' | 'xgboost' | 'lightgbm' | 'catboost' | 'ydf' | 'sklearn')
    | ('archive' | 'booster');
  /** The schema file of its fields and outputs; "" = the model's own. */
  readonly schema: string;
  readonly verification: VerificationMode;
  /** Time zone of local times, "Europe/Berlin"; "" = UTC. */
  readonly timezone: string;
  /**
   * "true" or "false": whether Spark's SQL is ANSI; "" = the default of the model's Spark version.
   */
  readonly ansi: string;
  /** The CSV file of rows that explanations are relative to. Absent: none. */
  readonly background?: string;
  /** Absent: a booster answers as its library does. */
  readonly answer?: BoosterAnswer;
}

/** Runs sessions in a separate process. */
export interface IsolationSpec {
  readonly mode: 'none' | 'process';
  /** Models of one group share a process; "" = a process for this model alone. */
  readonly group: string;
}

/** An execution provider. */
export interface ProviderOptions extends engine.Provider {
  /**
   * Names of options set by the command line or the server itself. The others come from a model's
   * configuration, so the engine checks them.
   */
  readonly setByServer?: readonly string[];
}

/** The GPU settings of a model's configuration. */
export interface Placement {
  /** Kind of its instance groups; `auto`: unspecified. */
  readonly kind: 'auto' | 'cpu' | 'gpu';
  /** Options of TensorRT's provider if its configuration requests it. */
  readonly tensorrt: Readonly<Record<string, string>> | undefined;
  readonly cuda: Readonly<Record<string, string>>;
  /** TensorRT options with the shapes that engines are built for. */
  readonly profiles: Readonly<Record<string, string>>;
  /** Inputs with dynamic dims after the batch; undefined: it names no inputs. */
  readonly open: readonly string[] | undefined;
}

/** A tensor of a TensorRT engine, from the model's configuration. */
export interface TensorRtTensor {
  readonly name: string;
  /** TYPE_FP32, ... */
  readonly type: string;
  /** Dims of the engine's own tensor, including the batch; -1 = dynamic. */
  readonly dims: readonly number[];
}

/** Inputs and outputs of a TensorRT engine: its file does not describe them. */
export interface TensorRtSpec {
  readonly inputs: readonly TensorRtTensor[];
  readonly outputs: readonly TensorRtTensor[];
}

/** engine.fbs ModelSpec. Absent members have the engine's defaults. */
export interface ModelSpec extends engine.ModelSpec {
  readonly version: string;
  readonly providers?: readonly ProviderOptions[];
  readonly backend: 'onnxruntime' | 'null' | 'tabular' | 'ensemble';
  readonly nullMode?: 'echo' | 'delay' | 'fail';
  /**
   * Compiles the files at `path` to `graphs`, or to a plan file that then becomes `path`, before
   * the engine gets the spec.
   */
  readonly importer?: ImporterSpec;
  /**
   * Absent: sessions run in the server, except those of a model on a GPU, unless the server's
   * settings say otherwise.
   */
  readonly isolation?: IsolationSpec;
  /** Devices that the model may run on; resolved before the engine gets the spec. */
  readonly placement?: Placement;
  /** The file at `path` is a TensorRT engine; resolved before the engine gets the spec. */
  readonly tensorRt?: TensorRtSpec;
  /** Folders where operatorLibraries are looked up; resolved before the engine gets the spec. */
  readonly libraryFolders?: readonly string[];
  /** Created for this load, including the target of `path`: see LoadedModel.keepsFolder. */
  readonly ownFolder?: string;
}

/** engine.fbs ModelInfo. */
export interface LoadedModel extends engine.ModelInfo {
  /** Signatures from the model's own file, if its format has any. */
  readonly signatureDefs?: SignatureDefs;
  /** Format facts that only the load finds out, such as for archives. */
  readonly found?: { readonly format: string; readonly platform: string };
  /** Set for tabular models. */
  readonly table?: TableDoc;
  /** Placement chosen by --providers auto, and the reason. */
  readonly placed?: { readonly providers: string; readonly why: string };
  /**
   * The engine now owns the spec's ownFolder and removes it after the unload: the model's process
   * loads from it again when it restarts.
   */
  readonly keepsFolder?: boolean;
}

/** engine.fbs ModelRoute, with versions by their labels. */
export interface ModelRoute extends Omit<engine.ModelRoute, 'labels' | 'gone'> {
  readonly labels: Readonly<Record<string, string>>;
}

/** A region of POSIX shared memory that a client registered, with Triton's field names. */
export interface SharedRegion {
  readonly name: string;
  /** Name for shm_open(): below /dev/shm. */
  readonly key: string;
  /** Offset of the region's first byte in the object. */
  readonly offset: number;
  readonly byte_size: number;
}

/** A region of GPU memory that a client registered, with Triton's field names. */
export interface CudaRegion {
  readonly name: string;
  readonly device_id: number;
  readonly byte_size: number;
}

/** The engine's table of both kinds, which share one name space. All methods throw ServalError. */
export interface SharedRegions {
  /**
   * Maps it. Errors: InvalidArgument (name in use, key, no such object, size, too many);
   * MemoryFull.
   */
  register(region: SharedRegion): void;
  /**
   * Removes one, or all if the name is "". Requests that use a region keep it; an unknown name is
   * no error.
   */
  unregister(name: string): void;
  /** One, or all if the name is "". Errors: InvalidArgument (no such region). */
  list(name: string): readonly SharedRegion[];
  /**
   * Opens the cudaIpcMemHandle_t. The first call takes as long as CUDA's start. Errors:
   * InvalidArgument (name in use, handle, device, size, too many); Unimplemented (no CUDA here);
   * RuntimeUnavailable (no driver).
   */
  registerCuda(region: CudaRegion, handle: Uint8Array): void;
  /** Same as unregister() and list(), for this kind. */
  unregisterCuda(name: string): void;
  listCuda(name: string): readonly CudaRegion[];
}

/** The engine's control calls. All promises settle on the calling thread. */
export interface EngineControl {
  /** Loads on a native thread. Rejects with ServalError (ModelInvalid, RuntimeUnavailable). */
  load(spec: ModelSpec): Promise<LoadedModel>;
  /**
   * Removes the model from use; settles when its last request is done and its memory is released.
   */
  unload(handle: number): Promise<void>;
  /**
   * Changes the routes (gRPC requests name their model inside the message): `models` are added or
   * replaced, `removed` and those without versions are removed, the others stay. Applies the whole
   * change or, on an error, nothing.
   */
  publishRoutes(epoch: number, models: readonly ModelRoute[], removed?: readonly string[]): void;
  /**
   * Runs one request message (protobuf; a V2 ModelInferRequest or one of TensorFlow Serving's) on a
   * loaded model, with or without routes, and returns the response message. It is not counted in
   * statistics. Rejects with the error that the request would have got, or Cancelled if `signal`
   * aborts it.
   */
  warmUp(
    handle: number,
    protocol: MessageProtocol,
    message: Uint8Array,
    signal?: AbortSignal,
  ): Promise<Uint8Array>;
  /** Statistics of these models, or of all. */
  stats(handles?: readonly number[]): engine.EngineStats;
}

/** The engine's callers: the API keys with their limits, models and weights. */
export interface CallerControl {
  /** Replaces the callers; those that stay keep their counts. */
  publishCallers(callers: readonly engine.Caller[]): void;
}

/** The part of a specification that a place needs. */
export type PlaceSpec = Pick<
  ModelSpec,
  | 'name'
  | 'version'
  | 'queueRequestsMax'
  | 'priorityLevels'
  | 'defaultPriority'
  | 'queuePolicy'
  | 'priorityPolicies'
  | 'limits'
>;

/**
 * The engine's calls for models that are served but not loaded. Such a model has a place: the
 * handle that its routes name, for as long as it is served. Its requests wait there.
 */
export interface PlaceControl {
  /** Makes a place for the model. Errors: InvalidArgument (queue policy). */
  reserve(spec: PlaceSpec): number;
  /**
   * Gives a loaded model the place, with the requests that wait there; its own handle is gone.
   * Errors: ModelNotFound: the place was unloaded meanwhile.
   */
  put(handle: number, place: number): void;
  /** Unloads the model at the place, which stays; settles when its memory is released. */
  evict(place: number): Promise<void>;
  /** Answers the requests that wait at the place; the next one asks again. */
  refuse(place: number, error: ServalError): void;
  /** Settles with the places that requests wait at, as soon as there are any. */
  asked(): Promise<readonly number[]>;
}
