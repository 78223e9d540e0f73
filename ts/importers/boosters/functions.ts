// Functions of sums that several libraries apply, in doubles. Importer's worker thread; pure.
import { call, columnRef, constant, type Expression, type PlanBuilder } from '../plan/builder.js';

export const exponential = (of: Expression): Expression => call('sql.exp', of);

/** 1 / (1 + e^(-factor * x)) */
export const logistic = (of: Expression, factor = 1): Expression => {
  const power = exponential(call('sql.multiply', constant(-factor), of));
  return call('sql.divide', constant(1), call('sql.add', constant(1), power));
};

/** The probability of each class. A column holds each step. */
export function softmaxOf(
  builder: PlanBuilder,
  scores: readonly Expression[],
  place: string,
): readonly Expression[] {
  if (scores.length < 2) return scores.map(() => constant(1));
  const greatest = builder.derive(
    'greatest score',
    'double',
    call('sql.greatest', ...scores),
    place,
  );
  const powers = scores.map((score, i) => {
    const power = exponential(call('sql.subtract', score, columnRef(greatest)));
    return columnRef(builder.derive(`power of class ${i}`, 'double', power, place));
  });
  const sum = powers.reduce((before, power) => call('sql.add', before, power));
  const total = columnRef(builder.derive('sum of powers', 'double', sum, place));
  return powers.map((power, i) =>
    columnRef(
      builder.derive(
        `probability of class ${i}`,
        'double',
        call('sql.divide', power, total),
        place,
      ),
    ),
  );
}
