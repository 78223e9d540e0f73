// The parameters of a Spark stage, as its metadata has them: paramMap over defaultParamMap (Spark
// before 2.4 writes both into paramMap), over the default that Spark's own code has. Pure;
// importer's worker thread.
import { StageProblem, shown } from './problem.js';

type Json = Readonly<Record<string, unknown>>;

export class Params {
  readonly #set: Json;
  readonly #defaults: Json;

  constructor(set: Json, defaults: Json) {
    this.#set = set;
    this.#defaults = defaults;
  }

  /** The same with other values of some. */
  with(others: Json): Params {
    return new Params({ ...this.#set, ...others }, this.#defaults);
  }

  /** Whether the model's maker set it, or it has a default. */
  has(name: string): boolean {
    return this.#value(name) !== undefined;
  }

  /** Whether the model's maker set it. */
  isSet(name: string): boolean {
    return own(this.#set, name) !== undefined;
  }

  /** For error texts. */
  shown(name: string): string {
    return shown(this.#value(name));
  }

  number(name: string, fallback?: number): number {
    return this.#read(name, fallback, 'a number', asNumber);
  }

  integer(name: string, fallback?: number): number {
    return this.#read(name, fallback, 'an integer', (value) =>
      Number.isSafeInteger(value) ? (value as number) : undefined,
    );
  }

  flag(name: string, fallback?: boolean): boolean {
    return this.#read(name, fallback, 'true or false', (value) =>
      typeof value === 'boolean' ? value : undefined,
    );
  }

  text(name: string, fallback?: string): string {
    return this.#read(name, fallback, 'a text', asText);
  }

  texts(name: string, fallback?: readonly string[]): readonly string[] {
    return this.#read(name, fallback, 'a list of strings', (value) => listOf(value, asText));
  }

  numbers(name: string, fallback?: readonly number[]): readonly number[] {
    return this.#read(name, fallback, 'a list of numbers', (value) => listOf(value, asNumber));
  }

  /** splitsArray: a list of lists of numbers. */
  numberLists(name: string, fallback?: readonly (readonly number[])[]): readonly number[][] {
    return this.#read<readonly number[][]>(
      name,
      fallback?.map((list) => [...list]),
      'a list of lists of numbers',
      (value) => listOf(value, (list) => listOf(list, asNumber)),
    );
  }

  /** A vector as Spark writes it in JSON: {type: 1, values} or {type: 0, size, indices, values}. */
  vector(name: string): Float64Array {
    return this.#read<Float64Array>(name, undefined, 'a vector', vectorOf);
  }

  /** One of `choices`, written in any case. */
  choice<T extends string>(name: string, choices: readonly T[], fallback: T): T {
    const text = this.text(name, fallback);
    const found = choices.find((choice) => choice.toLowerCase() === text.toLowerCase());
    if (found !== undefined) return found;
    throw new StageProblem(
      `parameter ${name}: expected one of ${choices.join(', ')}, got '${text}'`,
    );
  }

  #value(name: string): unknown {
    return own(this.#set, name) ?? own(this.#defaults, name);
  }

  #read<T>(
    name: string,
    fallback: T | undefined,
    what: string,
    read: (value: unknown) => T | undefined,
  ): T {
    const value = this.#value(name);
    if (value === undefined) {
      if (fallback !== undefined) return fallback;
      throw new StageProblem(`parameter ${name} is not in the metadata`);
    }
    const good = read(value);
    if (good !== undefined) return good;
    throw new StageProblem(`parameter ${name} is ${shown(value)}: expected ${what}`);
  }
}

/** A JSON object's own member; null is nothing. */
export function own(object: Json, name: string): unknown {
  return Object.hasOwn(object, name) ? (object[name] ?? undefined) : undefined;
}

/** Spark writes what JSON has no number for as "NaN", "Inf" and "-Inf". */
function asNumber(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  if (value === 'NaN') return Number.NaN;
  if (value === 'Inf' || value === 'Infinity') return Number.POSITIVE_INFINITY;
  if (value === '-Inf' || value === '-Infinity') return Number.NEGATIVE_INFINITY;
  return undefined;
}

function asText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function listOf<T>(value: unknown, read: (item: unknown) => T | undefined): T[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const items: T[] = [];
  for (const item of value as unknown[]) {
    const good = read(item);
    if (good === undefined) return undefined;
    items.push(good);
  }
  return items;
}

function vectorOf(value: unknown): Float64Array | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { type, size, indices, values } = value as Json;
  const numbers = listOf(values, asNumber);
  if (numbers === undefined) return undefined;
  if (type === 1) return Float64Array.from(numbers);
  const places = listOf(indices, asNumber);
  if (type !== 0 || places?.length !== numbers.length) return undefined;
  if (!Number.isSafeInteger(size) || (size as number) < 0 || (size as number) > 2 ** 27) {
    return undefined;
  }
  const dense = new Float64Array(size as number);
  for (const [i, place] of places.entries()) {
    if (!Number.isInteger(place) || place < 0 || place >= dense.length) return undefined;
    dense[place] = numbers[i] ?? 0;
  }
  return dense;
}
