// Makes a plan (proto/plan.fbs): columns, stages and expressions, by the importers of tabular
// models. Importer's worker thread; pure.
import type { Plan, Stage, Type, Value } from './generated/plan.js';

/** A column's number. */
export type Column = number & { readonly column: unique symbol };

/** An expression before it is flattened. */
export type Expression =
  | { readonly call: string; readonly args: readonly Expression[] }
  | { readonly column: Column }
  | { readonly value: Value };

/** Of one kind each; see the kind's own text in docs/tabular-plan.md. */
export type AttributeValue =
  | number // integer or real: { real: x } where it must be a real
  | boolean
  | string
  | Float64Array // reals
  | Int32Array // integers
  | readonly string[] // texts
  | { readonly real: number }
  | { readonly values: readonly Value[] }
  | { readonly expressions: readonly Expression[] }
  | { readonly blocks: readonly Block[] };

export interface Block {
  readonly stages: readonly Stage[];
}

export interface FieldOptions {
  readonly name: string;
  readonly type: Type;
  readonly element?: Type;
  readonly size?: number;
  readonly any?: boolean;
  readonly optional?: boolean;
  readonly precision?: number;
  readonly scale?: number;
  readonly parseText?: boolean;
  readonly about?: string;
}

export interface OutputOptions {
  readonly name: string;
  readonly column: Column;
  readonly type: Type;
  readonly element?: Type;
  readonly size?: number;
  readonly extra?: boolean;
}

export declare class PlanBuilder {
  constructor(format: 'spark' | 'mleap' | 'pmml', producer: string);
  readonly nanIsMissing: boolean;
  readonly timezone: string;
  /** A new column. `name` is for error texts. */
  column(name: string, type: Type, element?: Type): Column;
  typeOf(column: Column): Type;
  nameOf(column: Column): string;
  /** A field of requests, with a column of its own. */
  field(options: FieldOptions): Column;
  output(options: OutputOptions): void;
  /** Appends to the innermost open block. `place`: where in the model, for errors. */
  stage(
    kind: string,
    inputs: readonly Column[],
    outputs: readonly Column[],
    attributes: Readonly<Record<string, AttributeValue | undefined>>,
    place: string,
  ): void;
  /** The stages that `fill` appends, as a block of its own. */
  block(fill: () => void): Block;
  /** The plan. Errors: RangeError naming the stage where a column is read before it is filled. */
  finish(): Plan;
}

export declare function call(name: string, ...args: readonly Expression[]): Expression;
export declare function columnRef(column: Column): Expression;
export declare function constant(value: number | string | boolean | Value): Expression;
/** The plan's bytes, for the engine. */
export declare function encodePlan(plan: Plan): Uint8Array;
