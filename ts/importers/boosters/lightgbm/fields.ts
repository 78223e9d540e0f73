// The fields of a request to a LightGBM model, and the columns that its trees read. Importer's
// worker thread; pure. Source: LightGBM's python-package/lightgbm/basic.py: _data_from_pandas.
import {
  call,
  type Column,
  columnRef,
  constant,
  type Expression,
  type PlanBuilder,
} from '../../plan/builder.js';
import type { ForestOptions } from '../../plan/forest.js';
import { checkFeatures, shownCategories } from '../features.js';
import { type LightgbmModel, ZERO } from './text.js';
import type { ColumnOf, Reading } from './trees.js';

export interface LightgbmFields {
  readonly columnOf: ColumnOf;
  /** The column of a feature's numbers, in which missing ones are NaN. Errors: RangeError: none. */
  readonly numberOf: (feature: number) => Column;
  /** Call it once all trees have named their columns. */
  readonly features: () => Pick<ForestOptions, 'features' | 'categories'>;
  /** By column that trees read: its feature. */
  readonly sources: readonly (readonly number[])[];
  /** Whether a request may send all features as a matrix of numbers. */
  readonly matrix: boolean;
  readonly warnings: readonly string[];
}

const PLACE = 'features';
const INT_MAX = 2 ** 31;

/** Errors: RangeError: too many features, or categories of mixed types. */
export function lightgbmFields(builder: PlanBuilder, model: LightgbmModel): LightgbmFields {
  checkFeatures(model.features.length);
  const { categories, warnings } = categoriesOf(model);
  const fields = model.features.map((name, i) => fieldOf(builder, name, categories.get(i)));
  const columns: Column[] = [];
  const texts = new Map<number, readonly string[]>();
  const known = new Map<string, number>();
  const sources: (readonly number[])[] = [];
  const columnOf: ColumnOf = (feature, reading) => {
    const key = `${reading} ${feature}`;
    const found = known.get(key);
    const field = fields[feature];
    if (found !== undefined) return found;
    if (field === undefined) throw new RangeError(`feature ${feature} does not exist`);
    if (field.words !== undefined) {
      if (reading !== 'category') {
        throw new RangeError(`feature ${feature} has categories, and is compared as a number`);
      }
      texts.set(columns.length, field.words);
    }
    const isRead = field.isCoded && reading === 'category';
    sources.push([feature]);
    columns.push(isRead ? field.column : readingOf(builder, field.column, reading));
    known.set(key, columns.length - 1);
    return columns.length - 1;
  };
  const numbers = new Map<number, Column>();
  const numberOf = (feature: number): Column => {
    const field = fields[feature];
    if (field === undefined || field.isCoded) {
      throw new RangeError(`feature ${feature} has categories, and is read as a number`);
    }
    const value = call('sql.coalesce', columnRef(field.column), constant(Number.NaN));
    const name = `number of ${builder.nameOf(field.column)}`;
    const made = numbers.get(feature) ?? builder.derive(name, 'double', value, PLACE);
    numbers.set(feature, made);
    return made;
  };
  const features = () => ({
    features: columns,
    ...(texts.size === 0 ? {} : { categories: texts }),
  });
  return { columnOf, numberOf, features, sources, matrix: categories.size === 0, warnings };
}

interface FieldColumn {
  readonly column: Column;
  /** The texts of a field of text: `forest` knows their numbers. */
  readonly words?: readonly string[];
  /** Its values are categories' numbers already. */
  readonly isCoded: boolean;
}

function fieldOf(
  builder: PlanBuilder,
  name: string,
  labels: readonly unknown[] | undefined,
): FieldColumn {
  if (labels === undefined)
    return { column: builder.field({ name, type: 'double' }), isCoded: false };
  const about = shownCategories(labels.map(String));
  if (labels.every((label) => typeof label === 'string')) {
    const words = labels as readonly string[];
    return { column: builder.field({ name, type: 'string', about }), words, isCoded: true };
  }
  const isBool = labels.every((label) => typeof label === 'boolean');
  if (!isBool && !labels.every((label) => typeof label === 'number')) {
    throw new RangeError(`feature '${name}': categories of mixed types are not supported`);
  }
  const field = builder.field({ name, type: isBool ? 'bool' : 'double', about });
  const column = builder.column(`category of ${name}`, 'double');
  const attributes = {
    keys: Float64Array.from(labels.map(Number)),
    values: Float64Array.from(labels.keys()),
    missing: Number.NaN,
    other: Number.NaN,
  };
  builder.stage('number_map', [field], [column], attributes, PLACE);
  return { column, isCoded: true };
}

const isCategorical = (info: string): boolean => info !== 'none' && !info.startsWith('[');

/**
 * By feature. The file lists categories in the order of the categorical columns, without their
 * names: those are the features that have categories in `feature_infos`.
 */
function categoriesOf({ pandas, infos, features }: LightgbmModel): {
  readonly categories: ReadonlyMap<number, readonly unknown[]>;
  readonly warnings: readonly string[];
} {
  if (pandas.length === 0) return { categories: new Map(), warnings: [] };
  const found = features.flatMap((_, i) => (isCategorical(infos[i] ?? 'none') ? [i] : []));
  if (found.length === pandas.length) {
    return {
      categories: new Map(found.map((feature, i) => [feature, pandas[i] ?? []])),
      warnings: [],
    };
  }
  const warning =
    `pandas_categorical has ${pandas.length} columns, but ${found.length} features have ` +
    'categories: send the numbers of categories, not their values';
  return { categories: new Map(), warnings: [warning] };
}

function readingOf(builder: PlanBuilder, column: Column, reading: Reading): Column {
  if (reading === 'value') return column;
  const value = columnRef(column);
  const name = `${reading} of ${builder.nameOf(column)}`;
  const made = reading === 'sparse' ? withoutZeros(value) : numberOfCategory(value);
  return builder.derive(name, 'double', made, PLACE);
}

function withoutZeros(value: Expression): Expression {
  const isZero = call('sql.less_equal', call('sql.abs', value), constant(ZERO));
  return call('sql.case', isZero, constant(Number.NaN), value);
}

/** The fraction is dropped; numbers beyond 32 bits are no category. */
function numberOfCategory(value: Expression): Expression {
  const isNumber = call('sql.less', call('sql.abs', value), constant(INT_MAX));
  const isMissing = call('sql.isnan', value);
  const whole = call('sql.cast', call('sql.cast', value, constant('bigint')), constant('double'));
  return call('sql.case', isNumber, whole, isMissing, value, constant(-1));
}
