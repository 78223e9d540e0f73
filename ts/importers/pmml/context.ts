// The context in which a PMML model element is lowered, and its result: the interface between the
// document's common parts (ts/importers/pmml) and the model elements (ts/importers/pmml/models).
// Importer's worker thread.
import type { AnyExplanation } from '../plan/explain.js';
import type { Block, Column, Expression, PlanBuilder } from '../plan/builder.js';
import type { Problems } from '../plan/problems.js';
import type { XmlElement } from './xml/reader.js';

/** PMML's optype of a field. */
export type Optype = 'continuous' | 'categorical' | 'ordinal';

/** Known facts of a field, whatever its origin. */
export interface FieldInfo {
  /** PMML's name: 'double', 'string', 'dateDaysSince[1960]'. */
  readonly dataType: string;
  readonly optype: Optype;
  /** Its valid values as listed (DataField, or of a DerivedField); empty: none listed. */
  readonly values: readonly string[];
}

export interface TargetInfo extends FieldInfo {
  readonly name: string;
}

/** A column of vectors, one number per label. */
export interface LabelledVector {
  readonly column: Column; // Type.Vector, labels.length long in every row that is not missing
  readonly labels: readonly string[];
  /** The labels in the document's order, where that is another one: of equals the first wins. */
  readonly written?: readonly string[];
}

/**
 * Columns that a model fills. What is absent cannot be asked for by an Output: that is a problem.
 * `predicted` is before Targets, which the caller applies: Double for regression; for
 * classification of the target's own type (ModelContext.classify makes it); for clustering the
 * String that PMML calls the entity's id.
 */
export interface ModelResult {
  readonly predicted?: Column;
  /** The results by target, for a model that names its targets itself: several ones, or those of
   * the segments that it chooses from. `predicted` is then the first one, or the chosen one. */
  readonly byTarget?: ReadonlyMap<string, ModelResult>;
  /** Outputs of the chosen segment, which the whole model returns as well. */
  readonly outputs?: readonly SegmentOutput[];
  /** Targets were applied inside: those of this model are not applied. */
  readonly isSettled?: boolean;
  /** predictedDisplayValue where it is not the predicted value. */
  readonly display?: Column;
  readonly probabilities?: LabelledVector;
  readonly confidences?: LabelledVector;
  /**
   * The document has no confidences: all are 0, and are returned only if an Output requests them.
   */
  readonly confidencesUnsaid?: boolean;
  readonly affinities?: LabelledVector;
  /** The order in which affinities rank. Default 'largest' (similarity). */
  readonly affinityOrder?: 'largest' | 'smallest';
  /** entityId, clusterId, rule id of the winner. */
  readonly entityId?: Column; // String
  /** Entities of rank 1, 2, ...: neighbours of a nearest neighbour model. */
  readonly entityIds?: Column; // List of String
  readonly entityAffinities?: Column; // Vector, of the same order as entityIds
  readonly reasonCodes?: Column; // List of String, rank 1 first
  readonly standardError?: Column;
  readonly warning?: Column;
  /** Rules of an association model: which ones, by OutputField algorithm. */
  readonly rules?: AssociationResult;
  /** Votes, not probabilities: without an Output they are not answered as probabilities. */
  readonly probabilitiesAreVotes?: boolean;
  /** How trees or sums make the predicted value, the probabilities or what precedes a link. */
  readonly explanation?: () => PmmlExplanation | undefined;
}

/** An explanation, and the names of its features. */
export interface PmmlExplanation {
  readonly of: AnyExplanation;
  readonly features: readonly string[];
  /** Targets limit or round the value after it: the result of the model is another one. */
  readonly isLimited?: boolean;
  /** The scores are the sums before a link, not the probabilities or the value. */
  readonly isMargin?: boolean;
}

/** A column of an Output, by its name. */
export interface SegmentOutput {
  readonly name: string;
  readonly column: Column;
  /** isFinalResult is not false. */
  readonly final: boolean;
}

/** Reads ruleValue outputs from an association model: one List or scalar column per output. */
export interface AssociationResult {
  /** The OutputField's column, by its own algorithm, rank, rankBasis, isMultiValued. */
  column(outputField: XmlElement): Column;
}

export interface ModelContext {
  readonly plan: PlanBuilder;
  readonly problems: Problems;
  /** "line 12 <TreeModel>", for problems and stages. */
  place(element: XmlElement): string;
  /** The model element's functionName. */
  readonly functionName: string;
  /** The column of an active or derived field, filled before the next stage. A value may be
   * missing, or (invalidValueTreatment asIs) not valid. Errors: a problem, and any column. */
  field(name: string, at: XmlElement): Column;
  /** The column of a field of which each row has a list. */
  list(name: string, at: XmlElement): Column;
  fieldInfo(name: string): FieldInfo;
  /** Is there such a field? */
  hasField(name: string): boolean;
  /** An expression element: Constant, FieldRef, NormContinuous, ..., Apply. */
  expression(element: XmlElement): Expression;
  /** A predicate element: a Bool, missing where it is unknown. */
  predicate(element: XmlElement): Expression;
  /** A value as a field of that dataType has it. */
  constant(text: string, dataType: string): Expression;
  /** A new column filled with the expression, cast to dataType. */
  derive(name: string, expression: Expression, dataType: string, at: XmlElement): Column;
  /**
   * Same as derive(), for an input of the model: a failing row is refused only if the column is
   * read.
   */
  input(name: string, expression: Expression, dataType: string, at: XmlElement): Column;
  /** The columns as one Vector column of doubles; missing where one is. */
  vector(columns: readonly Column[], at: XmlElement): Column;
  /** The label of the largest number (NaN is the largest), the first one of equals; missing where
   * the vector is. Of the target's dataType. */
  classify(scores: LabelledVector, at: XmlElement): Column;
  /** The (first) target of the MiningSchema, if there is one. */
  readonly target?: TargetInfo;
  readonly targets: readonly TargetInfo[];
  /**
   * Labels of a classification: the target's values, then those of `found` that are not among them.
   */
  labels(found: readonly string[]): string[];
  /** The stages that `fill` appends, as a block that reads fields of requests only. */
  aside(fill: () => void): Block;
  /** The field of requests of that name, if there is one. */
  dataField(name: string): { readonly column: Column; readonly dataType: string } | undefined;
  /** Whether the column is an output of a segment. */
  isOutput(column: Column): boolean;
  /** The explanation of an output that is a segment's value; undefined: there is none. */
  explanationOf(column: Column): PmmlExplanation | undefined;
  /** Lowers a model inside this one, with its own MiningSchema, LocalTransformations, Targets. */
  lowerModel(element: XmlElement): ModelResult;
}

/** Fills columns for one model element. What it cannot do is noted in context.problems. */
export type LowerModel = (model: XmlElement, context: ModelContext) => ModelResult;

export type ModelLowerings = Readonly<Record<string, LowerModel>>;
