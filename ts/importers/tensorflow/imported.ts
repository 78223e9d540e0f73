// The result of an import: ONNX graphs, one per servable signature, and their shared data. Plain
// data: it is posted from the importer's worker thread and stored in the model cache.
import type { Dtype, Shape, SignatureDef, Tensor } from './types.js';

/** An input or output of a signature. */
export interface ImportedTensor {
  readonly alias: string;
  /** Its name in the ONNX graph. */
  readonly graphName: string;
  readonly dtype: Dtype;
  /** The shape that the signature declares; the graph may accept others. */
  readonly shape: Shape;
  /** Ranks that the graph accepts, if restricted. */
  readonly ranks?: ImportedRanks;
  /** SignatureDef.defaults. */
  readonly defaultValue?: Tensor;
}

/** Ranks that an operator accepts. `max`: absent = any; `of`: "" = the graph itself. */
export interface ImportedRanks {
  readonly min: number;
  readonly max?: number;
  readonly of: string;
}

export interface ImportedGraph {
  readonly signature: string;
  readonly methodName: string;
  readonly inputs: readonly ImportedTensor[];
  readonly outputs: readonly ImportedTensor[];
  /**
   * The encoded ModelProto. Initializers that are ImportedModel.weights have external data with the
   * location "weights" and no content.
   */
  readonly onnx: Uint8Array;
  /** Indices of the weights that it uses. */
  readonly weights: readonly number[];
  /** Variables that the signature reads or assigns: ONNX input and, if assigned, output. */
  readonly states: readonly ImportedStateUse[];
}

export interface ImportedStateUse {
  /** Index into ImportedModel.states. */
  readonly state: number;
  readonly inputName: string;
  /** "" = read-only. */
  readonly outputName: string;
}

/** A constant shared by signatures: raw little-endian elements in a file. */
export interface ImportedWeight {
  /** Its initializer's name, in every graph that uses it. */
  readonly name: string;
  readonly dtype: Dtype;
  readonly shape: readonly number[];
  readonly path: string;
  readonly offset: number;
  readonly byteLength: number;
  readonly maskedCrc32c?: number;
}

/** A variable that some signature assigns while serving. */
export interface ImportedState {
  readonly name: string;
  /** Index of the weight with its initial value. */
  readonly weight: number;
}

export interface OperatorUse {
  readonly op: string;
  readonly count: number;
  readonly supported: boolean;
}

/** Why a signature is not served. */
export interface BlockedSignature {
  readonly signature: string;
  readonly problems: readonly OperatorProblem[];
}

export interface OperatorProblem {
  readonly op: string;
  /** The first node of this kind. */
  readonly node: string;
  readonly count: number;
  readonly reason: string;
}

export interface ImportedModel {
  readonly format: 'saved-model' | 'session-bundle' | 'frozen-graph' | 'tflite';
  readonly tags: readonly string[];
  readonly tensorflowVersion: string;
  /** Signatures in the file, including __saved_model_init_op; sorted by name. */
  readonly signatureDefs: readonly (readonly [string, SignatureDef])[];
  /** serving_default first, then by name. */
  readonly graphs: readonly ImportedGraph[];
  readonly weights: readonly ImportedWeight[];
  readonly states: readonly ImportedState[];
  readonly blocked: readonly BlockedSignature[];
  readonly operators: readonly OperatorUse[];
  readonly warnings: readonly string[];
}
