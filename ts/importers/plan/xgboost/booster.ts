// A booster of XGBoost, whichever form its file has. Importer's worker thread; pure.
import { reasonOf } from '../../../base/errors.js';
import { readBinary } from './binary.js';
import { readDocument } from './document.js';
import { readUbj } from './ubj.js';

/** Nodes by number; the root is 0. A leaf's left is below 0. */
export interface BoosterTree {
  readonly left: ArrayLike<number>;
  readonly right: ArrayLike<number>;
  readonly feature: ArrayLike<number>;
  /** For a split, the threshold below which values go left; for a leaf, its value. Floats. */
  readonly value: ArrayLike<number>;
  readonly defaultLeft: ArrayLike<number>;
  /** The hessians of the training rows that reached a node; absent: the file has none. */
  readonly covers?: ArrayLike<number>;
  /** Categories that go right, by the number of the node. */
  readonly categories?: ReadonlyMap<number, ArrayLike<number>>;
  /** Multi-output trees: leaf i has the values from at[i] * size to (at[i] + 1) * size. */
  readonly vectors?: {
    readonly size: number;
    readonly values: ArrayLike<number>;
    readonly at: ArrayLike<number>;
  };
}

/** The categories of a column of a data frame: position = the number in trees. */
export type Categories = readonly string[] | Float64Array;

export interface Booster {
  /** "binary:logistic" */
  readonly objective: string;
  /** Transformed as the objective transforms scores: a probability for logistic ones. */
  readonly baseScore: number;
  /** Since 3.1, one for each output. */
  readonly baseScores?: readonly number[];
  /** 0: no classes. */
  readonly numClass: number;
  /** Outputs of each row, where they are not classes. Absent: 1. */
  readonly numTarget?: number;
  readonly trees: readonly BoosterTree[];
  /** The class that each tree is for. */
  readonly groups: readonly number[];
  /** dart: by tree. */
  readonly weights?: readonly number[];
  /** For a model whose training stopped early: the best number of trees. */
  readonly bestTrees?: number;
  /** gblinear: a weight for each feature and output, then a bias for each output. */
  readonly linear?: ArrayLike<number>;
  /** Absent: its file does not say. */
  readonly numFeature?: number;
  readonly featureNames?: readonly string[];
  /** "float", "int", "i", "q"; "c": categories. */
  readonly featureTypes?: readonly string[];
  /** By feature; undefined: none. */
  readonly categories?: readonly (Categories | undefined)[];
  /** Attributes that Python code has set: "scikit_learn". */
  readonly attributes?: Readonly<Record<string, unknown>>;
  /** "3.2.0" */
  readonly version?: string;
}

/** Errors: RangeError saying what of it is broken, or not supported. */
export function readBooster(bytes: Uint8Array): Booster {
  const first = bytes.find((byte) => byte > 0x20);
  try {
    if (first !== 0x7b) return readBinary(bytes);
    // Both begin with {: in JSON a quote or a closing brace follows.
    const second = bytes.subarray(bytes.indexOf(0x7b) + 1).find((byte) => byte > 0x20);
    const isJson = second === 0x22 || second === 0x7d;
    return readDocument(isJson ? jsonOf(bytes) : readUbj(bytes));
  } catch (error) {
    throw new RangeError(reasonOf(error));
  }
}

function jsonOf(bytes: Uint8Array): unknown {
  return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as unknown;
}
