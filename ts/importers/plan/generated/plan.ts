// What a plan is made of. Data only; any thread. Generated from proto/plan.fbs by proto/generate.mjs.

/** What the values of a column are. The engine keeps Bool to Int64, Date (days since 1970-01-01), Time (seconds of a day) and Timestamp (microseconds since 1970, wall clock) as 64-bit integers, Float and Double as doubles (a Float's are exact floats), String and Binary as interned text. */
export type Type = 'any' | 'bool' | 'int8' | 'int16' | 'int32' | 'int64' | 'float' | 'double' | 'decimal' | 'string' | 'binary' | 'date' | 'time' | 'timestamp' | 'vector' | 'list';

/** A constant of an expression. Missing: has a type, and no value. */
export interface Value {
  readonly type: Type;
  readonly missing?: boolean;
  /** Float, Double */
  readonly real?: number;
  /** others; Decimal: unscaled, low 64 bits */
  readonly integer?: number | bigint;
  /** Decimal: unscaled, high 64 bits */
  readonly high?: number | bigint;
  /** Decimal */
  readonly precision?: number;
  readonly scale?: number;
  /** String, Binary */
  readonly text?: string;
}

/** One node: a call, a column or a constant, whichever is there. */
export interface Node {
  /** a function's name: "pmml.if", "sql.substring" */
  readonly call?: string;
  /** nodes before this one */
  readonly arguments?: readonly number[];
  readonly column?: number;
  readonly value?: Value;
}

export interface Expression {
  readonly nodes: readonly Node[];
}

export interface Block {
  readonly stages: readonly Stage[];
}

/** Of one name: whichever member the kind of stage asks for. */
export interface Attribute {
  readonly name: string;
  readonly reals?: Float64Array;
  readonly integers?: Int32Array;
  readonly texts?: readonly string[];
  readonly values?: readonly Value[];
  readonly expressions?: readonly Expression[];
  readonly blocks?: readonly Block[];
}

export interface Stage {
  /** "string_indexer", "pmml.mining_schema" */
  readonly kind: string;
  /** in the model, for errors: "stage 3 'StringIndexer_12ab'" */
  readonly place: string;
  /** columns */
  readonly inputs: readonly number[];
  readonly outputs: readonly number[];
  readonly attributes: readonly Attribute[];
}

export interface Column {
  readonly name: string;
  readonly type: Type;
  readonly element?: Type;
}

/** What a request gives. */
export interface Field {
  readonly name: string;
  readonly column: number;
  /** what metadata says; what is decoded, unless `any` */
  readonly type: Type;
  /** of a List */
  readonly element?: Type;
  /** of a Vector; -1 = free */
  readonly size?: number;
  /** taken as the request has it */
  readonly any?: boolean;
  /** may be left out: all missing */
  readonly optional?: boolean;
  /** Decimal */
  readonly precision?: number;
  readonly scale?: number;
  /** text is read as a value of `type` (PMML) */
  readonly parseText?: boolean;
  /** for people: label, allowed values */
  readonly about?: string;
}

/** What an answer may have. */
export interface Output {
  readonly name: string;
  readonly column: number;
  readonly type: Type;
  readonly element?: Type;
  readonly size?: number;
  /** answered only where it is asked for */
  readonly extra?: boolean;
}

/** Wall clocks of a time zone. Seconds since 1970 at which they change, ascending, up to the year 2500: behind it they do as 400 years before. */
export interface Zone {
  /** "Europe/Berlin" */
  readonly name: string;
  readonly transitions: Float64Array;
  /** seconds ahead of UTC: one more than transitions */
  readonly offsets: Int32Array;
}

export interface Plan {
  /** "spark", "mleap", "pmml" */
  readonly format: string;
  /** "Spark 3.5.5" */
  readonly producer: string;
  readonly fields: readonly Field[];
  readonly outputs: readonly Output[];
  readonly columns: readonly Column[];
  readonly block: Block;
  /** in Float and Double fields (PMML) */
  readonly nanIsMissing: boolean;
  /** of wall clocks; "" = UTC */
  readonly timezone: string;
  /** A run computes only what the outputs that it is asked for need, and a request may leave out fields that those do not need (Spark). */
  readonly lazy?: boolean;
  /** Those that stages work with, `timezone` among them: its timestamps are instants then, of which requests and answers have the wall clock. */
  readonly zones: readonly Zone[];
  /** of proto/stages and this file: kPlanVersion, PLAN_VERSION */
  readonly version: number;
}
