// Makes a plan (proto/plan.fbs): columns, stages and expressions, by the importers of tabular
// models. Importer's worker thread; pure.
import { INT32_MAX } from '../../base/limits.js';
import { PLAN_VERSION } from '../../base/generated/plan-version.js';
import { writeFlatTable } from '../../model/flat-table.js';
import type { AttributeValue, Block, Exactly, StageKind } from './attributes.js';
import { type Column, type Expression, flatten } from './expression.js';
import type { ImportedFormat } from './imported.js';
import type { Attribute, Field, Output, Plan, Stage, Type, Zone } from './generated/plan.js';
import type { StageAttributes } from './generated/stages.js';
import { PLAN } from './generated/flat-tables.js';

export type { Block, StageKind } from './attributes.js';
export { call, type Column, columnRef, constant, type Expression } from './expression.js';

/** Properties of a column that a SQL statement derives, in addition to its expression. */
export interface SqlDerivation {
  /** The expression's text, for errors. */
  readonly written: string;
  /** In Spark's ANSI mode. */
  readonly ansi: boolean;
  /** The items' type, in lists. */
  readonly element?: Type | undefined;
}

export type FieldOptions = Omit<Field, 'column'>;

export type OutputOptions = Omit<Output, 'column'> & { readonly column: Column };

interface ColumnEntry {
  readonly name: string;
  readonly type: Type;
  readonly element?: Type;
  filled: boolean;
}

const IDENTIFIER = 'SVTP';
const INT32_MIN = -(2 ** 31);

/**
 * A scalar attribute's value: both members if it is an integer, so that the stage kind can choose.
 */
function ofNumber(name: string, value: number): Attribute {
  const reals = Float64Array.of(value);
  const isInteger = Number.isInteger(value) && value >= INT32_MIN && value <= INT32_MAX;
  return isInteger ? { name, reals, integers: Int32Array.of(value) } : { name, reals };
}

const isTexts = (value: AttributeValue): value is readonly string[] => Array.isArray(value);

export class PlanBuilder {
  /** May be set until finish(). */
  nanIsMissing = false;
  timezone = '';
  matrix = false;
  readonly #zones = new Map<string, Zone>();
  readonly #format: ImportedFormat;
  readonly #producer: string;
  readonly #columns: ColumnEntry[] = [];
  readonly #fields: (FieldOptions & { readonly column: Column })[] = [];
  readonly #outputs: OutputOptions[] = [];
  readonly #names = { field: new Set<string>(), output: new Set<string>() };
  #stages: Stage[] = [];
  #open = 0;
  #fault: string | undefined;

  constructor(format: ImportedFormat, producer: string) {
    this.#format = format;
    this.#producer = producer;
  }

  /** A new column. `name` is for error texts. */
  column(name: string, type: Type, element?: Type): Column {
    const entry = { name, type, filled: false };
    this.#columns.push(element === undefined ? entry : { ...entry, element });
    return (this.#columns.length - 1) as Column;
  }

  typeOf(column: Column): Type {
    return this.#entry(column).type;
  }

  /** The element type of a List. */
  elementOf(column: Column): Type {
    return this.#entry(column).element ?? 'any';
  }

  /** The fields of requests, in their order. */
  get fieldNames(): readonly string[] {
    return this.#fields.map(({ name }) => name);
  }

  get outputNames(): readonly string[] {
    return this.#outputs.map(({ name }) => name);
  }

  nameOf(column: Column): string {
    return this.#entry(column).name;
  }

  /** Adds a request field with its own column. */
  field(options: FieldOptions): Column {
    this.#once('field', options.name);
    const column = this.column(options.name, options.any ? 'any' : options.type, options.element);
    this.#entry(column).filled = true;
    this.#fields.push({ ...options, column });
    return column;
  }

  output(options: OutputOptions): void {
    this.#once('output', options.name);
    this.#read(options.column, `output '${options.name}'`);
    this.#outputs.push(options);
  }

  /** Lets stages find the clock changes of this zone by its name. */
  useZone(zone: Zone): void {
    this.#zones.set(zone.name, zone);
  }

  /**
   * Appends a stage of a kind that proto/stages declares to the innermost open block. `place`:
   * where in the model, for errors. Attributes that are undefined are left out. Errors: RangeError
   * if an expression is too large.
   */
  stage<Kind extends StageKind, Given extends StageAttributes[Kind]>(
    kind: Kind,
    inputs: readonly Column[],
    outputs: readonly Column[],
    attributes: Exactly<Kind, Given>,
    place: string,
  ): void {
    const at = `${kind} at ${place}`;
    for (const column of inputs) this.#read(column, at);
    const given = Object.entries<AttributeValue | undefined>(attributes)
      .filter((pair): pair is [string, AttributeValue] => pair[1] !== undefined)
      .map(([name, value]) => this.#attribute(name, value, at));
    for (const column of outputs) {
      const entry = this.#entry(column);
      if (entry.filled) this.#fail(`${at} fills column '${entry.name}', which is filled already`);
      entry.filled = true;
    }
    this.#stages.push({ kind, place, inputs, outputs, attributes: given });
  }

  /** Same as derive(), for an SQL expression that errors quote; `ansi`: in Spark's ANSI mode. */
  deriveSql(
    name: string,
    type: Type,
    expression: Expression,
    place: string,
    { written, ansi, element }: SqlDerivation,
  ): Column {
    const column = this.column(name, type, element);
    const attributes = {
      expressions: { expressions: [expression] },
      written: [written],
      ansi,
      // Spark inlines expressions into those that read them, so only expressions that are read can
      // fail.
      deferred: ansi,
    };
    this.stage('derive', [], [column], attributes, place);
    return column;
  }

  /** A new column that an expression fills, over every row. */
  derive(name: string, type: Type, expression: Expression, place: string, element?: Type): Column {
    const column = this.column(name, type, element);
    this.stage('derive', [], [column], { expressions: { expressions: [expression] } }, place);
    return column;
  }

  /**
   * Same as derive(), but a row for which the expression fails is refused only if the column is
   * read.
   */
  deriveLate(name: string, type: Type, expression: Expression, place: string): Column {
    const column = this.column(name, type);
    const attributes = { expressions: { expressions: [expression] }, deferred: true };
    this.stage('derive', [], [column], attributes, place);
    return column;
  }

  /**
   * Collects the stages that `fill` appends into a separate block. Stages after the one that gets
   * the block may read the columns that it fills; that stage sets them to missing where the block
   * was not run.
   */
  block(fill: () => void): Block {
    const outer = this.#stages;
    const stages: Stage[] = [];
    this.#stages = stages;
    this.#open += 1;
    try {
      fill();
    } finally {
      this.#stages = outer;
      this.#open -= 1;
    }
    return { stages };
  }

  /**
   * The plan. Errors: RangeError naming the stage where a column is read before it is filled, or
   * filled twice, and a name that two fields or outputs have.
   */
  finish(): Plan {
    if (this.#open !== 0) throw new RangeError('a plan is finished inside a block');
    if (this.#fault !== undefined) throw new RangeError(this.#fault);
    return {
      format: this.#format,
      producer: this.#producer,
      fields: this.#fields,
      outputs: this.#outputs,
      columns: this.#columns.map(({ filled: _, ...column }) => column),
      block: { stages: this.#stages },
      nanIsMissing: this.nanIsMissing,
      timezone: this.timezone,
      zones: [...this.#zones.values()],
      version: PLAN_VERSION,
      ...(this.matrix ? { matrix: true } : {}),
    };
  }

  #entry(column: Column): ColumnEntry {
    const entry = this.#columns[column];
    if (entry === undefined) throw new RangeError(`column ${column} does not belong to this plan`);
    return entry;
  }

  #fail(fault: string): void {
    this.#fault ??= fault;
  }

  #once(what: 'field' | 'output', name: string): void {
    if (this.#names[what].has(name)) this.#fail(`two ${what}s are named '${name}'`);
    this.#names[what].add(name);
  }

  #read(column: Column, reader: string): void {
    const { name, filled } = this.#entry(column);
    if (!filled) this.#fail(`${reader} reads column '${name}' before it is filled`);
  }

  #attribute(name: string, value: AttributeValue, at: string): Attribute {
    if (typeof value === 'number') return ofNumber(name, value);
    if (typeof value === 'boolean') return { name, integers: Int32Array.of(value ? 1 : 0) };
    if (typeof value === 'string') return { name, texts: [value] };
    if (value instanceof Float64Array) return { name, reals: value };
    if (value instanceof Int32Array) return { name, integers: value };
    if ('real' in value) return { name, reals: Float64Array.of(value.real) };
    if (isTexts(value)) return { name, texts: value };
    if ('values' in value) return { name, values: value.values };
    if ('blocks' in value) return { name, blocks: value.blocks };
    const read = (column: Column) => this.#read(column, at);
    return { name, expressions: value.expressions.map((one) => flatten(one, read)) };
  }
}

/** The plan's bytes, for the engine. */
export function encodePlan(plan: Plan): Uint8Array {
  return writeFlatTable(PLAN, plan, IDENTIFIER);
}
