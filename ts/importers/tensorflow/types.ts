// Data types shared by the parts of the TensorFlow importer: tensors, nodes, graphs, signatures,
// checkpoints, and their processed forms. Data only; importer's worker thread. Source:
// tensorflow/core/framework and protobuf (graph, meta_graph, function, tensor .proto).

import type { Dtype } from '../../model/datatype.js';
import type { Ensemble } from '../ydf/ensemble.js';

export type { Dtype };

/** A dim is undefined if it is unknown; a shape if even the rank is. */
export type Shape = readonly (number | undefined)[] | undefined;

/** Location of a constant's elements: row-major, little-endian. */
export type TensorData =
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'strings'; readonly values: readonly Uint8Array[] }
  /**
   * Raw elements in a file (absolute path). `maskedCrc32c`: TensorFlow's masked CRC of exactly
   * these bytes, verified by the reader.
   */
  | {
      readonly kind: 'file';
      readonly path: string;
      readonly offset: number;
      readonly byteLength: number;
      readonly maskedCrc32c?: number;
    }
  /** Every element equals this one (its little-endian bytes). */
  | { readonly kind: 'fill'; readonly element: Uint8Array };

/** A constant. */
export interface Tensor {
  readonly dtype: Dtype;
  readonly shape: readonly number[];
  readonly data: TensorData;
}

/** A function with values for its attributes (AttrValue.func). */
export interface FunctionRef {
  readonly name: string;
  readonly attributes: Attributes;
}

export type Attribute =
  | { readonly kind: 'bytes'; readonly value: Uint8Array }
  | { readonly kind: 'int'; readonly value: bigint }
  | { readonly kind: 'float'; readonly value: number }
  | { readonly kind: 'bool'; readonly value: boolean }
  | { readonly kind: 'type'; readonly value: Dtype }
  | { readonly kind: 'shape'; readonly value: Shape }
  | { readonly kind: 'tensor'; readonly value: Tensor }
  | { readonly kind: 'function'; readonly value: FunctionRef }
  /** A data type that is not served (its name), or a tensor of one. */
  | { readonly kind: 'unserved type'; readonly value: string }
  /** Inside a function: the caller's attribute of this name. */
  | { readonly kind: 'placeholder'; readonly value: string }
  | { readonly kind: 'list'; readonly value: AttributeList };

/** AttrValue.ListValue: all are empty except one. */
export interface AttributeList {
  readonly bytes: readonly Uint8Array[];
  readonly ints: readonly bigint[];
  readonly floats: readonly number[];
  readonly bools: readonly boolean[];
  readonly types: readonly Dtype[];
  readonly shapes: readonly Shape[];
  readonly tensors: readonly Tensor[];
  readonly functions: readonly FunctionRef[];
}

export type Attributes = ReadonlyMap<string, Attribute>;

/**
 * A NodeDef as in the file. Inputs keep their spelling: "a", "a:1", "^a"; inside a function also
 * "a:out_name:1" and bare argument names.
 */
export interface NodeDef {
  readonly name: string;
  readonly op: string;
  readonly inputs: readonly string[];
  readonly attributes: Attributes;
}

/** OpDef.ArgDef. */
export interface ArgDef {
  readonly name: string;
  readonly type?: Dtype;
  readonly typeAttr: string;
  readonly numberAttr: string;
  readonly typeListAttr: string;
  readonly isRef: boolean;
}

export interface OpDef {
  readonly name: string;
  readonly inputs: readonly ArgDef[];
  readonly outputs: readonly ArgDef[];
  /** Defaults of the attributes that have one. */
  readonly defaults: Attributes;
  readonly isStateful: boolean;
}

export interface FunctionDef {
  readonly signature: OpDef;
  readonly nodes: readonly NodeDef[];
  /** Output argument -> "node:out_name:index" or an argument's name. */
  readonly returns: ReadonlyMap<string, string>;
  /** Control outputs: name -> node. */
  readonly controlReturns: ReadonlyMap<string, string>;
  readonly attributes: Attributes;
}

export interface GraphDef {
  readonly nodes: readonly NodeDef[];
  readonly functions: ReadonlyMap<string, FunctionDef>;
  /** VersionDef.producer; 0 = unspecified. */
  readonly producer: number;
}

/** TensorInfo. Exactly one of name, cooSparse, composite is set. */
export interface TensorInfoDef {
  readonly name?: string;
  readonly cooSparse?: {
    readonly values: string;
    readonly indices: string;
    readonly shape: string;
  };
  /** CompositeTensor: its components; not served. */
  readonly composite?: readonly TensorInfoDef[];
  /** DataType's number as in the file (101 = a float reference). */
  readonly dtypeCode: number;
  /** Absent if the message has no tensor_shape. */
  readonly shape?: TensorShapeDef;
}

export interface TensorShapeDef {
  readonly unknownRank: boolean;
  /** Sizes as decimal text (they are int64); "-1" = dynamic. */
  readonly dims: readonly { readonly size: string; readonly name: string }[];
}

export interface SignatureDef {
  readonly methodName: string;
  readonly inputs: ReadonlyMap<string, TensorInfoDef>;
  readonly outputs: ReadonlyMap<string, TensorInfoDef>;
  /** Alias -> default. */
  readonly defaults: ReadonlyMap<string, Tensor>;
}

/** A tensor that is fed with an asset file's path during initialisation. */
export interface AssetDef {
  readonly tensorName: string;
  /** Below assets/; checked not to leave the model's folder. */
  readonly fileName: string;
  /** Absolute; the file may be missing (an error only when something reads it). */
  readonly path: string;
}

/** An object of TensorFlow 2's object graphs. */
export interface ObjectNode {
  /** Its parts: their names and the numbers of their nodes. */
  readonly children: ReadonlyMap<string, number>;
  /** For a variable in a checkpoint: the key of its value, and its original name. */
  readonly key?: string;
  readonly fullName?: string;
}

/** A SavedModel's object graph. Node 0 is the root. */
export interface SavedObjects {
  readonly nodes: readonly ObjectNode[];
  /** By the name of a function: the nodes of its last arguments. */
  readonly boundInputs: ReadonlyMap<string, readonly number[]>;
}

/** The common form of all formats before the graph is processed. */
export interface LoadedGraph {
  readonly format: 'saved-model' | 'session-bundle' | 'frozen-graph' | 'tflite';
  readonly tags: readonly string[];
  readonly tensorflowVersion: string;
  readonly graph: GraphDef;
  readonly signatures: ReadonlyMap<string, SignatureDef>;
  readonly assets: readonly AssetDef[];
  /** Variables' prefix: "<dir>/variables/variables", "<dir>/export"; undefined = none there. */
  readonly checkpoint: CheckpointFiles | undefined;
  /** SaverDef; undefined if there is nothing to restore. */
  readonly saver: { readonly filenameTensor: string; readonly restoreOp: string } | undefined;
  /** Set for TensorFlow 2's SavedModels. */
  readonly objects?: SavedObjects;
  /** The initialising op (no port), for example for tables; run after the restore. */
  readonly initOp: string | undefined;
  /** Operators that the model itself describes (MetaInfoDef.stripped_op_list). */
  readonly opDefs?: readonly OpDef[];
  /** Messages for people: what was ignored or guessed. */
  readonly warnings: readonly string[];
}

/** V1: the table files; V2: the prefix before ".index". */
export type CheckpointFiles =
  | { readonly version: 1; readonly files: readonly string[] }
  | { readonly version: 2; readonly prefix: string };

/** One slice request: per dim start and length; undefined length = the whole dim. Absent = all. */
export type Slice = readonly { readonly start: number; readonly length: number | undefined }[];

/**
 * A checkpoint of either version. Tensors that are stored whole and raw in a file are described,
 * not read; the others (assembled slices, strings, V1's packed encodings) are in memory.
 */
export interface Checkpoint {
  /** Names, sorted. */
  readonly names: readonly string[];
  has(name: string): boolean;
  /** dtype and full shape. Errors: ModelInvalid if there is no such tensor. */
  describe(name: string): { readonly dtype: Dtype; readonly shape: readonly number[] };
  /** The tensor, or a slice of it. Errors: ModelInvalid: unknown, damaged, incomplete slices. */
  read(name: string, slice?: Slice): Tensor;
}

/** One output of a node. */
export interface Ref {
  readonly node: string;
  readonly output: number;
}

/** A node of a graph without calls: references resolved, attributes complete with defaults. */
export interface FlatNode {
  readonly name: string;
  readonly op: string;
  readonly inputs: readonly Ref[];
  /** Names of nodes that must have run. */
  readonly control: readonly string[];
  readonly attributes: Attributes;
}

export interface FlatGraph {
  readonly nodes: ReadonlyMap<string, FlatNode>;
}

/**
 * A function's body with its own calls inlined: argument i is the node named args[i], of op "_Arg"
 * with attribute "index". If, While, Case and the like keep their functions by name.
 */
export interface FlatFunction extends FlatGraph {
  readonly name: string;
  readonly args: readonly string[];
  readonly returns: readonly Ref[];
  /** Nodes with side effects that must have run when the function returns. */
  readonly control: readonly string[];
}

/** A hash table's contents, in the order of insertion. */
export interface TableContents {
  readonly keyDtype: Dtype;
  readonly valueDtype: Dtype;
  /** Rank 1. */
  readonly keys: Tensor;
  /** Rank 1 (rank 2 if values are vectors). */
  readonly values: Tensor;
}

/** A model of Yggdrasil Decision Forests, loaded from asset files. */
export interface LoadedForest {
  readonly ensemble: Ensemble;
  /** YDF's general engine runs it, which also knows the leaves, but adds in doubles. */
  readonly isGeneral: boolean;
}

/**
 * The state after restore and init, as in a session. Keys are names of resource nodes of the
 * flattened main graph (VarHandleOp, Variable, VariableV2, HashTableV2 ...).
 */
export interface Initialised {
  readonly variables: ReadonlyMap<string, Tensor>;
  readonly tables: ReadonlyMap<string, TableContents>;
  /** Other resources by their node, as created by init ops (tree ensembles). */
  readonly blobs: ReadonlyMap<string, Uint8Array>;
  /** Streams of quantiles: the boundaries of each feature's buckets (boosted trees). */
  readonly quantiles: ReadonlyMap<string, readonly Tensor[]>;
  readonly forests: ReadonlyMap<string, LoadedForest>;
  readonly warnings: readonly string[];
}

/** A model ready to be lowered. */
export interface PreparedModel {
  readonly source: LoadedGraph;
  readonly main: FlatGraph;
  /**
   * A function by name with the attributes of a call; the same object for the same call. Errors:
   * ModelInvalid for an unknown or self-calling function.
   */
  function(ref: FunctionRef): FlatFunction;
  readonly state: Initialised;
}
