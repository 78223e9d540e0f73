// One value of a .skops file, with its place for errors. Values are read when they are asked for;
// nothing is made of classes, functions and types but their names. Importer's worker thread; pure.
// Source: skops' io/_general.py, _numpy.py, _sklearn.py, protocols 0 to 2.
import type { NumpyArray } from './npy.js';

export type Plain = number | string | boolean | null;

export interface Arrays {
  /** Errors: RangeError: no such file, none of NumPy's. */
  readonly arrayAt: (name: string) => NumpyArray;
}

type Raw = Readonly<Record<string, unknown>>;

/** An array of values of any type; objects are items. */
export interface Values {
  readonly shape: readonly number[];
  readonly values: readonly (Plain | Item)[];
  readonly kind: NumpyArray['kind'] | 'object';
}

const DEPTH_MAX = 100;
const LISTS: readonly unknown[] = ['ListNode', 'TupleNode', 'SetNode'];
const SHOWN_CHARS = 60;

const isRaw = (value: unknown): value is Raw =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function shown(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = typeof value === 'string' ? value : String(JSON.stringify(value));
  return text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}...` : text;
}

/** None is a plain value, too. */
function plainOf(item: Item): Plain | Item {
  const value = item.plain();
  return value === undefined ? item : value;
}

export class Item {
  /** "steps[0] 'scaler'"; "" = the whole file. */
  readonly place: string;
  readonly #raw: Raw;
  readonly #arrays: Arrays;
  readonly #depth: number;
  #attributes: ReadonlyMap<string, Item> | undefined;

  /** Errors: RangeError: no node, too deep. */
  constructor(raw: unknown, arrays: Arrays, place: string, depth: number) {
    this.place = place;
    this.#arrays = arrays;
    this.#depth = depth;
    if (!isRaw(raw)) throw this.bad(`expected an object of the schema, got ${shown(raw)}`);
    if (depth > DEPTH_MAX) throw this.bad(`expected at most ${DEPTH_MAX} nested objects`);
    if (raw['__loader__'] === 'CachedNode') {
      throw this.bad('a reference to another object (CachedNode), which skops does not write');
    }
    this.#raw = raw;
  }

  /** An error with the place. */
  bad(why: string): RangeError {
    return new RangeError(this.place === '' ? why : `${this.place}: ${why}`);
  }

  /** "LogisticRegression" */
  get className(): string {
    const name = this.#raw['__class__'];
    if (typeof name === 'string' && name.length < 200) return name;
    throw this.bad(`__class__: expected a name, got ${shown(name)}`);
  }

  /** "sklearn.linear_model._logistic" */
  get module(): string {
    const name = this.#raw['__module__'];
    if (typeof name === 'string' && name.length < 500) return name;
    throw this.bad(`__module__: expected a name, got ${shown(name)}`);
  }

  get loader(): string {
    const { __loader__: loader, __reduce__: reduce } = this.#raw;
    if (loader === undefined && reduce !== undefined) return 'ReduceNode';
    return typeof loader === 'string' ? loader : '';
  }

  /** Whether it is an object with a class, such as an estimator. */
  get isObject(): boolean {
    return this.loader === 'ObjectNode';
  }

  /** The same under another place. */
  at(place: string): Item {
    return new Item(this.#raw, this.#arrays, place, this.#depth);
  }

  /** An attribute. Errors: RangeError: it is missing. */
  get(name: string): Item {
    const found = this.find(name);
    if (found !== undefined) return found;
    throw this.bad(`${name} is missing: is the model fitted?`);
  }

  /** An attribute; undefined: there is none. */
  find(name: string): Item | undefined {
    this.#attributes ??= this.#attributesOf();
    return this.#attributes.get(name);
  }

  /** Same as find(), and undefined for None. */
  given(name: string): Item | undefined {
    const found = this.find(name);
    return found === undefined || found.isNone ? undefined : found;
  }

  /** The items of a dictionary. */
  entries(): ReadonlyMap<string, Item> {
    if (this.loader !== 'DictNode') throw this.#mismatch('a dictionary');
    return this.#dictionary(this.#raw, '');
  }

  get isNone(): boolean {
    return this.loader === 'JsonNode' && this.#raw['content'] === 'null';
  }

  /** A number, text, flag or None; undefined: something else. */
  plain(): Plain | undefined {
    if (this.loader === 'JsonNode') return this.#json();
    if (this.loader !== 'NdArrayNode') return undefined;
    const { shape, values } = this.array();
    const [value] = values;
    return shape.length > 0 || value instanceof Item ? undefined : value;
  }

  number(): number {
    const value = this.plain();
    if (typeof value === 'number') return value;
    if (typeof value === 'boolean') return Number(value);
    throw this.#mismatch('a number');
  }

  /** A whole number from `least` to `most`. */
  integer(least: number, most = 2 ** 31 - 1): number {
    const value = this.number();
    if (Number.isInteger(value) && value >= least && value <= most) return value;
    throw this.bad(`expected a whole number from ${least} to ${most}, got ${value}`);
  }

  text(): string {
    const value = this.plain();
    if (typeof value === 'string') return value;
    throw this.#mismatch('a text');
  }

  flag(): boolean {
    const value = this.plain();
    if (typeof value === 'boolean') return value;
    if (value === 0 || value === 1) return value === 1;
    throw this.#mismatch('True or False');
  }

  /** The items of a list or tuple. */
  list(): readonly Item[] {
    const { content, type } = this.#raw;
    const isObjects = this.loader === 'NdArrayNode' && type === 'json';
    if ((!LISTS.includes(this.loader) && !isObjects) || !Array.isArray(content)) {
      throw this.#mismatch('a list');
    }
    return content.map((raw: unknown, i) => this.#child(raw, `[${i}]`));
  }

  get isList(): boolean {
    return LISTS.includes(this.loader);
  }

  /** The start, stop and step of a slice; undefined: no slice. */
  slice(): readonly (number | string | null)[] | undefined {
    const { content } = this.#raw;
    if (this.loader !== 'SliceNode' || !isRaw(content)) return undefined;
    return ['start', 'stop', 'step'].map((name) => {
      const value = content[name] ?? null;
      if (value === null || Number.isSafeInteger(value)) return value as number | null;
      if (typeof value === 'string') return value;
      // Protocols before 1 had nodes here.
      if (isRaw(value)) {
        const plain = this.#child(value, `.${name}`).plain();
        if (plain === null || typeof plain === 'number' || typeof plain === 'string') return plain;
      }
      throw this.bad(`${name} of a slice: expected a number, got ${shown(value)}`);
    });
  }

  /** "numpy.log1p", also of functools.partial. Errors: RangeError: no function. */
  functionName(): { readonly name: string; readonly isPartial: boolean } {
    const { content } = this.#raw;
    if (this.loader === 'PartialNode' && isRaw(content)) {
      const { name } = this.#child(content['func'], '.func').functionName();
      return { name, isPartial: true };
    }
    const isFunction = this.loader === 'FunctionNode' || this.loader === 'TypeNode';
    if (!isFunction) throw this.#mismatch('a function');
    return { name: `${this.module}.${this.className}`, isPartial: false };
  }

  /** An array, or a list of plain values as one. Errors: RangeError: neither, damaged. */
  array(): Values {
    if (this.isList) {
      const values = this.list().map(plainOf);
      return { shape: [values.length], values, kind: 'object' };
    }
    const { type, file } = this.#raw;
    if (this.loader !== 'NdArrayNode') throw this.#mismatch('an array');
    if (type === 'json') return this.#objects();
    const { kind, shape, reals, texts } = this.#numpy(file);
    if (texts !== undefined) return { shape, values: texts, kind };
    if (reals === undefined) throw this.#mismatch('an array of values');
    const values = kind === 'bool' ? Array.from(reals, (value) => value === 1) : Array.from(reals);
    return { shape, values, kind };
  }

  /** Numbers. `shape`: the expected sizes; -1: any. */
  reals(shape: readonly number[]): Float64Array {
    return this.shapedReals(shape).reals;
  }

  shapedReals(expected: readonly number[]): {
    readonly reals: Float64Array;
    readonly shape: readonly number[];
  } {
    const { type, file } = this.#raw;
    if (this.loader === 'NdArrayNode' && type === 'numpy') {
      const { kind, shape, reals } = this.#numpy(file);
      if (reals === undefined || kind === 'text') throw this.bad('expected numbers');
      this.#checkShape(shape, expected);
      return { reals, shape };
    }
    const { shape, values } = this.array();
    this.#checkShape(shape, expected);
    const reals = Float64Array.from(values, (value) => {
      if (typeof value === 'number') return value;
      throw this.bad(`expected numbers, got ${shown(value)}`);
    });
    return { reals, shape };
  }

  /** Records by field: of one dimension. */
  records(): ReadonlyMap<string, Float64Array> {
    const { records, shape } = this.#numpy(this.#raw['file']);
    if (records === undefined || shape.length !== 1) throw this.bad('expected records');
    return records;
  }

  #checkShape(shape: readonly number[], expected: readonly number[]): void {
    const fits =
      shape.length === expected.length &&
      expected.every((size, axis) => size === -1 || size === shape[axis]);
    if (fits) return;
    const wanted = expected.map((size) => (size === -1 ? 'n' : size)).join(', ');
    throw this.bad(`expected an array of shape [${wanted}], got [${shape.join(', ')}]`);
  }

  #numpy(file: unknown): NumpyArray {
    if (this.loader !== 'NdArrayNode' || typeof file !== 'string') {
      throw this.#mismatch('an array');
    }
    try {
      return this.#arrays.arrayAt(file);
    } catch (error) {
      throw this.bad(`${shown(file)}: ${(error as Error).message}`);
    }
  }

  /** An array of objects: nested lists. */
  #objects(): Values {
    const given = this.#raw['shape'];
    const shape = this.#child(given, '.shape')
      .list()
      .map((size) => size.integer(0));
    let level: readonly Item[] = this.list();
    for (const [axis, size] of shape.entries()) {
      const expected = shape.slice(0, axis + 1).reduce((product, each) => product * each, 1);
      if (level.length !== expected) {
        throw this.bad(`expected an array of shape [${shape.join(', ')}], got another`);
      }
      if (axis < shape.length - 1 && size > 0) level = level.flatMap((item) => item.list());
    }
    const values = level.map(plainOf);
    return { shape, values, kind: 'object' };
  }

  /** Python's JSON has NaN and Infinity. */
  #json(): Plain | undefined {
    const { content } = this.#raw;
    if (typeof content !== 'string') throw this.#mismatch('a value as JSON');
    if (content === 'NaN') return Number.NaN;
    if (content === 'Infinity') return Number.POSITIVE_INFINITY;
    if (content === '-Infinity') return Number.NEGATIVE_INFINITY;
    let value: unknown;
    try {
      value = JSON.parse(content);
    } catch {
      throw this.#mismatch('a value as JSON');
    }
    return typeof value === 'object' && value !== null ? undefined : (value as Plain);
  }

  #attributesOf(): ReadonlyMap<string, Item> {
    const { content } = this.#raw;
    if (!isRaw(content)) return new Map();
    if (content['__loader__'] === 'JsonNode' && content['content'] === 'null') return new Map();
    if (content['__loader__'] !== 'DictNode') {
      throw this.bad(`${shown(this.className)}: expected attributes by name`);
    }
    return this.#dictionary(content, '');
  }

  #dictionary({ content }: Raw, prefix: string): ReadonlyMap<string, Item> {
    if (!isRaw(content)) throw this.#mismatch('a dictionary');
    return new Map(
      Object.entries(content).map(([name, raw]) => [name, this.#child(raw, `${prefix}.${name}`)]),
    );
  }

  #child(raw: unknown, name: string): Item {
    const place = this.place === '' ? name.replace(/^\./, '') : `${this.place}${name}`;
    return new Item(raw, this.#arrays, place, this.#depth + 1);
  }

  #mismatch(expected: string): RangeError {
    const { content, __class__: name } = this.#raw;
    const got = this.loader === 'JsonNode' ? content : (name ?? this.loader);
    return this.bad(`expected ${expected}, got ${shown(got)}`);
  }
}
