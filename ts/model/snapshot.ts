// The registry as readers see it: plain data, immutable, swapped whole, structured-cloneable (it is
// posted to every listener's worker thread). Control plane writes, the hot path reads.
import type { ErrorCode } from '../base/errors.js';
import type { DType, Signature as SignatureInfo } from '../base/generated/engine.js';

export type {
  RankRule,
  Signature as SignatureInfo,
  TensorSpec as TensorInfo,
} from '../base/generated/engine.js';

/** V2's names of datatypes, and those of tabular models. */
export type Datatype = DType;

/** Datatypes of tabular models only. DECIMAL is sent as FP64. */
export type TabularDatatype = 'STRING' | 'DATE' | 'TIMESTAMP' | 'VECTOR' | 'DECIMAL';

/** TensorFlow's TensorInfo as metadata documents show it. */
export interface TensorInfoDoc {
  /** Exactly one of name, cooSparse and composite. */
  readonly name?: string;
  readonly cooSparse?: {
    readonly values: string;
    readonly indices: string;
    readonly shape: string;
  };
  readonly composite?: readonly TensorInfoDoc[];
  /** DataType's number as in the file (101 = a float reference). */
  readonly dtypeCode: number;
  readonly shape?: {
    readonly unknownRank: boolean;
    /** Sizes as decimal text; "-1" = dynamic. */
    readonly dims: readonly { readonly size: string; readonly name: string }[];
  };
}

/** TensorFlow's SignatureDef as metadata documents show it. */
export interface SignatureDefDoc {
  readonly methodName: string;
  readonly inputs: readonly (readonly [string, TensorInfoDoc])[];
  readonly outputs: readonly (readonly [string, TensorInfoDoc])[];
  /** Alias -> TensorProto, base64. */
  readonly defaults: readonly (readonly [string, string])[];
}

/**
 * By name, sorted; includes those that cannot be called (__saved_model_init_op, unsupported
 * operators). `blocked`: why a signature is not served.
 */
export interface SignatureDefs {
  readonly all: readonly (readonly [string, SignatureDefDoc])[];
  readonly blocked: Readonly<Record<string, string>>;
}

/** Request rules of a tabular model, besides its signature. */
export interface TableDoc {
  /** Names of outputs that are returned only on request. */
  readonly extra: readonly string[];
  /** Names of fields whose type the request states. */
  readonly open: readonly string[];
  /** Those of them that the model says nothing about. */
  readonly untyped: readonly string[];
  /** Valid values of fields by name, as JSON tokens, if the model states any. */
  readonly examples: Readonly<Record<string, string>>;
  /** The features that Shapley values are of, if they are not the fields. */
  readonly features?: readonly string[];
  /** The fields that Shapley values need, if they are not all. */
  readonly explained?: readonly string[];
}

/** TensorFlow Serving's states (ModelVersionStatus.State). */
export type VersionState = 'START' | 'LOADING' | 'AVAILABLE' | 'UNLOADING' | 'END';

/**
 * Whether a version that loads on demand is loaded. unseen: it never was, so that nothing is known
 * of its signatures; waiting: it was, and another model needed its memory.
 */
export type DemandState = 'unseen' | 'waiting' | 'loading' | 'loaded';

/** One version of one model. `handle` is set (and signatures filled) while AVAILABLE. `version` is
 * decimal text: versions are int64 and must survive JSON. */
export interface VersionSnapshot {
  readonly version: string;
  readonly state: VersionState;
  readonly handle: number | undefined;
  /** Why it does not serve; while AVAILABLE: why its newer content failed to load. */
  readonly errorCode: ErrorCode;
  readonly errorMessage: string;
  /** Text for callers who may not see metadata; absent: the same. */
  readonly briefMessage?: string;
  readonly format: string;
  readonly platform: string;
  readonly signatures: readonly SignatureInfo[];
  /** Signatures from the model's own file; absent: its format has none. */
  readonly signatureDefs?: SignatureDefs;
  /** Absent: not a tabular model. */
  readonly table?: TableDoc;
  /** Set for a version that loads on demand: AVAILABLE, and its requests wait for the load. */
  readonly demand?: DemandState;
  /** Set if requests of one response each are refused, as in Triton: streams serve it. */
  readonly decoupled?: true;
  /** Triton's ModelConfig, completed from the model, as JSON text; "" unless AVAILABLE. */
  readonly configJson: string;
  /** From the start of the load until AVAILABLE, including warmup; 0 unless AVAILABLE. */
  readonly loadMs: number;
}

export interface ModelSnapshot {
  readonly name: string;
  /** Highest version first. */
  readonly versions: readonly VersionSnapshot[];
  readonly labels: Readonly<Record<string, string>>;
  /** Why it has no version; "" if it has one, or nothing is known. */
  readonly problem: string;
  /** Text for callers who may not see metadata; absent: the same. */
  readonly briefProblem?: string;
  /** The version of requests that name none: the highest AVAILABLE; undefined if there is none. */
  readonly defaultVersion: string | undefined;
}

/** The snapshots that a listener uses. */
export interface ListenerSnapshots {
  /** The newest: requests are routed by it. */
  readonly snapshot: RegistrySnapshot;
  /** The snapshot for readiness: nothing in it is ready unless every listener knows it. */
  readonly shown: RegistrySnapshot;
}

export interface RegistrySnapshot {
  readonly epoch: number;
  readonly models: Readonly<Record<string, ModelSnapshot>>;
  /**
   * Everything requested at start was tried, and (unless readiness is not strict) every model that
   * the configuration requests is AVAILABLE. Models loaded by call do not count.
   */
  readonly ready: boolean;
  readonly draining: boolean;
  /**
   * Problems of the server's sources and configuration that have existed since the start, each a
   * sentence with its path; while there are any, strict readiness is false.
   */
  readonly faults: readonly string[];
}
