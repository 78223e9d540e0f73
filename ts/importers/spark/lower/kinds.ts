// Which classes of Spark stages are lowered, and how. Importer's worker thread.
import { COLUMN_STAGES } from './features/columns.js';
import { SCALING_STAGES } from './features/scalers.js';
import { STRING_STAGES } from './features/strings.js';
import { TEXT_STAGES } from './features/text.js';
import { VECTOR_STAGES } from './features/vectors.js';
import { FOREST_STAGES } from './models/forest.js';
import { LEARNED_STAGES } from './models/learned.js';
import { LINEAR_STAGES } from './models/linear.js';
import { lowerOneVsRest } from './models/one-vs-rest.js';
import { XGBOOST_STAGES } from './models/xgboost.js';
import type { Lower } from './stage.js';

const XGBOOST4J =
  'the files and results of XGBoost4J-Spark differ between its versions; save it from Python, with ' +
  'xgboost.spark';

/** By the class's own name; a text says why there is none. */
export const LOWERINGS: Readonly<Record<string, Lower | string>> = {
  ...STRING_STAGES,
  ...TEXT_STAGES,
  ...SCALING_STAGES,
  ...VECTOR_STAGES,
  ...COLUMN_STAGES,
  ...LINEAR_STAGES,
  ...FOREST_STAGES,
  ...LEARNED_STAGES,
  ...XGBOOST_STAGES,
  OneVsRestModel: lowerOneVsRest,
  'ml.dmlc.xgboost4j.scala.spark.XGBoostClassificationModel': XGBOOST4J,
  'ml.dmlc.xgboost4j.scala.spark.XGBoostRegressionModel': XGBOOST4J,
  DistributedLDAModel: 'it is saved as a graph; convert it with toLocal() before saving',
};
