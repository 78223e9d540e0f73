// The outputs of a booster that MLServer's settings describe: those of scikit-learn's interface if
// the model is its classifier. Importer's worker thread; pure. Source: MLServer's runtimes/xgboost,
// runtimes/lightgbm, mlserver/codecs/numpy.py; XGBoost's python-package/xgboost/sklearn.py.
import { call, constant, type Expression, type PlanBuilder } from '../plan/builder.js';
import type { Booster } from '../plan/xgboost/booster.js';
import { cast, float, greatestOf } from '../plan/xgboost/scores.js';
import { classColumn, classesOf } from './classes.js';
import { addMatrix, PREDICT } from '../plan/outputs.js';

const PROBABILITIES = 'predict_proba';

/** `values`: of Booster.predict(); of each class for several. */
export function addMlserverOutputs(
  builder: PlanBuilder,
  booster: Booster,
  values: readonly Expression[],
  place: string,
): void {
  if (!isClassifier(booster)) {
    addMatrix(builder, PREDICT, 'float', values, { place });
    return;
  }
  const [value, second] = values;
  const isTwo = value !== undefined && second === undefined;
  const number = isTwo
    ? call('sql.case', call('sql.greater', value, float(0.5)), constant(1), constant(0))
    : greatestOf(builder, values, place);
  const count = isTwo ? 2 : values.length;
  const label = classColumn(builder, number, classesOf(booster, count), place);
  addMatrix(builder, PREDICT, label.type, [label.value], { place });
  const other = isTwo ? [cast(call('sql.subtract', float(1), value), 'float')] : [];
  addMatrix(builder, PROBABILITIES, 'float', [...other, ...values], { place, extra: true });
}

/** Whether scikit-learn's interface saved it as a classifier. */
function isClassifier({ attributes = {} }: Booster): boolean {
  const stored = attributes['scikit_learn'];
  return typeof stored === 'string' && /"_estimator_type"\s*:\s*"classifier"/.test(stored);
}
