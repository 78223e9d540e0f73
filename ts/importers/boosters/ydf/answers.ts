// The outputs of a YDF model, from the sums of its trees, in floats. Importer's worker thread;
// pure. Source: YDF's serving/decision_forest/decision_forest_serving.cc (Activation...),
// model/isolation_forest/isolation_forest.cc, port/python/ydf/model/generic_model.py
// (predict_class).
import { TASK } from '../../../protobuf/generated/yggdrasil-fields.js';
import {
  call,
  columnRef,
  constant,
  type Expression,
  type PlanBuilder,
} from '../../plan/builder.js';
import { cast, float, greatestOf } from '../../plan/xgboost/scores.js';
import { addClassLabel } from '../classes.js';
import { exponential } from '../functions.js';
import { addOutput, MARGIN, PREDICT } from '../../plan/outputs.js';
import type { Ensemble } from '../../ydf/ensemble.js';
import { averagePathLength } from '../../ydf/leaves.js';
import { linkOf, POISSON_MAX } from '../../ydf/link.js';

const PLACE = 'answers';

const isNan = (of: Expression): Expression => call('sql.isnan', of);

/** e^x, rounded to a float. */
const power = (of: Expression): Expression => cast(exponential(cast(of, 'double')), 'float');

/** Within both bounds; NaN stays. */
function clamped(of: Expression, low: number, high: number): Expression {
  const below = call('sql.less', of, float(low));
  const above = call('sql.greater', of, float(high));
  return call('sql.case', isNan(of), of, below, float(low), above, float(high), of);
}

export function addAnswers(
  builder: PlanBuilder,
  ensemble: Ensemble,
  sums: readonly Expression[],
): void {
  const margins = sums.map((sum, i) =>
    columnRef(builder.derive(`margin ${i}`, 'float', sum, PLACE)),
  );
  const answers = answersOf(builder, ensemble, margins).map((answer, i) =>
    columnRef(builder.derive(`answer ${i}`, 'float', answer, PLACE)),
  );
  addOutput(builder, PREDICT, 'float', answers, { place: PLACE });
  addOutput(builder, MARGIN, 'float', margins, { place: PLACE, extra: true });
  const { header, classes } = ensemble;
  const [answer] = answers;
  if (header.task !== TASK.CLASSIFICATION || answer === undefined) return;
  const isSecond = call('sql.greater_equal', answer, float(0.5));
  const number =
    classes.length === 2
      ? call('sql.case', isSecond, constant(1), constant(0))
      : greatestOf(builder, answers, PLACE);
  const known = classes.filter((text) => text !== undefined);
  const labels = known.length === classes.length ? known : undefined;
  addClassLabel(builder, number, labels, PLACE);
}

/** Errors: RangeError: the loss is not supported. */
function answersOf(
  builder: PlanBuilder,
  ensemble: Ensemble,
  margins: readonly Expression[],
): readonly Expression[] {
  switch (linkOf(ensemble)) {
    case 'none':
      return margins;
    case 'share':
      return margins.map((margin) => clamped(margin, 0, 1));
    case 'anomaly':
      return margins.map((margin) => anomalyScore(margin, ensemble.trees.rowsPerTree));
    case 'sigmoid':
      return margins.map(sigmoid);
    case 'exponential':
      return margins.map((margin) => power(clamped(margin, -POISSON_MAX, POISSON_MAX)));
    case 'softmax':
      return softmax(builder, margins);
  }
}

/** 1 / (1 + e^-x), each step in floats. */
function sigmoid(margin: Expression): Expression {
  const sum = call('sql.add', float(1), power(call('sql.negative', margin)));
  return cast(call('sql.divide', float(1), sum), 'float');
}

/** Each step in floats; the greatest is not subtracted first. */
function softmax(builder: PlanBuilder, margins: readonly Expression[]): readonly Expression[] {
  const powers = margins.map((margin, i) =>
    columnRef(builder.derive(`power of class ${i}`, 'float', power(margin), PLACE)),
  );
  const sum = powers.reduce((before, one) => call('sql.add', before, one));
  const inverse = cast(call('sql.divide', float(1), sum), 'float');
  const factor = columnRef(builder.derive('inverse of the sum', 'float', inverse, PLACE));
  return powers.map((one, i) => {
    const product = call('sql.multiply', one, factor);
    const column = builder.derive(`share of class ${i}`, 'float', product, PLACE);
    return clamped(columnRef(column), 0, 1);
  });
}

/** 2^(-depth / expected depth); 0 where that is 0. */
function anomalyScore(depth: Expression, rowsPerTree: number): Expression {
  const expected = averagePathLength(rowsPerTree);
  if (expected === 0) return float(0);
  const quotient = call('sql.divide', call('sql.negative', depth), float(expected));
  const exponent = cast(cast(quotient, 'float'), 'double');
  return cast(call('sql.pow', constant(2), exponent), 'float');
}
