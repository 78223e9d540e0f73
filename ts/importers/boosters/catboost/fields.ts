// The fields of a request to a CatBoost model, and the columns that its trees read. Importer's
// worker thread; pure. Source: CatBoost's catboost/python-package/catboost/core.py.
import { type Column, type PlanBuilder } from '../../plan/builder.js';
import { checkFeatures, shownCategories } from '../features.js';
import { CtrColumns } from './ctr-columns.js';
import { type CatboostModel, type CategoricalFeature, type OneHot, refuseHashes } from './model.js';
import type { SplitKind } from './trees.js';

export interface CatboostFields {
  /** The columns that trees read, in the order of their features. */
  readonly columns: readonly Column[];
  /** The number of a feature's column among them. */
  readonly columnOf: (kind: SplitKind, position: number) => number;
  /** By column: the features that share its Shapley value. */
  readonly sources: readonly (readonly number[])[];
  /** The count of features of requests. */
  readonly count: number;
  /** Whether a request may send all features as a matrix of numbers. */
  readonly matrix: boolean;
}

const PLACE = 'features';
/** The category of texts that no split names. */
const NO_CATEGORY = -1;

/** Errors: RangeError: too many features, two at one position, texts that the file lacks. */
export function catboostFields(builder: PlanBuilder, model: CatboostModel): CatboostFields {
  const { floats, categoricals, oneHots } = model;
  const last = [...floats, ...categoricals].reduce((most, { flat }) => Math.max(most, flat), -1);
  checkFeatures(last + 1);
  const fields = new Map<number, Column>();
  const owners = ownersOf(model);
  const labels = new Map(oneHots.map((oneHot) => [oneHot.index, oneHot.texts]));
  for (let flat = 0; flat <= last; flat += 1) {
    const owner = owners.get(flat);
    const name = owner?.name ?? String(flat);
    const isText = owner !== undefined && !('borders' in owner);
    const known = isText ? (labels.get(owner.index) ?? []) : [];
    const about = known.length === 0 ? '' : shownCategories(known);
    const type = isText ? 'string' : 'float';
    fields.set(flat, builder.field({ name, type, ...(about === '' ? {} : { about }) }));
  }
  const columns: Column[] = [];
  const sources: (readonly number[])[] = [];
  const numbers = floats.map((feature) => {
    const field = fields.get(feature.flat);
    if (field === undefined || feature.borders.length === 0) return -1;
    sources.push([feature.flat]);
    return columns.push(field) - 1;
  });
  const texts = new Map(categoricals.map((feature) => [feature.index, feature]));
  const numeric = new Map(floats.map((feature) => [feature.index, feature]));
  const textOf = (index: number) => {
    const owner = texts.get(index);
    const column = owner === undefined ? undefined : fields.get(owner.flat);
    if (owner !== undefined && column !== undefined) return { ...owner, column };
    throw new RangeError(`categorical feature ${index} does not exist`);
  };
  const floatOf = (index: number) => {
    const feature = numeric.get(index);
    const column = feature === undefined ? undefined : fields.get(feature.flat);
    if (feature !== undefined && column !== undefined) return { feature, column };
    throw new RangeError(`float feature ${index} does not exist`);
  };
  const words = oneHots.map((oneHot) => {
    const owner = textOf(oneHot.index);
    if (oneHot.texts.length < oneHot.hashes.length) refuseHashes([oneHot.index], categoricals);
    sources.push([owner.flat]);
    return columns.push(categoryOf(builder, owner.column, owner, oneHot)) - 1;
  });
  const statistics = new CtrColumns(builder, { float: floatOf, text: textOf }, model);
  const ctrs = model.ctrs.map((ctr) => {
    // CatBoost gives the value of a combination to its categories, not to its other splits.
    sources.push(
      ctr.parts.flatMap(({ kind, index }) => (kind === 'categorical' ? [textOf(index).flat] : [])),
    );
    return columns.push(statistics.column(ctr)) - 1;
  });
  const positions = { float: numbers, text: words, ctr: ctrs };
  return {
    columns,
    sources,
    count: last + 1,
    columnOf: (kind, position) => positions[kind][position] ?? -1,
    matrix: categoricals.length === 0,
  };
}

/** Features by their positions. */
function ownersOf({ floats, categoricals }: CatboostModel) {
  const owners = new Map<number, (typeof floats)[number] | CategoricalFeature>();
  for (const feature of [...floats, ...categoricals]) {
    const other = owners.get(feature.flat);
    if (other !== undefined) {
      throw new RangeError(
        `features '${other.name}' and '${feature.name}' have the same position, ${feature.flat}`,
      );
    }
    owners.set(feature.flat, feature);
  }
  return owners;
}

/**
 * The position of a text's split. CatBoost compares hashes of texts, and refuses missing ones, as
 * this stage does.
 */
function categoryOf(
  builder: PlanBuilder,
  field: Column,
  { name }: CategoricalFeature,
  { texts }: OneHot,
): Column {
  const column = builder.column(`category of ${name}`, 'double');
  const values = Float64Array.from(texts, (_, i) => i);
  builder.stage(
    'string_map',
    [field],
    [column],
    { labels: texts, values, fallback: { real: NO_CATEGORY } },
    PLACE,
  );
  return column;
}
