// The features that a model was fitted on: their names, or x0, x1 and so on. Importer's worker
// thread; pure. Source: scikit-learn's utils/validation.py (_check_feature_names).
import { BOOSTER_FEATURES_MAX } from '../../../base/limits.js';
import type { Item } from '../read/item.js';

/** Errors: RangeError: no estimator that says how many features it has; too many. */
export function featureNames(root: Item): readonly string[] {
  const fitted = fittedOf(root);
  if (fitted === undefined) {
    throw root.bad(`${root.className}: n_features_in_ is missing: is the model fitted?`);
  }
  const count = fitted.get('n_features_in_').integer(1, BOOSTER_FEATURES_MAX);
  const given = fitted.given('feature_names_in_');
  if (given === undefined) return Array.from({ length: count }, (_, i) => `x${i}`);
  const { values } = given.array();
  const names = values.filter((value) => typeof value === 'string');
  if (names.length !== count || values.length !== count) {
    throw given.bad(`expected ${count} names, got ${names.length}`);
  }
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw given.bad(`'${twice}' occurs twice`);
  return names;
}

/** The first estimator that has seen the features. */
function fittedOf(item: Item): Item | undefined {
  if (!item.isObject) return undefined;
  const best = item.given('best_estimator_');
  if (best !== undefined) return fittedOf(best);
  if (item.given('n_features_in_') !== undefined) return item;
  for (const name of ['steps', 'transformer_list']) {
    for (const pair of item.given(name)?.list() ?? []) {
      const [, step] = pair.list();
      const found = step === undefined ? undefined : fittedOf(step);
      if (found !== undefined) return found;
    }
  }
  const [voter] = item.given('estimators_')?.list() ?? [];
  if (voter !== undefined) return fittedOf(voter);
  for (const name of ['estimator_', 'estimator', 'regressor_']) {
    const inner = item.given(name);
    const found = inner === undefined ? undefined : fittedOf(inner);
    if (found !== undefined) return found;
  }
  return undefined;
}
