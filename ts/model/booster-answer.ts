// The form of a booster's answers, if the configuration beside it is another server's. Control
// plane, any thread; plain data. Source: docs/model_config.md of Triton's FIL backend; MLServer's
// runtimes/xgboost and runtimes/lightgbm.

/** Triton's FIL backend: one matrix in, one matrix of floats out. */
export interface FilAnswer {
  readonly server: 'fil';
  /** The number of the class, rather than values. */
  readonly isClass: boolean;
  /** Two classes: the probability above which the answer is class 1. */
  readonly threshold: number;
  /** Two classes: whether there are the probabilities of both. */
  readonly hasBoth: boolean;
}

/** MLServer: matrices, and classes of classifiers. */
export interface MlserverAnswer {
  readonly server: 'mlserver';
}

export type BoosterAnswer = FilAnswer | MlserverAnswer;

export const FIL_INPUT = 'input__0';
export const FIL_OUTPUT = 'output__0';
