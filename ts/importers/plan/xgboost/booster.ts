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
}

export interface Booster {
  /** "binary:logistic" */
  readonly objective: string;
  /** Transformed as the objective transforms scores: a probability for logistic ones. */
  readonly baseScore: number;
  /** 0: no classes. */
  readonly numClass: number;
  readonly trees: readonly BoosterTree[];
  /** The class that each tree is for. */
  readonly groups: readonly number[];
  /** dart: by tree. */
  readonly weights?: readonly number[];
  /** For a model whose training stopped early: the best number of trees. */
  readonly bestTrees?: number;
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
