// The fields of a request to a model of Yggdrasil Decision Forests, and the columns that its trees
// read. Importer's worker thread; pure. Source: YDF's dataset/data_spec.proto, docs of `ydf.Column`
// and `ydf.Semantic`.
import {
  call,
  type Column,
  columnRef,
  constant,
  type Expression,
  type PlanBuilder,
} from '../../plan/builder.js';
import { COLUMN_TYPE } from '../../../protobuf/generated/yggdrasil-fields.js';
import { checkFeatures, shownCategories } from '../features.js';
import { type DataColumn, isNumerical } from '../../ydf/messages.js';

/** A column that trees read. */
export interface Feature {
  readonly spec: DataColumn;
  readonly column: Column;
  /** For categories with texts: the position of each one's text in `words`; -1: it has none. */
  readonly positions?: Int32Array;
  readonly words?: readonly string[];
}

export interface YdfFields {
  /** By the number of the data specification's column. */
  readonly features: ReadonlyMap<number, Feature>;
  /** Whether a request may send all features as a matrix of numbers. */
  readonly matrix: boolean;
  /** By field: a text that the model knows, as a JSON token. */
  readonly examples: Readonly<Record<string, string>>;
}

const PLACE = 'features';
/** The greatest category's number of the stage `forest`. */
const CATEGORIES_MAX = 2 ** 24;

const TYPE_NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(COLUMN_TYPE).map(([name, number]) => [number, name]),
);

/** Errors: RangeError: too many features, one that does not exist or has an unsupported type. */
export function ydfFields(
  builder: PlanBuilder,
  specs: readonly DataColumn[],
  inputs: readonly number[],
): YdfFields {
  checkFeatures(inputs.length);
  const features = new Map<number, Feature>();
  const examples: Record<string, string> = {};
  for (const input of inputs) {
    const spec = specs[input];
    if (spec === undefined) throw new RangeError(`feature ${input} is not in the data_spec`);
    const feature = featureOf(builder, spec);
    features.set(input, feature);
    const [word] = feature.words ?? [];
    if (word !== undefined) examples[spec.name] = JSON.stringify(word);
  }
  const matrix = [...features.values()].every(({ spec }) => isNumerical(spec));
  return { features, matrix, examples };
}

function featureOf(builder: PlanBuilder, spec: DataColumn): Feature {
  const { name, type } = spec;
  switch (type) {
    case COLUMN_TYPE.NUMERICAL:
    case COLUMN_TYPE.DISCRETIZED_NUMERICAL:
      return { spec, column: builder.field({ name, type: 'float' }) };
    case COLUMN_TYPE.BOOLEAN:
      return { spec, column: builder.field({ name, type: 'bool' }) };
    case COLUMN_TYPE.CATEGORICAL:
      return spec.isIntegerized ? integerized(builder, spec) : textual(builder, spec);
    default: {
      const shown = TYPE_NAMES.get(type) ?? String(type);
      throw new RangeError(`feature '${name}': features of type ${shown} are not supported`);
    }
  }
}

/** Numbers that are no category are the unknown one, 0; negative ones are missing. */
function integerized(builder: PlanBuilder, spec: DataColumn): Feature {
  const { name, categories } = spec;
  if (categories < 1 || categories > CATEGORIES_MAX) {
    throw new RangeError(
      `feature '${name}': expected 1 to ${CATEGORIES_MAX} categories, got ${categories}`,
    );
  }
  const about = `categories: 0 to ${categories - 1}; -1: missing`;
  const value = columnRef(builder.field({ name, type: 'int64', about }));
  const whole = (number: number): Expression =>
    constant({ type: 'int64', integer: BigInt(number) });
  const cases = [
    ...[call('sql.less', value, whole(0)), constant(Number.NaN)],
    ...[call('sql.less', value, whole(categories)), call('sql.cast', value, constant('double'))],
    ...[call('sql.isnull', value), constant(Number.NaN)],
    constant(0),
  ];
  const column = builder.derive(`category of ${name}`, 'double', call('sql.case', ...cases), PLACE);
  return { spec, column };
}

/** An empty text is missing. Errors: RangeError: not one text of each category. */
function textual(builder: PlanBuilder, spec: DataColumn): Feature {
  const { name, categories, numbers } = spec;
  if (categories > numbers.size + 1) {
    throw new RangeError(
      `feature '${name}': expected ${categories} categories, got ${numbers.size} texts`,
    );
  }
  const positions = new Int32Array(categories).fill(-1);
  const words: string[] = [];
  for (const [word, number] of numbers) {
    if (number >= categories) {
      throw new RangeError(`feature '${name}': category ${number} of ${categories} does not exist`);
    }
    // The text of unknown categories is itself unknown.
    if (number === 0) continue;
    if ((positions[number] ?? -1) >= 0) {
      throw new RangeError(`feature '${name}': category ${number} has two texts`);
    }
    positions[number] = words.push(word) - 1;
  }
  const field = columnRef(builder.field({ name, type: 'string', about: shownCategories(words) }));
  const isEmpty = call('sql.equal', field, constant(''));
  const missing = constant({ type: 'string', missing: true });
  const value = call('sql.case', isEmpty, missing, field);
  const column = builder.derive(`text of ${name}`, 'string', value, PLACE);
  return { spec, column, positions, words };
}
