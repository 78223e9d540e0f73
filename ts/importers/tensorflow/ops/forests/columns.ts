// The table of floats that ONNX's trees read: the operator's inputs, whether a category is in a
// set, whether a value is missing, and the sums of oblique conditions. Importer's worker thread.
import { FOREST_SET_BYTES_MAX } from '../../../../base/limits.js';
import { elementsOf } from '../../../ydf/ensemble.js';
import type { DataColumn } from '../../../ydf/messages.js';
import type { NodeCondition } from '../../../ydf/nodes.js';
import type { OpContext } from '../../lower/context.js';
import { numbersTensor } from '../../lower/tensors.js';
import type { TensorValue } from '../../lower/values.js';
import type { Tensor } from '../../types.js';
import { Projections } from './projections.js';

/** One input of the operator: a column for each feature. */
export interface Bank {
  readonly features: readonly number[];
  /** undefined: there are none. */
  readonly value: TensorValue | undefined;
}

export interface Banks {
  readonly numerical: Bank;
  readonly boolean: Bank;
  readonly categorical: Bank;
}

/** A split: rows pass if the column's number is at least the threshold. */
export interface Split {
  readonly column: number;
  readonly threshold: number;
}

/** A column of the table, before it is known where its part begins. */
interface Place {
  readonly part: 'numerical' | 'boolean' | 'missing' | 'projections' | number;
  readonly at: number;
}

/** Rows of whether a category passes: that of a missing value, then one for each category. */
interface Sets {
  readonly rows: Uint8Array[];
  readonly known: Map<string, number>;
}

const HALF = 0.5;

export class Columns {
  readonly #cx: OpContext;
  readonly #specs: readonly DataColumn[];
  readonly #banks: Banks;
  readonly #sets = new Map<number, Sets>();
  readonly #missing: number[] = [];
  readonly #projections: Projections;
  readonly #splits: { readonly place: Place; readonly threshold: number }[] = [];
  #setBytes = 0;

  constructor(cx: OpContext, specs: readonly DataColumn[], banks: Banks) {
    this.#cx = cx;
    this.#specs = specs;
    this.#banks = banks;
    this.#projections = new Projections(specs, banks.numerical);
  }

  /** Any input with rows. */
  get rows(): TensorValue {
    const { numerical, boolean, categorical } = this.#banks;
    return (
      numerical.value ?? boolean.value ?? categorical.value ?? this.#cx.fail('it has no features')
    );
  }

  /** Returns the number of its split. Errors: RangeError: it does not fit its feature. */
  add(condition: NodeCondition): number {
    return this.#splits.push(this.#splitOf(condition)) - 1;
  }

  #splitOf(condition: NodeCondition): { readonly place: Place; readonly threshold: number } {
    const { attribute, test } = condition;
    const spec = this.#specs[attribute];
    if (spec === undefined) throw new RangeError(`column ${attribute} does not exist`);
    const { numerical, boolean, categorical } = this.#banks;
    const at = (bank: Bank): number => {
      const found = bank.features.indexOf(attribute);
      if (found >= 0) return found;
      throw new RangeError(`feature '${spec.name}': a condition '${test.kind}' does not fit`);
    };
    switch (test.kind) {
      case 'missing':
        return { place: { part: 'missing', at: this.#missingOf(attribute) }, threshold: HALF };
      case 'true':
        return { place: { part: 'boolean', at: at(boolean) }, threshold: HALF };
      case 'higher':
        return { place: { part: 'numerical', at: at(numerical) }, threshold: test.threshold };
      case 'bin': {
        const threshold = spec.boundaries[test.threshold - 1];
        if (threshold !== undefined) {
          return { place: { part: 'numerical', at: at(numerical) }, threshold };
        }
        throw new RangeError(`feature '${spec.name}': bin ${test.threshold} does not exist`);
      }
      case 'oblique': {
        const place = { part: 'projections', at: this.#projections.add(test) } as const;
        return { place, threshold: test.threshold };
      }
      case 'elements':
      case 'bitmap': {
        at(categorical);
        if (spec.categories > FOREST_SET_BYTES_MAX) throw tooManyElements();
        const passes = new Uint8Array(spec.categories + 1);
        if (condition.passesMissing) passes[0] = 1;
        for (const element of elementsOf(test, spec)) passes[element + 1] = 1;
        return { place: { part: attribute, at: this.#setOf(attribute, passes) }, threshold: HALF };
      }
    }
  }

  #missingOf(attribute: number): number {
    const found = this.#missing.indexOf(attribute);
    return found >= 0 ? found : this.#missing.push(attribute) - 1;
  }

  #setOf(attribute: number, passes: Uint8Array): number {
    const sets = this.#sets.get(attribute) ?? { rows: [], known: new Map<string, number>() };
    this.#sets.set(attribute, sets);
    const key = Buffer.from(passes).toString('latin1');
    const known = sets.known.get(key);
    if (known !== undefined) return known;
    this.#setBytes += passes.length;
    if (this.#setBytes > FOREST_SET_BYTES_MAX) throw tooManyElements();
    const made = sets.rows.push(passes) - 1;
    sets.known.set(key, made);
    return made;
  }

  /** The table, float [rows, columns], and the splits by number. */
  finish(): { readonly table: TensorValue; readonly splits: readonly Split[] } {
    const cx = this.#cx;
    const { numerical, boolean } = this.#banks;
    const parts: TensorValue[] = [];
    const starts = new Map<Place['part'], number>();
    let width = 0;
    const append = (part: Place['part'], value: TensorValue, count: number): void => {
      parts.push(value);
      starts.set(part, width);
      width += count;
    };
    const used = new Set(this.#splits.map(({ place }) => place.part));
    for (const [part, bank] of Object.entries({ numerical, boolean })) {
      if (bank.value === undefined || !used.has(part as Place['part'])) continue;
      append(part as Place['part'], this.#checked(bank, bank.value), bank.features.length);
    }
    for (const [attribute, { rows }] of this.#sets) {
      append(attribute, this.#membership(attribute, rows), rows.length);
    }
    if (this.#missing.length > 0) {
      const values = this.#missing.map((attribute) => this.#isMissing(attribute));
      append('missing', cx.concat(values, 1), values.length);
    }
    const { count } = this.#projections;
    if (count > 0) append('projections', this.#projections.lower(cx), count);
    const splits = this.#splits.map(({ place, threshold }) => ({
      column: (starts.get(place.part) ?? 0) + place.at,
      threshold,
    }));
    const table = parts.length > 0 ? cx.concat(parts, 1) : this.rows;
    return { table: cx.cast(table, 'float'), splits };
  }

  /** ONNX's trees do not check the table's width: it is fixed here if it is not known. */
  #checked({ features }: Bank, value: TensorValue): TensorValue {
    if (value.shape?.[1] !== undefined) return value;
    return this.#cx.op('Gather', [value, this.#cx.int64s(features.map((_, i) => i))], {
      shape: [value.shape?.[0], features.length],
      attributes: { axis: { int: 1 } },
    });
  }

  /** The column of a feature, [rows, 1]. */
  #column(attribute: number): TensorValue {
    for (const { features, value } of Object.values(this.#banks) as Bank[]) {
      const at = features.indexOf(attribute);
      if (at < 0 || value === undefined) continue;
      return this.#cx.op('Gather', [value, this.#cx.int64s([at])], {
        shape: [value.shape?.[0], 1],
        attributes: { axis: { int: 1 } },
      });
    }
    throw new RangeError(`column ${attribute} is no feature`);
  }

  #isMissing(attribute: number): TensorValue {
    const cx = this.#cx;
    const column = this.#column(attribute);
    const missing =
      column.dtype === 'int32'
        ? cx.op('Equal', [column, cx.scalar('int32', -1)], { dtype: 'bool' })
        : cx.op('IsNaN', [column], { dtype: 'bool' });
    return cx.cast(missing, 'float');
  }

  /** 1 where the row's category is in the set, [rows, sets]. */
  #membership(attribute: number, sets: readonly Uint8Array[]): TensorValue {
    const cx = this.#cx;
    const categories = this.#specs[attribute]?.categories ?? 0;
    const column = cx.cast(this.#column(attribute), 'int64');
    const [rows] = column.shape ?? [];
    const flags = { dtype: 'bool' } as const;
    const below = cx.op('Less', [column, cx.scalar('int64', -1)], flags);
    const above = cx.op('GreaterOrEqual', [column, cx.scalar('int64', categories)], flags);
    const unknown = cx.op('Or', [below, above], flags);
    const known = cx.op('Where', [unknown, cx.scalar('int64', 0), column], { dtype: 'int64' });
    const row = cx.op('Add', [known, cx.scalar('int64', 1)]);
    const table = cx.constant(tableOf(sets, categories + 1));
    const found = cx.op('Gather', [table, cx.reshape(row, [-1])], {
      shape: [rows, sets.length],
      attributes: { axis: { int: 0 } },
    });
    return cx.cast(found, 'float');
  }
}

function tableOf(sets: readonly Uint8Array[], height: number): Tensor {
  const bytes = new Uint8Array(height * sets.length);
  sets.forEach((passes, set) => {
    passes.forEach((passed, row) => {
      bytes[row * sets.length + set] = passed;
    });
  });
  if (bytes.length === 0) return numbersTensor('uint8', [height, sets.length], []);
  return { dtype: 'uint8', shape: [height, sets.length], data: { kind: 'bytes', bytes } };
}

function tooManyElements(): RangeError {
  return new RangeError(
    `the sets of its categories have more than ${FOREST_SET_BYTES_MAX} elements`,
  );
}
