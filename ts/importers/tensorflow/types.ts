// What the TensorFlow importer's parts hand to each other: tensors, nodes, graphs, signatures,
// checkpoints, and what becomes of them. Data only; importer's worker thread.
// Source: tensorflow/core/framework and protobuf (graph, meta_graph, function, tensor .proto).

import type { Dtype } from '../../model/datatype.js';

export type { Dtype };

/** A dim is undefined where it is not known; a shape where even the rank is not. */
export type Shape = readonly (number | undefined)[] | undefined;

/** Where a constant's elements are: row-major, little-endian. */
export type TensorData =
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'strings'; readonly values: readonly Uint8Array[] }
  /** Raw elements in a file (absolute path). `maskedCrc32c`: TensorFlow's masked CRC of exactly
   * these bytes, checked by whoever reads them. */
  | {
      readonly kind: 'file';
      readonly path: string;
      readonly offset: number;
      readonly byteLength: number;
      readonly maskedCrc32c?: number;
    }
  /** Every element is this one (its little-endian bytes). */
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

/** AttrValue.ListValue: all are empty but one. */
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

/** A NodeDef as it stands in the file. Inputs are spelled as there: "a", "a:1", "^a"; inside a
 * function also "a:out_name:1" and bare argument names. */
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
  /** VersionDef.producer; 0 = not said. */
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
  /** DataType's number as it stands in the file (101 = a float reference). */
  readonly dtypeCode: number;
  /** Absent where the message has no tensor_shape. */
  readonly shape?: TensorShapeDef;
}

export interface TensorShapeDef {
  readonly unknownRank: boolean;
  /** Sizes as decimal text (they are int64); "-1" = free. */
  readonly dims: readonly { readonly size: string; readonly name: string }[];
}

export interface SignatureDef {
  readonly methodName: string;
  readonly inputs: ReadonlyMap<string, TensorInfoDef>;
  readonly outputs: ReadonlyMap<string, TensorInfoDef>;
  /** Alias -> default. */
  readonly defaults: ReadonlyMap<string, Tensor>;
}

/** A tensor that is fed with an asset file's path while the model is initialised. */
export interface AssetDef {
  readonly tensorName: string;
  /** Below assets/; checked: it does not leave the model's folder. */
  readonly fileName: string;
  /** Absolute; the file may be missing (an error only when something reads it). */
  readonly path: string;
}

/** An object of TensorFlow 2's object graphs. */
export interface ObjectNode {
  /** Its parts: their names and numbers of their nodes. */
  readonly children: ReadonlyMap<string, number>;
  /** Of a variable in a checkpoint: the key of its value, and the name that it had. */
  readonly key?: string;
  readonly fullName?: string;
}

/** A SavedModel's object graph. Node 0 is the root. */
export interface SavedObjects {
  readonly nodes: readonly ObjectNode[];
  /** By the name of a function: the nodes that its last arguments are. */
  readonly boundInputs: ReadonlyMap<string, readonly number[]>;
}

/** What any of the formats comes to before its graph is looked at. */
export interface LoadedGraph {
  readonly format: 'saved-model' | 'session-bundle' | 'frozen-graph';
  readonly tags: readonly string[];
  readonly tensorflowVersion: string;
  readonly graph: GraphDef;
  readonly signatures: ReadonlyMap<string, SignatureDef>;
  readonly assets: readonly AssetDef[];
  /** Variables' prefix: "<dir>/variables/variables", "<dir>/export"; undefined = none there. */
  readonly checkpoint: CheckpointFiles | undefined;
  /** SaverDef; undefined where there is nothing to restore. */
  readonly saver: { readonly filenameTensor: string; readonly restoreOp: string } | undefined;
  /** Of TensorFlow 2's SavedModels. */
  readonly objects?: SavedObjects;
  /** The op (no port) that initialises, e.g. tables; run after the restore. */
  readonly initOp: string | undefined;
  /** Operators that the model itself describes (MetaInfoDef.stripped_op_list). */
  readonly opDefs?: readonly OpDef[];
  /** For people: what was ignored or guessed. */
  readonly warnings: readonly string[];
}

/** V1: the table files; V2: the prefix before ".index". */
export type CheckpointFiles =
  | { readonly version: 1; readonly files: readonly string[] }
  | { readonly version: 2; readonly prefix: string };

/** One slice request: per dim start and length; undefined length = the whole dim. Absent = all. */
export type Slice = readonly { readonly start: number; readonly length: number | undefined }[];

/** A checkpoint of either version. Tensors are described, not read, where they lie whole and raw
 * in a file; the others (slices put together, strings, V1's packed encodings) are in memory. */
export interface Checkpoint {
  /** Names, sorted. */
  readonly names: readonly string[];
  has(name: string): boolean;
  /** dtype and full shape. Errors: ModelInvalid when there is no such tensor. */
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

/** A function's body, its own calls inlined: argument i is the node named args[i], of op "_Arg"
 * with attribute "index". If, While, Case and the like keep their functions by name. */
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
  /** Rank 1 (rank 2 where values are vectors). */
  readonly values: Tensor;
}

/** The state after restore and init: what the session would hold. Keys are names of resource nodes
 * of the flattened main graph (VarHandleOp, Variable, VariableV2, HashTableV2 ...). */
export interface Initialised {
  readonly variables: ReadonlyMap<string, Tensor>;
  readonly tables: ReadonlyMap<string, TableContents>;
  /** Other resources by their node, as created by init ops (tree ensembles). */
  readonly blobs: ReadonlyMap<string, Uint8Array>;
  /** Streams of quantiles: the boundaries of each feature's buckets (boosted trees). */
  readonly quantiles: ReadonlyMap<string, readonly Tensor[]>;
  readonly warnings: readonly string[];
}

/** A model ready to be lowered. */
export interface PreparedModel {
  readonly source: LoadedGraph;
  readonly main: FlatGraph;
  /** A function by name with the attributes a call gives it; the same object for the same call.
   * Errors: ModelInvalid for an unknown or self-calling function. */
  function(ref: FunctionRef): FlatFunction;
  readonly state: Initialised;
}
