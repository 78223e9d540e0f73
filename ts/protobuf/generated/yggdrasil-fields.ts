// Field numbers and enum values. Data only; any thread. Generated from
// proto/wire/files/yggdrasil.proto by proto/generate-wire.mjs; do not edit.

export const TASK = {
  UNDEFINED: 0,
  CLASSIFICATION: 1,
  REGRESSION: 2,
  RANKING: 3,
  CATEGORICAL_UPLIFT: 4,
  NUMERICAL_UPLIFT: 5,
  ANOMALY_DETECTION: 6,
  SURVIVAL_ANALYSIS: 7,
} as const;

export const ABSTRACT_MODEL = {
  name: 1,
  task: 2,
  labelColIdx: 3,
  inputFeatures: 5,
  metadata: 10,
  postprocessors: 16,
} as const;

export const MODEL_METADATA = {
  framework: 4,
} as const;

export const LOSS = {
  DEFAULT: 0,
  BINOMIAL_LOG_LIKELIHOOD: 1,
  SQUARED_ERROR: 2,
  MULTINOMIAL_LOG_LIKELIHOOD: 3,
  LAMBDA_MART_NDCG5: 4,
  XE_NDCG_MART: 5,
  BINARY_FOCAL_LOSS: 6,
  POISSON: 7,
  MEAN_AVERAGE_ERROR: 8,
  LAMBDA_MART_NDCG: 9,
  COX_PROPORTIONAL_HAZARD: 10,
} as const;

export const GRADIENT_BOOSTED_TREES_HEADER = {
  numNodeShards: 1,
  numTrees: 2,
  loss: 3,
  initialPredictions: 4,
  numTreesPerIter: 5,
  nodeFormat: 7,
  outputLogits: 9,
} as const;

export const RANDOM_FOREST_HEADER = {
  numNodeShards: 1,
  numTrees: 2,
  winnerTakeAllInference: 3,
  nodeFormat: 7,
} as const;

export const ISOLATION_FOREST_HEADER = {
  numNodeShards: 1,
  numTrees: 2,
  nodeFormat: 3,
  numExamplesPerTrees: 4,
} as const;

export const DATA_SPECIFICATION = {
  columns: 1,
} as const;

export const COLUMN_TYPE = {
  UNKNOWN: 0,
  NUMERICAL: 1,
  NUMERICAL_SET: 2,
  NUMERICAL_LIST: 3,
  CATEGORICAL: 4,
  CATEGORICAL_SET: 5,
  CATEGORICAL_LIST: 6,
  BOOLEAN: 7,
  STRING: 8,
  DISCRETIZED_NUMERICAL: 9,
  HASH: 10,
  NUMERICAL_VECTOR_SEQUENCE: 11,
} as const;

export const DATA_COLUMN = {
  type: 1,
  name: 2,
  categorical: 6,
  discretizedNumerical: 8,
  boolean: 9,
} as const;

export const BOOLEAN_SPEC = {
  countTrue: 1,
  countFalse: 2,
} as const;

export const CATEGORICAL_SPEC = {
  mostFrequentValue: 1,
  numberOfUniqueValues: 2,
  isAlreadyIntegerized: 5,
  items: 7,
} as const;

export const VOCAB_VALUE = {
  index: 1,
} as const;

export const DISCRETIZED_NUMERICAL_SPEC = {
  boundaries: 1,
} as const;

export const NODE = {
  classifier: 1,
  regressor: 2,
  condition: 3,
  numPosTrainingExamplesWithoutWeight: 4,
  uplift: 5,
  anomalyDetection: 6,
} as const;

export const NODE_CLASSIFIER_OUTPUT = {
  topValue: 1,
  distribution: 2,
} as const;

export const INTEGER_DISTRIBUTION = {
  counts: 1,
  sum: 2,
} as const;

export const NODE_REGRESSOR_OUTPUT = {
  topValue: 1,
} as const;

export const NODE_ANOMALY_DETECTION_OUTPUT = {
  numExamplesWithoutWeight: 1,
} as const;

export const NODE_CONDITION = {
  naValue: 1,
  attribute: 2,
  condition: 3,
  numTrainingExamplesWithoutWeight: 4,
  numPosTrainingExamplesWithoutWeight: 7,
} as const;

export const CONDITION = {
  naCondition: 1,
  higherCondition: 2,
  trueValueCondition: 3,
  containsCondition: 4,
  containsBitmapCondition: 5,
  discretizedHigherCondition: 6,
  obliqueCondition: 7,
  numericalVectorSequence: 8,
} as const;

export const HIGHER_CONDITION = {
  threshold: 1,
} as const;

export const CONTAINS_CONDITION = {
  elements: 1,
} as const;

export const CONTAINS_BITMAP_CONDITION = {
  elementsBitmap: 1,
} as const;

export const DISCRETIZED_HIGHER_CONDITION = {
  threshold: 1,
} as const;

export const OBLIQUE_CONDITION = {
  attributes: 1,
  weights: 2,
  threshold: 3,
  naReplacements: 4,
} as const;
