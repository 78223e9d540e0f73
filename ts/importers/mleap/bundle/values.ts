// The contents of an MLeap bundle's model and node files, the same for both file formats.
// Importer's worker thread; data and its readers. Source: tabular.md 4.1
import { modelInvalid } from '../../../base/errors.js';

export type BasicType =
  | 'boolean'
  | 'byte'
  | 'short'
  | 'int'
  | 'long'
  | 'float'
  | 'double'
  | 'string'
  | 'byte_string';

/** The shape of a column. `dimensions`: a tensor's, if known; -1 is any. */
export interface DataShape {
  readonly base: 'scalar' | 'list' | 'tensor';
  readonly nullable: boolean;
  readonly dimensions: readonly number[];
}

/** The values of a scalar (one or, where it is the type's zero, none), a list or a tensor. */
export interface BundleValue {
  readonly form: 'scalar' | 'list' | 'tensor';
  /** The values of every numeric kind. */
  readonly numbers: Float64Array;
  readonly texts: readonly string[];
  readonly booleans: readonly boolean[];
  readonly shapes: readonly DataShape[];
  readonly types: readonly BasicType[];
  readonly tensors: readonly BundleValue[];
  readonly dimensions: readonly number[];
}

export interface BundleModel {
  readonly op: string;
  readonly attributes: ReadonlyMap<string, BundleValue>;
}

export interface Socket {
  readonly port: string;
  readonly name: string;
}

export interface BundleNode {
  readonly name: string;
  readonly inputs: readonly Socket[];
  readonly outputs: readonly Socket[];
}

export interface BundleInfo {
  readonly name: string;
  readonly format: 'json' | 'protobuf';
  readonly version: string;
}

export const EMPTY_VALUE: BundleValue = {
  form: 'scalar',
  numbers: new Float64Array(),
  texts: [],
  booleans: [],
  shapes: [],
  types: [],
  tensors: [],
  dimensions: [],
};

/** Reads a model's attributes. Errors: ModelInvalid naming the file and the attribute. */
export class Attributes {
  readonly #model: BundleModel;
  readonly #file: string;

  constructor(model: BundleModel, file: string) {
    this.#model = model;
    this.#file = file;
  }

  has(name: string): boolean {
    return this.#model.attributes.has(name);
  }

  /** A scalar that is the zero of its type has no value in a bundle. */
  number(name: string, fallback?: number): number {
    const value = this.#optional(name);
    if (value === undefined && fallback !== undefined) return fallback;
    return this.#scalar(name).numbers[0] ?? 0;
  }

  integer(name: string, fallback?: number): number {
    const value = this.number(name, fallback);
    if (!Number.isSafeInteger(value)) this.#fail(name, `expected a whole number, got ${value}`);
    return value;
  }

  text(name: string, fallback?: string): string {
    const value = this.#optional(name);
    if (value === undefined && fallback !== undefined) return fallback;
    return this.#scalar(name).texts[0] ?? '';
  }

  flag(name: string, fallback?: boolean): boolean {
    const value = this.#optional(name);
    if (value === undefined && fallback !== undefined) return fallback;
    return this.#scalar(name).booleans[0] ?? false;
  }

  /** The values of a list or a tensor. */
  numbers(name: string): Float64Array {
    return this.#many(name).numbers;
  }

  optionalNumbers(name: string): Float64Array | undefined {
    return this.has(name) ? this.numbers(name) : undefined;
  }

  integers(name: string): Int32Array {
    const { numbers } = this.#many(name);
    const made = Int32Array.from(numbers);
    const bad = numbers.findIndex((value, i) => value !== made[i]);
    if (bad >= 0) this.#fail(name, `value ${bad}: expected a 32-bit integer, got ${numbers[bad]}`);
    return made;
  }

  texts(name: string): readonly string[] {
    return this.#many(name).texts;
  }

  booleans(name: string): readonly boolean[] {
    return this.#many(name).booleans;
  }

  /** Empty where they are not written (old bundles). */
  shapes(name: string): readonly DataShape[] {
    return this.#optional(name)?.shapes ?? [];
  }

  /** A matrix, column by column as MLeap has it. */
  matrix(name: string): {
    readonly rows: number;
    readonly columns: number;
    readonly values: Float64Array;
  } {
    const value = this.#many(name);
    const [rows = -1, columns = -1] = value.dimensions;
    const isMatrix = value.dimensions.length === 2 && rows * columns === value.numbers.length;
    if (!isMatrix || rows < 0) {
      const shape = `[${value.dimensions.join(', ')}]`;
      this.#fail(name, `expected a matrix, got shape ${shape} and ${value.numbers.length} values`);
    }
    return { rows, columns, values: value.numbers };
  }

  /** The same, row by row. */
  matrixRows(name: string): {
    readonly rows: number;
    readonly columns: number;
    readonly values: Float64Array;
  } {
    const { rows, columns, values } = this.matrix(name);
    const turned = values.map((_, i) => {
      const row = Math.floor(i / columns);
      return values[(i % columns) * rows + row] ?? Number.NaN;
    });
    return { rows, columns, values: turned };
  }

  /** A list of tensors of one size. */
  vectors(name: string): readonly Float64Array[] {
    const vectors = this.#many(name).tensors.map((tensor) => tensor.numbers);
    const size = vectors[0]?.length ?? 0;
    const odd = vectors.findIndex((vector) => vector.length !== size);
    if (odd >= 0)
      this.#fail(name, `tensor ${odd} has ${vectors[odd]?.length} values, the first ${size}`);
    return vectors;
  }

  #optional(name: string): BundleValue | undefined {
    return this.#model.attributes.get(name);
  }

  #any(name: string): BundleValue {
    const value = this.#optional(name);
    if (value === undefined) this.#fail(name, 'expected a value, got none');
    return value;
  }

  #scalar(name: string): BundleValue {
    const value = this.#any(name);
    if (value.form !== 'scalar') this.#fail(name, `expected one value, got a ${value.form}`);
    return value;
  }

  #many(name: string): BundleValue {
    const value = this.#any(name);
    if (value.form === 'scalar') this.#fail(name, 'expected a list or a tensor, got one value');
    return value;
  }

  #fail(name: string, what: string): never {
    throw modelInvalid(`${this.#file}: attribute '${name}': ${what}`);
  }
}
