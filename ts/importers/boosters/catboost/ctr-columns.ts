// The columns of CTRs: the number of each category's text, the number of each combination of them,
// and its value by a table. Importer's worker thread; pure.
import {
  call,
  type Column,
  columnRef,
  constant,
  type Expression,
  type PlanBuilder,
} from '../../plan/builder.js';
import { type Ctr, hashWith, type Part } from './ctrs.js';
import type { FloatFeature } from './model.js';

/** Combinations of texts that are tried for all CTRs together. */
const COMBINATIONS_MAX = 2 ** 22;
const PLACE = 'ctrs';
const NONE = -1;

/** Finds the fields of features by their positions among the numbers and among the texts. */
export interface CtrFields {
  readonly float: (index: number) => { readonly feature: FloatFeature; readonly column: Column };
  readonly text: (index: number) => { readonly name: string; readonly column: Column };
}

/** A column for each CTR. Errors: RangeError: a text that the file lacks, too many combinations. */
export class CtrColumns {
  readonly #builder: PlanBuilder;
  readonly #fields: CtrFields;
  /** The texts of all features, and their hashes in the same order. */
  readonly #texts: readonly string[];
  readonly #hashes: readonly bigint[];
  readonly #numbers = new Map<number, Column>();
  readonly #keys = new Map<string, Column>();
  readonly #found = new Map<string, ReadonlyMap<bigint, number>>();
  /** The hashes that the tables of each combination have. */
  readonly #wanted = new Map<string, Set<bigint>>();
  #left = COMBINATIONS_MAX;

  /** `words`: texts by their hashes. */
  constructor(
    builder: PlanBuilder,
    fields: CtrFields,
    { ctrs, words }: { readonly ctrs: readonly Ctr[]; readonly words: ReadonlyMap<number, string> },
  ) {
    this.#builder = builder;
    this.#fields = fields;
    for (const { combination, values } of ctrs) {
      const wanted = this.#wanted.get(combination) ?? new Set<bigint>();
      for (const hash of values.keys()) wanted.add(hash);
      this.#wanted.set(combination, wanted);
    }
    this.#texts = [...words.values()];
    this.#hashes = Array.from(words.keys(), BigInt);
  }

  column(ctr: Ctr): Column {
    const names = ctr.parts.flatMap((part) =>
      part.kind === 'categorical' ? [`'${this.#fields.text(part.index).name}'`] : [],
    );
    const shown = names.join(' and ');
    if (names.length === 0) throw new RangeError('a CTR without a categorical feature');
    const found = this.#combinations(ctr, shown);
    const key = this.#keyOf(ctr, shown);
    const column = this.#builder.column(`CTR of ${shown}`, 'double');
    const entries = [...ctr.values].map(
      ([hash, value]) => [found.get(hash) ?? NONE, value] as const,
    );
    const attributes = {
      keys: Float64Array.from(entries, ([number]) => number),
      values: Float64Array.from(entries, ([, value]) => value),
      other: { real: ctr.fallback },
    };
    this.#builder.stage('number_map', [key], [column], attributes, PLACE);
    return column;
  }

  /** The numbers of combinations by their hashes, as #keyOf() computes them. */
  #combinations(ctr: Ctr, shown: string): ReadonlyMap<bigint, number> {
    const { combination, parts, values } = ctr;
    let found = this.#found.get(combination);
    if (found === undefined) {
      const size = parts.reduce((product, part) => product * this.#sizeOf(part), 1);
      this.#left -= size;
      if (this.#left < 0) {
        throw new RangeError(
          `the CTRs of ${shown}: expected at most ${COMBINATIONS_MAX} combinations of categories ` +
            'in all; train with max_ctr_complexity=1, or encode the features before training',
        );
      }
      found = this.#enumerate(parts, this.#wanted.get(combination) ?? new Set());
      this.#found.set(combination, found);
    }
    for (const hash of values.keys()) if (!found.has(hash)) throw textless(shown);
    return found;
  }

  #sizeOf({ kind }: Part): number {
    return kind === 'categorical' ? this.#texts.length : 2;
  }

  #enumerate(parts: readonly Part[], wanted: ReadonlySet<bigint>): ReadonlyMap<bigint, number> {
    let made = new Map<bigint, number>([[0n, 0]]);
    for (const part of parts) {
      const isLast = part === parts.at(-1);
      const size = this.#sizeOf(part);
      const hashes = part.kind === 'categorical' ? this.#hashes : [0n, 1n];
      const next = new Map<bigint, number>();
      for (const [hash, number] of made) {
        hashes.forEach((one, i) => {
          const longer = hashWith(hash, one);
          if (!isLast || wanted.has(longer)) next.set(longer, number * size + i);
        });
      }
      made = next;
    }
    return made;
  }

  /** The column of a combination's number; -1: one of its texts is not known. */
  #keyOf({ combination, parts }: Ctr, shown: string): Column {
    const known = this.#keys.get(combination);
    if (known !== undefined) return known;
    const isUnknown = parts
      .filter((part) => part.kind === 'categorical')
      .map((part) => call('sql.less', columnRef(this.#numberOf(part.index)), constant(0)));
    const number = parts
      .map((part): readonly [Expression, number] => [
        this.#digitOf(part, shown),
        this.#sizeOf(part),
      ])
      .reduce((sum, [digit, size]) => [
        call('sql.add', call('sql.multiply', sum[0], constant(size)), digit),
        size,
      ])[0];
    const conditions = isUnknown.flatMap((condition) => [condition, constant(NONE)]);
    const name = `combination of ${shown}`;
    const value = call('sql.case', ...conditions, number);
    const made = this.#builder.derive(name, 'double', value, PLACE);
    this.#keys.set(combination, made);
    return made;
  }

  #digitOf(part: Part, shown: string): Expression {
    const bit = (condition: Expression): Expression =>
      call('sql.case', condition, constant(1), constant(0));
    switch (part.kind) {
      case 'categorical':
        return columnRef(this.#numberOf(part.index));
      case 'one-hot': {
        const at = this.#hashes.indexOf(BigInt(part.hash));
        if (at < 0) throw textless(shown);
        return bit(call('sql.equal', columnRef(this.#numberOf(part.index)), constant(at)));
      }
      default: {
        const { feature, column } = this.#fields.float(part.index);
        const value = call('sql.cast', columnRef(column), constant('double'));
        const missing = call('sql.isnan', call('sql.coalesce', value, constant(Number.NaN)));
        const passes = call('sql.greater', value, constant(part.border));
        const ofMissing = constant(feature.passesMissing ? 1 : 0);
        return call('sql.case', missing, ofMissing, passes, constant(1), constant(0));
      }
    }
  }

  /** The column of a text's number among all texts. A missing text is refused. */
  #numberOf(index: number): Column {
    const known = this.#numbers.get(index);
    if (known !== undefined) return known;
    const { name, column } = this.#fields.text(index);
    const made = this.#builder.column(`number of ${name}`, 'double');
    const values = Float64Array.from(this.#texts, (_, i) => i);
    const attributes = { labels: this.#texts, values, fallback: { real: NONE } };
    this.#builder.stage('string_map', [column], [made], attributes, PLACE);
    this.#numbers.set(index, made);
    return made;
  }
}

function textless(shown: string): RangeError {
  return new RangeError(
    `the CTRs of ${shown}: the file lacks the texts of some categories; save the model with its ` +
      "training data: model.save_model(NAME, format='json', pool=...)",
  );
}
