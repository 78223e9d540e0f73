// The operators that Spark's and MLeap's importers lower to. Importer's worker thread; pure.
export * from './classify.js';
export * from './learned.js';
export * from './linear.js';
export * from './numbers.js';
export * from './recommend.js';
export * from './scalers.js';
export * from './strings.js';
export * from './text.js';
export { lda, SPARK_LDA_SEED } from './topics.js';
export * from './vectors.js';
export type { HandleInvalid } from './common.js';
export {
  type Distance,
  type FeatureRule,
  GLM_FAMILY as GLM_FAMILIES,
  GLM_LINK as GLM_LINKS,
  type GlmFamily,
  type GlmLink,
  MATH_BINARY,
  MATH_UNARY,
  type MathBinary,
  type MathUnary,
} from '../generated/stages.js';
