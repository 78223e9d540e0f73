// Inputs and results of lowering an estimator. Importer's worker thread; plain data.
import type { Column } from '../../plan/builder.js';
import type { AnyExplanation } from '../../plan/explain.js';
import type { Item } from '../read/item.js';
import type { Frame, Lowering } from './frame.js';
import type { Labels } from './labels.js';

/** One estimator, its place in the model, and what it gets. */
export interface Step {
  readonly lowering: Lowering;
  readonly item: Item;
  /** "steps[1] 'clf'", for errors. */
  readonly place: string;
}

/** The columns of scores: of one number for each row a Double, else a Vector. */
export interface Scores {
  readonly column: Column;
  readonly size: number;
  /** The answer is a matrix, even of one column. */
  readonly isMatrix?: boolean;
}

/** How a model's scores are made of the elements of a frame. */
export interface Explained {
  readonly frame: Frame;
  readonly by: AnyExplanation;
  /** The scores are the probabilities of classes. */
  readonly isProbability?: boolean;
  /** The value is a function of the score. */
  readonly isMargin?: boolean;
}

export interface Transformed {
  readonly role: 'transformer';
  readonly frame: Frame;
}

export interface Classified {
  readonly role: 'classifier';
  readonly classes: Labels;
  /** The position of the predicted class, a Double. */
  readonly index: Column;
  /** A Vector with a number for each class. */
  readonly probability?: Column;
  readonly decision?: Scores;
  readonly explained?: Explained;
}

export interface Estimated {
  readonly role: 'regressor';
  readonly values: Scores;
  readonly explained?: Explained;
}

export interface Detected {
  readonly role: 'detector';
  /** Above or at 0: an inlier. */
  readonly decision: Column;
  readonly isStrict?: boolean;
  readonly samples: Column;
  readonly explained?: Explained;
}

export interface Clustered {
  readonly role: 'clusterer';
  /** The cluster's number, a Double. */
  readonly index: Column;
  /** The columns of transform(). */
  readonly frame?: Frame;
}

export type Result = Transformed | Classified | Estimated | Detected | Clustered;

/** Lowers one class of estimators. */
export type Lower = (step: Step, frame: Frame) => Result;
