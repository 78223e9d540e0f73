// The fields of a request to a CatBoost model, and the columns that its trees read. Importer's
// worker thread; pure. Source: CatBoost's catboost/python-package/catboost/core.py.
import { type Column, type PlanBuilder } from '../../plan/builder.js';
import { checkFeatures, shownCategories } from '../features.js';
import type { CatboostModel, CategoricalFeature, OneHot } from './model.js';

export interface CatboostFields {
  /** The columns that trees read, in the order of their features. */
  readonly columns: readonly Column[];
  /** The number of the column that a feature of numbers or of texts has among them. */
  readonly columnOf: (kind: 'float' | 'text', position: number) => number;
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
  for (let flat = 0; flat <= last; flat += 1) {
    const owner = owners.get(flat);
    const name = owner?.name ?? String(flat);
    const isText = owner !== undefined && 'index' in owner;
    const about = isText ? aboutOf(owner, oneHots) : '';
    const type = isText ? 'string' : 'float';
    fields.set(flat, builder.field({ name, type, ...(about === '' ? {} : { about }) }));
  }
  const columns: Column[] = [];
  const numbers = floats.map((feature) => {
    const field = fields.get(feature.flat);
    return field === undefined || feature.borders.length === 0 ? -1 : columns.push(field) - 1;
  });
  const words = oneHots.map((oneHot) => {
    const owner = categoricals.find(({ index }) => index === oneHot.index);
    const field = owner === undefined ? undefined : fields.get(owner.flat);
    if (owner === undefined || field === undefined) {
      throw new RangeError(`categorical feature ${oneHot.index} does not exist`);
    }
    return columns.push(categoryOf(builder, field, owner, oneHot)) - 1;
  });
  return {
    columns,
    columnOf: (kind, position) => (kind === 'float' ? numbers : words)[position] ?? -1,
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

function aboutOf({ index }: CategoricalFeature, oneHots: readonly OneHot[]): string {
  const texts = oneHots.find((one) => one.index === index)?.texts ?? [];
  return texts.length === 0 ? '' : shownCategories(texts);
}

/**
 * The position of a text's split. CatBoost compares hashes of texts, and refuses missing ones, as
 * this stage does.
 */
function categoryOf(
  builder: PlanBuilder,
  field: Column,
  { name }: CategoricalFeature,
  { texts, hashes }: OneHot,
): Column {
  if (texts.length === 0 && hashes.length > 0) {
    throw new RangeError(
      `feature '${name}': the file has only hashes of its categories, not their texts; save the ` +
        "model with them: model.save_model(NAME, format='json', pool=...)",
    );
  }
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
