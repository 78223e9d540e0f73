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
  /** For a field, the type of its first use: its column has the request's value. */
  readonly type: Type;
  readonly attributes: Attributes;
  /** The number of the top stage that made it; -1: a field. */
  readonly madeBy: number;
}

/** A stage's use of a field, for metadata; values are checked when they arrive. */
export interface Use {
  readonly type: Type;
  readonly element?: Type;
  /** For a vector. */
  readonly size?: number;
}

/** The use by SQL, which checks values when they arrive. */
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

  /** The current variables in the order in which they were added, including used fields. */
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
      throw new StageProblem(`column '${name}' has been dropped`);
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

  /** The use of a field. */
  useOf(column: number): Use | undefined {
    return this.#uses.get(column as Column);
  }

  #refined(field: Variable, use: Use): Variable {
    const made = { ...field, type: use.type, attributes: sizeOf(use) };
    this.#uses.set(field.column, use);
    this.#variables.set(field.name, made);
    return made;
  }

  /** Whether a stage has read it. */
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
