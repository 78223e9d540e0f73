// The names of the outputs of tabular models that explain trees. Constants; any thread.

/** [rows, features * scores]: the scores of the first feature, then those of the next. */
export const SHAP_VALUES = 'shap_values';
/** [rows, scores]: what Shapley values are added to. */
export const EXPECTED_VALUE = 'expected_value';
/** [rows, trees] */
export const LEAF_INDICES = 'leaf_indices';
/** [rows, trees * numbers of a leaf] */
export const TREE_MARGINS = 'tree_margins';

export const EXPLANATIONS = [SHAP_VALUES, EXPECTED_VALUE, LEAF_INDICES, TREE_MARGINS] as const;
