// The columns of a Spark frame while a pipeline is lowered: by name, each with its place in the
// plan. A name that no stage has made is a field of requests: Spark's models do not say what they
// take. Importer's worker thread.
import type { Column, PlanBuilder } from '../../plan/builder.js';
import type { Type } from '../../plan/generated/plan.js';
import { StageProblem } from '../read/problem.js';
import type { Attributes } from './attributes.js';

export interface Variable {
  readonly name: string;
  readonly column: Column;
  /** Of a field, what it was first taken as: its column has what the request has. */
  readonly type: Type;
  readonly attributes: Attributes;
  /** The number of the top stage that made it; -1: a field. */
  readonly madeBy: number;
}

/** What a stage takes a field as, for metadata; what comes is looked at when it comes. */
export interface Use {
  readonly type: Type;
  readonly element?: Type;
  /** Of a vector. */
  readonly size?: number;
}

/** Of SQL, which looks at what comes. */
export const ANYTHING: Use = { type: 'any' };
export const NUMBER: Use = { type: 'double' };
export const TEXT: Use = { type: 'string' };
export const TEXTS: Use = { type: 'list', element: 'string' };
export const VECTOR: Use = { type: 'vector' };

export class Frame {
  readonly #plan: PlanBuilder;
  readonly #variables = new Map<string, Variable>();
  readonly #uses = new Map<Column, Use>();
  readonly #used = new Set<Column>();
  /** Names that stages have taken out again. */
  readonly #dropped = new Set<string>();
  /** Only what is there is there: after a SELECT without *. */
  #isClosed = false;

  constructor(plan: PlanBuilder) {
    this.#plan = plan;
  }

  /** What is there now, in the order in which it came; fields too, those that were used. */
  get variables(): readonly Variable[] {
    return [...this.#variables.values()];
  }

  /** The column of this name; a field where no stage has made it.
   * Errors: StageProblem where an earlier stage has taken it out. */
  get(name: string, use: Use): Variable {
    const known = this.#variables.get(name);
    if (known !== undefined) {
      this.#used.add(known.column);
      return known.madeBy < 0 && known.type === 'any' ? this.#refined(known, use) : known;
    }
    if (this.#isClosed || this.#dropped.has(name)) {
      throw new StageProblem(`column '${name}' is not there any more`);
    }
    const { type, element } = use;
    const column = this.#plan.field({
      name,
      type,
      ...(element === undefined ? {} : { element }),
      ...sizeOf(use),
      any: true,
    });
    const made: Variable = { name, column, type, attributes: sizeOf(use), madeBy: -1 };
    this.#uses.set(column, use);
    this.#variables.set(name, made);
    return made;
  }

  /** What a field is taken as. */
  useOf(column: number): Use | undefined {
    return this.#uses.get(column as Column);
  }

  #refined(field: Variable, use: Use): Variable {
    const made = { ...field, type: use.type, attributes: sizeOf(use) };
    this.#uses.set(field.column, use);
    this.#variables.set(field.name, made);
    return made;
  }

  /** Whether a stage has asked for it. */
  isUsed(column: Column): boolean {
    return this.#used.has(column);
  }

  find(name: string): Variable | undefined {
    return this.#variables.get(name);
  }

  /** Whether get() makes a field of it. */
  isOpen(name: string): boolean {
    return !this.#isClosed && !this.#dropped.has(name) && !this.#variables.has(name);
  }

  set(variable: Variable): void {
    this.#variables.delete(variable.name);
    this.#variables.set(variable.name, variable);
  }

  /** Takes columns out; those that are not there too. */
  drop(names: readonly string[]): void {
    for (const name of names) {
      this.#variables.delete(name);
      this.#dropped.add(name);
    }
  }

  /** Only these from now on, in this order. */
  keep(variables: readonly Variable[]): void {
    this.#variables.clear();
    for (const variable of variables) this.#variables.set(variable.name, variable);
    this.#isClosed = true;
  }
}

function sizeOf({ type, size }: Use): Attributes {
  return type === 'vector' && size !== undefined ? { size } : {};
}
