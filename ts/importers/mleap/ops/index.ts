// All ops of MLeap that there are, and those that are refused by name. Importer's worker thread.
// Source: tabular.md 4.2
import type { Op } from '../node.js';
import { CLASS_OPS } from './classes.js';
import { NUMBER_OPS } from './numbers.js';
import { SCALAR_OPS } from './scalars.js';
import { TEXT_OPS } from './text.js';
import { VECTOR_OPS } from './vectors.js';
import { XGBOOST_OPS } from './xgboost.js';

export const MLEAP_OPS: ReadonlyMap<string, Op> = new Map(
  Object.entries({
    ...SCALAR_OPS,
    ...TEXT_OPS,
    ...VECTOR_OPS,
    ...NUMBER_OPS,
    ...CLASS_OPS,
    ...XGBOOST_OPS,
  }),
);

/** Why not. Others are not known. */
export const REFUSED_OPS: ReadonlyMap<string, string> = new Map([
  ['categorical_drilldown', 'its models are transformers, which bundles cannot contain'],
  [
    'lda_local_model_op',
    'its iteration starts at random: MLeap returns different results each time',
  ],
  ['lightgbm_classifier', 'LightGBM models are not supported'],
  ['lightgbm_regression', 'LightGBM models are not supported'],
  ['map_entry_selector', 'its input is a map, for which requests have no datatype'],
  ['tensorflow', 'TensorFlow graphs inside bundles are not supported'],
]);
