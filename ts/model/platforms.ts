// Words of models in V2 metadata and model configurations: the systems that tabular models come
// from, and what their verification records are for. Control plane, any thread; constants only.

export const TABULAR_PLATFORMS = {
  spark: 'spark_pipelinemodel',
  mleap: 'mleap_bundle',
  pmml: 'pmml_xml',
} as const;

/** What becomes of a model that does not answer as its own file says: it does not load, or the log
 * says so, or nobody asks. */
export const VERIFICATION_MODES = ['fail', 'warn', 'off'] as const;

export type VerificationMode = (typeof VERIFICATION_MODES)[number];

/** The tags of the meta graph that is served of a SavedModel where nothing else is asked for. */
export const SAVED_MODEL_TAGS: readonly string[] = ['serve'];
