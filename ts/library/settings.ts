// Which settings a model without a server has. Data only.

/** The settings of `serval serve` that a model by itself has, by flag name. */
export const MODEL_SETTINGS: readonly string[] = [
  'exec-mode',
  'inline-us-max',
  'queue-requests-max',
  'instances',
  'intra-op-threads',
  'inter-op-threads',
  'graph-optimization',
  'providers',
  'saved-model-tags',
  'allow-random',
  'model-cache',
  'model-config-name',
  'default-max-batch-size',
  'memory-limit',
  'onnxruntime-library',
  'log-level',
  'log-format',
];
