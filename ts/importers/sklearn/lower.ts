// Lowers an estimator by its class. Importer's worker thread; pure.
import { SKLEARN_COLUMNS_MAX } from '../../base/limits.js';
import { type Estimator, ESTIMATORS } from './estimators.js';
import type { Item } from './read/item.js';
import type { Frame, Lowering } from './frame/frame.js';
import { named } from './frame/names.js';
import type { Result } from './frame/step.js';

const PACKAGE = /^sklearn\./;
/** The command that pickles get, too. */
const ADVICE =
  'convert the model in Python: skl2onnx.to_onnx(model, X[:1]), written to an .onnx file';

/** Errors: RangeError: no class that is supported. */
export function estimatorOf(item: Item): Estimator {
  const { className } = item;
  const module = item.isObject ? item.module : '';
  const found = PACKAGE.test(module) ? ESTIMATORS.get(className) : undefined;
  if (found !== undefined) return found;
  const full = module === '' || PACKAGE.test(module) ? className : `${module}.${className}`;
  throw item.bad(`${full} is not supported; ${ADVICE}`);
}

/** `place`: "steps[0] 'scaler'". */
export function lowerEstimator(
  lowering: Lowering,
  given: Item,
  frame: Frame,
  place: string,
): Result {
  const item = given.at(place);
  const { lower } = estimatorOf(item);
  const count = item.given('n_features_in_')?.integer(0);
  if (count !== undefined && count !== frame.length) {
    throw item.bad(`expected ${count} features (n_features_in_), got ${frame.length}`);
  }
  const result = lower({ lowering, item, place }, frame);
  const made = 'frame' in result ? (result.frame?.length ?? 0) : 0;
  if (made > SKLEARN_COLUMNS_MAX) {
    throw item.bad(`makes ${made} columns: expected at most ${SKLEARN_COLUMNS_MAX}`);
  }
  if (result.role !== 'transformer') return result;
  return { ...result, frame: named(lowering.fields, item, frame, result.frame) };
}
