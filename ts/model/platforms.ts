// What V2 metadata and model configurations call the systems that models of columns come from.
// Control plane, any thread; constants only.

export const TABULAR_PLATFORMS = {
  spark: 'spark_pipelinemodel',
  mleap: 'mleap_bundle',
  pmml: 'pmml_xml',
} as const;
