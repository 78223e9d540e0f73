// Field numbers and enum values. Data only; any thread. Generated from
// proto/wire/files/boosted_trees.proto by proto/generate-wire.mjs; do not edit.

export const VECTOR = {
  value: 1,
} as const;

export const SPARSE_VECTOR = {
  index: 1,
  value: 2,
} as const;

export const LEAF = {
  vector: 1,
  sparseVector: 2,
  scalar: 3,
} as const;

export const BUCKETIZED_SPLIT = {
  featureId: 1,
  threshold: 2,
  leftId: 3,
  rightId: 4,
  dimensionId: 5,
} as const;

export const CATEGORICAL_SPLIT = {
  featureId: 1,
  value: 2,
  leftId: 3,
  rightId: 4,
  dimensionId: 5,
} as const;

export const DENSE_SPLIT = {
  featureId: 1,
  threshold: 2,
  leftId: 3,
  rightId: 4,
} as const;

export const NODE = {
  leaf: 1,
  bucketizedSplit: 2,
  categoricalSplit: 3,
  denseSplit: 4,
} as const;

export const TREE = {
  nodes: 1,
} as const;

export const TREE_ENSEMBLE = {
  trees: 1,
  treeWeights: 2,
} as const;
