// The output of a booster whose configuration is of Triton's FIL backend: floats in a matrix with a
// row for each row. Importer's worker thread; pure. Source: docs/model_config.md and
// src/detail/postprocess_cpu.h of Triton's FIL backend.
import { FIL_OUTPUT, type FilAnswer } from '../../model/booster-answer.js';
import { call, columnRef, type Expression, type PlanBuilder } from '../plan/builder.js';
import { cast, float, greatestOf } from '../plan/xgboost/scores.js';
import { addMatrix } from '../plan/outputs.js';

/** `values`: one number, which may be the probability of class 1, or one for each class. */
export function addFilOutput(
  builder: PlanBuilder,
  values: readonly Expression[],
  answer: FilAnswer,
  place: string,
): void {
  const floats = values.map((value, i) =>
    columnRef(builder.derive(`value ${i}`, 'float', cast(value, 'float'), place)),
  );
  const answers = answersOf(builder, floats, answer, place);
  addMatrix(builder, FIL_OUTPUT, 'float', answers, { place });
}

function answersOf(
  builder: PlanBuilder,
  values: readonly Expression[],
  { isClass, threshold, hasBoth }: FilAnswer,
  place: string,
): readonly Expression[] {
  const [value, second] = values;
  if (value === undefined || second !== undefined) {
    return isClass ? [cast(greatestOf(builder, values, place), 'float')] : values;
  }
  if (isClass) {
    // NaN is above every number for the plan, and below for FIL.
    const isAbove = call('sql.greater', value, float(threshold));
    const cases = [call('sql.isnan', value), float(0), isAbove, float(1), float(0)];
    return [call('sql.case', ...cases)];
  }
  return hasBoth ? [cast(call('sql.subtract', float(1), value), 'float'), value] : values;
}
