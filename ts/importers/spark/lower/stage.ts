// One stage of a Spark model while it is lowered: its parameters, and the frame that it reads and
// adds to. Importer's worker thread.
import type { Column, PlanBuilder } from '../../plan/builder.js';
import { type AnyExplanation, featureCount } from '../../plan/explain.js';
import type { Type } from '../../plan/generated/plan.js';
import type { Problems } from '../../plan/problems.js';
import type { StageFolder } from '../read/folder.js';
import type { Metadata } from '../read/metadata.js';
import type { Params } from '../read/params.js';
import { StageProblem } from '../read/problem.js';
import type { Attributes } from './attributes.js';
import type { Frame, Use, Variable } from './frame.js';

/** State of one load that all stages share. */
export interface Model {
  readonly plan: PlanBuilder;
  readonly problems: Problems;
  readonly warnings: string[];
  readonly frame: Frame;
  /** Whether SQL is computed in ANSI mode; undefined: as its version of Spark does. */
  readonly ansi: boolean | undefined;
  /** The number of stages so far, including those of nested pipelines. */
  stages: number;
  /** The last stage that predicts, by its number, and its outputs as they are to be answered. */
  predicting: { readonly stage: number; readonly names: readonly string[] };
  /** The last stage that can be explained, by its number. */
  explained?: {
    readonly stage: number;
    readonly explanation: AnyExplanation;
    /** Those of the features; empty: they are not known. */
    readonly names: readonly string[];
  };
}

export interface OutputShape {
  readonly type: Type;
  readonly element?: Type;
  readonly attributes?: Attributes;
}

export class Stage {
  readonly model: Model;
  readonly folder: StageFolder;
  /** "stage 3 'StringIndexer_12ab'" */
  readonly place: string;
  readonly number: number;

  constructor(model: Model, folder: StageFolder, place: string) {
    this.model = model;
    this.folder = folder;
    this.place = place;
    this.number = model.stages;
  }

  get plan(): PlanBuilder {
    return this.model.plan;
  }

  get metadata(): Metadata {
    return this.folder.metadata;
  }

  get params(): Params {
    return this.folder.metadata.params;
  }

  /** The column that the parameter names. */
  input(param: string, use: Use, fallback?: string): Variable {
    return this.model.frame.get(this.params.text(param, fallback), use);
  }

  /** The columns that the parameter names. */
  inputs(param: string, use: Use): Variable[] {
    return this.params.texts(param).map((name) => this.model.frame.get(name, use));
  }

  /** A new column of the frame, for this stage to fill. */
  output(name: string, shape: OutputShape): Column {
    if (name === '') throw new StageProblem('an output column has no name');
    const column = this.plan.column(name, shape.type, shape.element);
    this.model.frame.set({
      name,
      column,
      type: shape.type,
      attributes: shape.attributes ?? {},
      madeBy: this.number,
    });
    return column;
  }

  /** The same, of a column that the model's maker may have done without: its name is ''. */
  optional(param: string, fallback: string, shape: OutputShape): Column | undefined {
    const name = this.params.text(param, fallback);
    return name === '' ? undefined : this.output(name, shape);
  }

  /** A column of nobody's but this stage's. */
  between(name: string, type: Type, element?: Type): Column {
    return this.plan.column(`${this.metadata.uid}.${name}`, type, element);
  }

  /** Inputs with their outputs, of stages that take inputCol and outputCol or inputCols and
   * outputCols. All inputs are read before an output is made, as in Spark. */
  pairs(use: Use): { readonly input: Variable; readonly output: string }[] {
    const { params, model } = this;
    if (params.has('inputCols') && (params.isSet('inputCols') || !params.isSet('inputCol'))) {
      const names = params.texts('inputCols');
      const outputs = params.texts('outputCols');
      if (names.length !== outputs.length) {
        throw new StageProblem(
          `expected equal counts, got ${names.length} inputCols and ${outputs.length} outputCols`,
        );
      }
      return names.map((name, i) => ({
        input: model.frame.get(name, use),
        output: outputs[i] as string,
      }));
    }
    return [{ input: this.input('inputCol', use), output: params.text('outputCol') }];
  }

  /** Something that is not as in Spark, and no problem. */
  warn(what: string): void {
    this.model.warnings.push(`${this.place}: ${what}`);
  }

  /** Says that this stage predicts, and what of it is answered by default, in this order. */
  predicts(names: readonly string[]): void {
    this.model.predicting = { stage: this.number, names };
  }

  /** Says how trees or a linear model make what this stage predicts from a vector of features. */
  explains(explanation: AnyExplanation, { slots, size = slots?.length }: Attributes): void {
    const known = slots?.flatMap(({ name }) => name ?? []);
    const isNamed = size === featureCount(explanation) && known?.length === size;
    const names = isNamed ? known : [];
    this.model.explained = { stage: this.number, explanation, names };
  }
}

/** Appends one stage to the plan. Errors: StageProblem. */
export type Lower = (stage: Stage) => void | Promise<void>;
