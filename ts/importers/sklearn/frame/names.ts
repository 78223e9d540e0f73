// The names that transformers give the elements of a frame (get_feature_names_out). Importer's
// worker thread; pure. Source: scikit-learn's base.py (OneToOneFeatureMixin,
// ClassNamePrefixFeaturesOutMixin), preprocessing/_encoders.py, compose/_column_transformer.py.
import type { Item } from '../read/item.js';
import type { Fields } from './fields.js';
import type { Element, Frame } from './frame.js';

/** Transformers whose columns are named as those that they are made of. */
const ONE_TO_ONE: ReadonlySet<string> = new Set([
  ...['StandardScaler', 'MinMaxScaler', 'MaxAbsScaler', 'RobustScaler', 'Normalizer', 'Binarizer'],
  ...['FunctionTransformer', 'OrdinalEncoder', 'TargetEncoder', 'SimpleImputer'],
  ...['KBinsDiscretizer'],
]);
/** Transformers whose columns are numbered. */
const NUMBERED: ReadonlySet<string> = new Set(['PCA', 'IncrementalPCA', 'TruncatedSVD']);

/** undefined: no name is known. */
export function labelOf({ names }: Fields, element: Element): string | undefined {
  return element.label ?? ('feature' in element ? names[element.feature] : undefined);
}

/** The elements with these names. */
export const labelled = (frame: Frame, labelAt: (index: number) => string | undefined): Frame =>
  frame.map((element, i) => {
    const label = labelAt(i);
    return label === undefined ? element : { ...element, label };
  });

/** The elements that a transformer has made of `given`, named by its class. */
export function named(fields: Fields, { className }: Item, given: Frame, made: Frame): Frame {
  if (NUMBERED.has(className)) return labelled(made, (i) => `${className.toLowerCase()}${i}`);
  if (!ONE_TO_ONE.has(className) || made.length !== given.length) return made;
  return labelled(made, (i) => labelOf(fields, given[i] as Element));
}

/** With the name of the transformer before them: "city__city_Oslo". */
export const prefixed = (fields: Fields, prefix: string, frame: Frame): Frame =>
  labelled(frame, (i) => {
    const label = labelOf(fields, frame[i] as Element);
    return label === undefined ? undefined : `${prefix}__${label}`;
  });

/** A category as Python's str() writes it. `isReal`: the array's numbers are floats. */
export function categoryText(value: unknown, isReal: boolean): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value !== 'number') return String(value);
  if (Number.isNaN(value)) return 'nan';
  return isReal && Number.isInteger(value) ? `${value}.0` : String(value);
}
