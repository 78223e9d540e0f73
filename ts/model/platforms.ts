// Names in V2 metadata and model configurations: the systems that tabular models come from, and the
// uses of their verification records. Control plane, any thread; constants only.

export const TABULAR_PLATFORMS = {
  spark: 'spark_pipelinemodel',
  mleap: 'mleap_bundle',
  pmml: 'pmml_xml',
  xgboost: 'xgboost_booster',
  lightgbm: 'lightgbm_booster',
  catboost: 'catboost_booster',
  ydf: 'ydf_model',
  sklearn: 'sklearn_skops',
} as const;

/** Platform and backend of models that run other models as their steps. */
export const ENSEMBLE_PLATFORM = 'ensemble';

/**
 * Handling of a model that fails its file's verification records: the load fails, the log warns, or
 * nothing is checked.
 */
export const VERIFICATION_MODES = ['fail', 'warn', 'off'] as const;

export type VerificationMode = (typeof VERIFICATION_MODES)[number];

/** The default tags of the meta graph that is served from a SavedModel. */
export const SAVED_MODEL_TAGS: readonly string[] = ['serve'];
