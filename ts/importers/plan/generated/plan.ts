// What a plan is made of. Data only; any thread. Generated from proto/plan.fbs by proto/generate.mjs.

/** The type of a column's values. The engine stores Bool to Int64, Date (days since 1970-01-01), Time (seconds of a day) and Timestamp (microseconds since 1970, wall clock) as 64-bit integers, Float and Double as doubles (a Float's are exact floats), String and Binary as interned text. */
export type Type = 'any' | 'bool' | 'int8' | 'int16' | 'int32' | 'int64' | 'float' | 'double' | 'decimal' | 'string' | 'binary' | 'date' | 'time' | 'timestamp' | 'vector' | 'list';

/** A constant of an expression. `missing`: it has a type, but no value. */
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

/** One node: a call, a column or a constant, whichever is set. */
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

/** A named attribute; the kind of stage determines which member is set. */
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

/** An input field of a request. */
export interface Field {
  readonly name: string;
  readonly column: number;
  /** shown in metadata; the decoded type, unless `any` */
  readonly type: Type;
  /** for a List */
  readonly element?: Type;
  /** for a Vector; -1 = free */
  readonly size?: number;
  /** accepts the request's type */
  readonly any?: boolean;
  /** if omitted, all values are missing */
  readonly optional?: boolean;
  /** Decimal */
  readonly precision?: number;
  readonly scale?: number;
  /** text is parsed as a value of `type` (PMML) */
  readonly parseText?: boolean;
  /** for people: label, allowed values */
  readonly about?: string;
}

/** A possible output of a response. */
export interface Output {
  readonly name: string;
  readonly column: number;
  readonly type: Type;
  readonly element?: Type;
  /** for a Vector or a List; -1 = free */
  readonly size?: number;
  /** only returned on request */
  readonly extra?: boolean;
}

/** The wall clock of a time zone: the times at which its offset changes, in seconds since 1970, ascending, up to the year 2500; after that it repeats the changes of 400 years before. */
export interface Zone {
  /** "Europe/Berlin" */
  readonly name: string;
  readonly transitions: Float64Array;
  /** seconds ahead of UTC: one more than transitions */
  readonly offsets: Int32Array;
}

/** The values of one field in the rows that a model's explanations are relative to. Texts of a String field; else numbers. NaN in `reals`: the value is missing. A Vector field has as many numbers for each row. */
export interface BackgroundField {
  readonly column: number;
  readonly rows: number;
  readonly reals: Float64Array;
  readonly texts?: readonly string[];
}

export interface Plan {
  /** "spark", "mleap", "pmml", "xgboost", "lightgbm" */
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
  /** A run only computes what the requested outputs need, and a request may omit fields that they do not need (Spark). */
  readonly lazy?: boolean;
  /** The zones that stages use, including `timezone`: timestamps are then instants, which requests and responses contain as wall-clock times. */
  readonly zones: readonly Zone[];
  /** of proto/stages and this file: kPlanVersion, PLAN_VERSION */
  readonly version: number;
  /** A request may send all fields as one tensor [rows, fields], in their order (boosters). */
  readonly matrix?: boolean;
  /** Rows that explanations are relative to; other fields are missing in them. */
  readonly background?: readonly BackgroundField[];
}
