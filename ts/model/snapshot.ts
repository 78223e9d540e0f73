// The registry as readers see it: plain data, immutable, swapped whole, structured-cloneable (it is
// posted to every listener's worker thread). Control plane writes, the hot path reads.
import type { ErrorCode } from '../base/errors.js';
import type { Signature as SignatureInfo } from '../base/generated/engine.js';

export type {
  RankRule,
  Signature as SignatureInfo,
  TensorSpec as TensorInfo,
} from '../base/generated/engine.js';

/** V2 datatype names. */
export type Datatype =
  | 'BOOL'
  | 'UINT8'
  | 'UINT16'
  | 'UINT32'
  | 'UINT64'
  | 'INT8'
  | 'INT16'
  | 'INT32'
  | 'INT64'
  | 'FP16'
  | 'FP32'
  | 'FP64'
  | 'BYTES'
  | 'BF16'
  | TabularDatatype;

/** Those of models of columns only. DECIMAL travels as FP64. */
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
  /** DataType's number as it stands in the file (101 = a float reference). */
  readonly dtypeCode: number;
  readonly shape?: {
    readonly unknownRank: boolean;
    /** Sizes as decimal text; "-1" = free. */
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

/** By name, sorted; those that cannot be called (__saved_model_init_op, unsupported operators)
 * included. `blocked`: why a signature is not served. */
export interface SignatureDefs {
  readonly all: readonly (readonly [string, SignatureDefDoc])[];
  readonly blocked: Readonly<Record<string, string>>;
}

/** What requests of a model of columns go by, beside its signature. */
export interface TableDoc {
  /** Outputs that are answered only where they are asked for, by name. */
  readonly extra: readonly string[];
  /** Fields whose type the request says, by name. */
  readonly open: readonly string[];
  /** Those of them of which the model says nothing at all. */
  readonly untyped: readonly string[];
  /** Values that fields take, by name, as tokens of JSON: of those of which the model says so. */
  readonly examples: Readonly<Record<string, string>>;
}

/** TensorFlow Serving's states (ModelVersionStatus.State). */
export type VersionState = 'START' | 'LOADING' | 'AVAILABLE' | 'UNLOADING' | 'END';

/** One version of one model. `handle` is set (and signatures filled) while AVAILABLE. `version` is
 * decimal text: versions are int64 and must survive JSON. */
export interface VersionSnapshot {
  readonly version: string;
  readonly state: VersionState;
  readonly handle: number | undefined;
  /** Why it does not serve; while AVAILABLE: why its newer content could not be loaded. */
  readonly errorCode: ErrorCode;
  readonly errorMessage: string;
  /** What callers hear who may not see metadata; absent: the same. */
  readonly briefMessage?: string;
  readonly format: string;
  readonly platform: string;
  readonly signatures: readonly SignatureInfo[];
  /** What the model's own file says of its signatures; absent: its format has none. */
  readonly signatureDefs?: SignatureDefs;
  /** Absent: it is no model of columns. */
  readonly table?: TableDoc;
  /** Triton's ModelConfig, completed from the model, as JSON text; "" unless AVAILABLE. */
  readonly configJson: string;
  /** From the beginning of the load until AVAILABLE, warmup included; 0 unless AVAILABLE. */
  readonly loadMs: number;
}

export interface ModelSnapshot {
  readonly name: string;
  /** Highest version first. */
  readonly versions: readonly VersionSnapshot[];
  readonly labels: Readonly<Record<string, string>>;
  /** Why it has no version; "" where it has one, or nothing is known. */
  readonly problem: string;
  /** What callers hear who may not see metadata; absent: the same. */
  readonly briefProblem?: string;
  /** The version a request without one gets: the highest AVAILABLE; undefined when none is. */
  readonly defaultVersion: string | undefined;
}

/** What a listener goes by. */
export interface ListenerSnapshots {
  /** The newest: where requests go. */
  readonly snapshot: RegistrySnapshot;
  /** What is said of readiness: nothing is ready in it that another listener does not know yet. */
  readonly shown: RegistrySnapshot;
}

export interface RegistrySnapshot {
  readonly epoch: number;
  readonly models: Readonly<Record<string, ModelSnapshot>>;
  /** Everything asked for at start was tried, and (unless readiness is not strict) every model that
   * the configuration asks for is AVAILABLE. Models loaded by call do not count. */
  readonly ready: boolean;
  readonly draining: boolean;
  /** What has been wrong with the server's sources and configuration since the start, each a
   * sentence with its path; while there are any, strict readiness says no. */
  readonly faults: readonly string[];
}
