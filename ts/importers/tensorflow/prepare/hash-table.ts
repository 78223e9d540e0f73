// A hash table during initialisation. Importer's worker thread; pure. Source:
// tensorflow/core/kernels/lookup_table_op, initializable_lookup_table.
import { modelInvalid } from '../../../base/errors.js';
import type { Dtype, FlatNode, TableContents, Tensor } from '../types.js';
import { typeAttribute } from './attributes.js';
import { quoted } from './quoted.js';
import { TABLE_ENTRIES_MAX } from './limits.js';
import { type Element, elementName, elementsOf, tensorFrom } from './tensors.js';

interface Entry {
  readonly key: Element;
  readonly value: readonly Element[];
}

export class HashTable {
  readonly keyDtype: Dtype;
  readonly valueDtype: Dtype;
  /** Static tables are filled once and accept a repeated key only with the same value. */
  readonly isStatic: boolean;
  isInitialised = false;
  #entries = new Map<string, Entry>();
  #valueShape: readonly number[] = [];

  readonly #emptyKeys: ReadonlySet<string>;

  constructor(node: FlatNode, emptyKeys: ReadonlySet<string> = new Set()) {
    this.#emptyKeys = emptyKeys;
    this.keyDtype = typeAttribute(node.attributes, 'key_dtype') ?? 'string';
    this.valueDtype = typeAttribute(node.attributes, 'value_dtype') ?? 'int64';
    this.isStatic = !node.op.includes('Mutable');
  }

  get size(): number {
    return this.#entries.size;
  }

  /**
   * Replaces the contents (LookupTableImport); fills a static table permanently. Errors:
   * ModelInvalid: see insert(); a static table that has other contents.
   */
  fill(keys: Tensor, values: Tensor): void {
    const before = this.#entries;
    const wasInitialised = this.isInitialised;
    this.#entries = new Map();
    this.insert(keys, values);
    if (this.isStatic && wasInitialised && !sameEntries(before, this.#entries)) {
      throw modelInvalid('the table is already initialised with different contents');
    }
  }

  /**
   * Adds keys [n] or [n, d...] flat with values [n, v...]. Errors: ModelInvalid: types or numbers
   * of keys and values do not match; a static table gets two values for one key; too many entries.
   */
  insert(keys: Tensor, values: Tensor): void {
    this.#checkTypes(keys, values);
    const keyElements = elementsOf(keys);
    const valueElements = elementsOf(values);
    const rows = keyElements.length;
    if (keys.shape.some((dim, axis) => values.shape[axis] !== dim)) {
      throw modelInvalid(
        `expected a value for each key, got keys [${keys.shape.join(', ')}] and ` +
          `values [${values.shape.join(', ')}]`,
      );
    }
    this.#valueShape = values.shape.slice(keys.shape.length);
    const width = rows === 0 ? 0 : valueElements.length / rows;
    keyElements.forEach((key, row) => {
      this.#put(key, valueElements.slice(row * width, (row + 1) * width));
    });
    this.isInitialised = true;
  }

  remove(keys: Tensor): void {
    for (const key of elementsOf(keys)) this.#entries.delete(elementName(key));
  }

  /**
   * The single value of a key; undefined if the table has none. Errors: ModelInvalid if the table's
   * values are vectors.
   */
  find(key: Element): Element | undefined {
    if (this.#valueShape.length > 0)
      throw modelInvalid('expected a table of scalars, got one of vectors');
    return this.#entries.get(elementName(key))?.value[0];
  }

  /** The contents in the order of their keys' first occurrence. */
  contents(): TableContents {
    const entries = [...this.#entries.values()];
    const { keyDtype, valueDtype } = this;
    const shape = [entries.length, ...this.#valueShape];
    return {
      keyDtype,
      valueDtype,
      keys: tensorFrom(
        keyDtype,
        [entries.length],
        entries.map(({ key }) => key),
      ),
      values: tensorFrom(
        valueDtype,
        shape,
        entries.flatMap(({ value }) => value),
      ),
    };
  }

  #checkTypes(keys: Tensor, values: Tensor): void {
    if (keys.dtype === this.keyDtype && values.dtype === this.valueDtype) return;
    throw modelInvalid(
      `expected keys of ${this.keyDtype} and values of ${this.valueDtype}, got ` +
        `${keys.dtype} and ${values.dtype}`,
    );
  }

  #put(key: Element, value: readonly Element[]): void {
    const name = elementName(key);
    if (this.#emptyKeys.has(name)) return;
    const known = this.#entries.get(name);
    if (this.isStatic && known !== undefined && !sameValue(known.value, value)) {
      throw modelInvalid(
        `key ${quoted(name)} has two values: ${value.map(elementName).join(' ')} and ` +
          `${known.value.map(elementName).join(' ')}`,
      );
    }
    this.#entries.set(name, { key, value });
    if (this.#entries.size > TABLE_ENTRIES_MAX) {
      throw modelInvalid(`the table has more than ${TABLE_ENTRIES_MAX} entries`);
    }
  }
}

function sameValue(one: readonly Element[], other: readonly Element[]): boolean {
  return (
    one.length === other.length &&
    one.every((value, index) => elementName(value) === elementName(other[index] ?? ''))
  );
}

function sameEntries(one: ReadonlyMap<string, Entry>, other: ReadonlyMap<string, Entry>): boolean {
  if (one.size !== other.size) return false;
  for (const [name, { value }] of one) {
    const match = other.get(name);
    if (match === undefined || !sameValue(value, match.value)) return false;
  }
  return true;
}
