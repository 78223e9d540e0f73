// The sums of weighted features that oblique conditions compare: floats, each product rounded and
// added in the order of the condition's features. Importer's worker thread. Source: YDF's
// serving/decision_forest/decision_forest_serving.cc (EvalCondition).
import { checkOblique, type ObliqueTest } from '../../../ydf/nodes.js';
import { type DataColumn, isNumerical } from '../../../ydf/messages.js';
import type { OpContext } from '../../lower/context.js';
import { numbersTensor } from '../../lower/tensors.js';
import type { TensorValue } from '../../lower/values.js';
import type { Bank } from './columns.js';

/** Sums of one model: each is a column, which all rows compute. */
const SUMS_MAX = 65_536;

export class Projections {
  readonly #specs: readonly DataColumn[];
  readonly #bank: Bank;
  readonly #tests: ObliqueTest[] = [];
  readonly #known = new Map<string, number>();

  constructor(specs: readonly DataColumn[], bank: Bank) {
    this.#specs = specs;
    this.#bank = bank;
  }

  get count(): number {
    return this.#tests.length;
  }

  /**
   * Returns the number of its sum. Errors: RangeError: lists of different lengths, a feature that
   * is not numerical, too many sums.
   */
  add(test: ObliqueTest): number {
    checkOblique(test);
    const { attributes, weights, replacements } = test;
    for (const attribute of attributes) {
      const spec = this.#specs[attribute];
      if (spec !== undefined && isNumerical(spec) && this.#bank.features.includes(attribute)) {
        continue;
      }
      throw new RangeError(`column ${attribute} of an oblique condition is no numerical feature`);
    }
    const key = JSON.stringify([attributes, weights, replacements]);
    const known = this.#known.get(key) ?? this.#tests.push(test) - 1;
    this.#known.set(key, known);
    if (this.count <= SUMS_MAX) return known;
    throw new RangeError(`expected at most ${SUMS_MAX} oblique conditions, got more`);
  }

  /** Float [rows, sums]: step i adds the condition's feature i. */
  lower(cx: OpContext): TensorValue {
    const steps = Math.max(...this.#tests.map(({ attributes }) => attributes.length));
    let sum = this.#products(cx, 0);
    for (let step = 1; step < steps; step += 1) {
      sum = cx.op('Add', [sum, this.#products(cx, step)]);
    }
    return sum;
  }

  /** The products of each condition's feature `step`; 0 of those that have none. */
  #products(cx: OpContext, step: number): TensorValue {
    const { features, value = cx.fail('it has no numerical features') } = this.#bank;
    const { count } = this;
    const shape = [value.shape?.[0], count];
    const floats = (numbers: readonly number[]): TensorValue =>
      cx.constant(numbersTensor('float', [count], numbers));
    const flags = (values: readonly boolean[]): TensorValue =>
      cx.constant(numbersTensor('bool', [count], values.map(Number)));
    const columns = this.#tests.map(({ attributes }) =>
      Math.max(features.indexOf(attributes[step] ?? -1), 0),
    );
    const gathered = cx.op('Gather', [value, cx.int64s(columns)], {
      shape,
      attributes: { axis: { int: 1 } },
    });
    const replacements = this.#tests.map((test) => test.replacements[step]);
    let filled = gathered;
    if (replacements.some((one) => one !== undefined)) {
      const missing = cx.op('IsNaN', [gathered], { dtype: 'bool', shape });
      const others = floats(replacements.map((one) => one ?? Number.NaN));
      filled = cx.op('Where', [missing, others, gathered], { dtype: 'float', shape });
    }
    const weights = floats(this.#tests.map((test) => test.weights[step] ?? 0));
    const products = cx.op('Mul', [filled, weights], { shape });
    const present = this.#tests.map(({ attributes }) => step < attributes.length);
    if (present.every(Boolean)) return products;
    return cx.op('Where', [flags(present), products, cx.scalar('float', 0)], {
      dtype: 'float',
      shape,
    });
  }
}
