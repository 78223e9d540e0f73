// The fields of a request to an XGBoost model: a column for each feature. Importer's worker thread;
// pure. Source: XGBoost's src/common/categorical.h, src/data/cat_container.cc.
import { call, type Column, columnRef, constant, type PlanBuilder } from '../plan/builder.js';
import type { ForestOptions } from '../plan/forest.js';
import type { Booster, Categories } from '../plan/xgboost/booster.js';
import { checkFeatures, shownCategories } from './features.js';

export interface BoosterFields {
  /** Columns that the trees read, by feature. */
  readonly columns: readonly Column[];
  readonly categories?: ForestOptions['categories'];
  /** Whether a request may send all features as a matrix of numbers. */
  readonly matrix: boolean;
}

const PLACE = 'features';
const CATEGORICAL = 'c';

/** Errors: RangeError: names and numbers of features do not agree, or there are too many. */
export function xgboostFields(builder: PlanBuilder, booster: Booster): BoosterFields {
  const { featureTypes = [], categories = [] } = booster;
  const names = namesOf(booster);
  const texts = new Map<number, readonly string[]>();
  const splits = categoricalFeatures(booster);
  const columns = names.map((name, feature) => {
    const known = categories[feature];
    if (known !== undefined && !(known instanceof Float64Array)) {
      texts.set(feature, known);
      return textField(builder, name, known);
    }
    const isCategorical = featureTypes[feature] === CATEGORICAL || splits.has(feature);
    const about = isCategorical ? aboutOf(known) : '';
    const column = builder.field({ name, type: 'float', ...(about === '' ? {} : { about }) });
    if (known !== undefined) return numbered(builder, column, known);
    return splits.has(feature) ? whole(builder, column) : column;
  });
  const isPlain = categories.every((each) => each === undefined);
  return { columns, matrix: isPlain, ...(texts.size === 0 ? {} : { categories: texts }) };
}

const aboutOf = (known: Categories | undefined): string =>
  known === undefined ? 'number of a category' : shownCategories(Array.from(known, String));

/** XGBoost's own names of features without names are f0, f1 and so on. */
function namesOf({ featureNames = [], numFeature = 0, trees }: Booster): readonly string[] {
  const count = numFeature > 0 ? numFeature : highest(trees) + 1;
  if (featureNames.length > 0 && featureNames.length !== count) {
    throw new RangeError(`feature_names: expected ${count} names, got ${featureNames.length}`);
  }
  checkFeatures(count);
  return featureNames.length > 0 ? featureNames : Array.from({ length: count }, (_, i) => `f${i}`);
}

function highest(trees: Booster['trees']): number {
  let most = 0;
  for (const { feature } of trees) {
    for (let i = 0; i < feature.length; i += 1) most = Math.max(most, feature[i] ?? 0);
  }
  return most;
}

/** The features by whose categories a tree splits. */
function categoricalFeatures({ trees }: Booster): ReadonlySet<number> {
  const found = new Set<number>();
  for (const { categories, feature } of trees) {
    for (const node of categories?.keys() ?? []) found.add(feature[node] ?? -1);
  }
  return found;
}

/** Trees read the text's category. XGBoost refuses other texts, and so does this stage. */
function textField(builder: PlanBuilder, name: string, labels: readonly string[]): Column {
  const column = builder.field({ name, type: 'string', about: shownCategories(labels) });
  const [first = ''] = labels;
  const filled = call('sql.coalesce', columnRef(column), constant(first));
  const known = builder.derive(`${name}, or a category`, 'string', filled, PLACE);
  const values = Float64Array.from(labels, (_, i) => i);
  const checked = builder.column(`category of ${name}`, 'double');
  builder.stage('string_map', [known], [checked], { labels, values }, PLACE);
  return column;
}

/** Numbers that are categories of a data frame become the categories' positions. */
function numbered(builder: PlanBuilder, column: Column, keys: Float64Array): Column {
  builder.nanIsMissing = true;
  const name = `category of ${builder.nameOf(column)}`;
  const made = builder.column(name, 'double');
  const attributes = {
    keys: keys.map(Math.fround),
    values: Float64Array.from(keys, (_, i) => i),
    missing: Number.NaN,
  };
  builder.stage('number_map', [column], [made], attributes, PLACE);
  return made;
}

/** XGBoost drops the fraction of a category's number; numbers below 0 are no category. */
function whole(builder: PlanBuilder, column: Column): Column {
  const value = columnRef(column);
  const lower = call('sql.cast', call('sql.floor', value), constant('double'));
  const isNumber = call('sql.less', call('sql.abs', value), constant(2 ** 31));
  const made = call('sql.case', isNumber, lower, call('sql.cast', value, constant('double')));
  return builder.derive(`category of ${builder.nameOf(column)}`, 'double', made, PLACE);
}
