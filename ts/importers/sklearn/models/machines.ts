// Support vector machines with kernels. Importer's worker thread; pure. Source: scikit-learn's
// svm/_base.py, svm/src/libsvm/svm.cpp, utils/multiclass.py (_ovr_decision_function).
import { SKLEARN_MACHINE_CELLS_MAX } from '../../../base/limits.js';
import { call, type Column, columnRef, constant } from '../../plan/builder.js';
import type { SvmKernel } from '../../plan/generated/stages.js';
import { linearScores } from '../../plan/ops/linear.js';
import { binarizer } from '../../plan/ops/numbers.js';
import { type Frame, vectorOf } from '../frame/frame.js';
import { severalClasses } from '../frame/labels.js';
import { assembled, derived, elementOf, greatestIndex, signIndex } from '../frame/scores.js';
import type { Classified, Detected, Estimated, Scores, Step } from '../frame/step.js';
import type { Item } from '../read/item.js';

const KERNELS: Readonly<Record<string, SvmKernel>> = {
  linear: 'linear',
  poly: 'polynomial',
  rbf: 'radialBasis',
  sigmoid: 'sigmoid',
};

/** Fills a Vector of the similarities to the support vectors. Errors: RangeError. */
function similarities(
  { item, lowering, place }: Step,
  frame: Frame,
): { readonly column: Column; readonly count: number } {
  const name = item.get('kernel').plain();
  const kernel = typeof name === 'string' ? KERNELS[name] : undefined;
  if (kernel === undefined) {
    const got = typeof name === 'string' ? `'${name}'` : 'a function';
    const known = Object.keys(KERNELS).join(', ');
    throw item.bad(`kernel: ${got} is not supported: expected ${known}`);
  }
  if (item.given('_sparse')?.flag() === true) {
    throw item.bad('a machine that was fitted on a sparse matrix is not supported');
  }
  const { reals: vectors, shape } = item.get('support_vectors_').shapedReals([-1, frame.length]);
  const count = shape[0] ?? 0;
  if (count < 1) throw item.bad('support_vectors_: expected one or more');
  const features = vectorOf(lowering, frame, 'refuse', place);
  const column = lowering.builder.column('kernel', 'vector');
  const attributes = {
    kernel,
    gamma: { real: item.get('_gamma').number() },
    coef0: { real: item.get('coef0').number() },
    degree: { real: item.get('degree').number() },
    vectors,
    count,
  };
  lowering.builder.stage('kernel_values', [features], [column], attributes, place);
  return { column, count };
}

/** The pairs (0, 1), (0, 2), ..., (1, 2), ... of classes. */
const pairsOf = (classes: number): readonly (readonly [number, number])[] =>
  Array.from({ length: classes }, (_, i) =>
    Array.from({ length: classes - i - 1 }, (_, j) => [i, i + 1 + j] as const),
  ).flat();

/** Sums that have +1 for the first class of each pair and -1 for the second. */
function signs(classes: number): Float64Array {
  const pairs = pairsOf(classes);
  const made = new Float64Array(classes * pairs.length);
  for (const [at, [i, j]] of pairs.entries()) {
    made[i * pairs.length + at] = 1;
    made[j * pairs.length + at] = -1;
  }
  return made;
}

/** libsvm's value of each pair of classes: above 0, it is the first of them. */
function pairValues(step: Step, frame: Frame, classes: number): Column {
  const { item, lowering, place } = step;
  const { column, count } = similarities(step, frame);
  const support = item.get('_n_support');
  const counts = support.reals([classes]);
  const total = counts.reduce((sum, each) => sum + each, 0);
  if (total !== count || counts.some((each) => !(Number.isInteger(each) && each >= 0))) {
    throw support.bad(`expected counts of ${count} support vectors, got ${total}`);
  }
  const dual = item.get('_dual_coef_').reals([classes - 1, count]);
  const intercepts = item.get('_intercept_').reals([(classes * (classes - 1)) / 2]);
  const cells = intercepts.length * (count + 2 * classes);
  if (cells > SKLEARN_MACHINE_CELLS_MAX) {
    throw item.bad(
      `${classes} classes with ${count} support vectors are not supported: expected at most ` +
        `${SKLEARN_MACHINE_CELLS_MAX} coefficients, pairs * (vectors + 2 * classes), got ${cells}`,
    );
  }
  const pairs = pairsOf(classes);
  const starts = counts.map((_, k) => counts.subarray(0, k).reduce((sum, each) => sum + each, 0));
  const coefficients = new Float64Array(pairs.length * count);
  for (const [at, [i, j]] of pairs.entries()) {
    for (const [own, other] of [
      [i, j - 1],
      [j, i],
    ] as const) {
      const from = starts[own] ?? 0;
      for (let v = from; v < from + (counts[own] ?? 0); v += 1) {
        coefficients[at * count + v] = dual[other * count + v] ?? 0;
      }
    }
  }
  const values = lowering.builder.column('values of pairs', 'vector');
  const scores = { features: column, scores: values, coefficients, intercepts };
  linearScores(lowering.builder, scores, place);
  return values;
}

/** The count of pairs that each class wins. `isZeroFirst`: at 0 the first class wins. */
function votesOf(
  { lowering: { builder }, place }: Step,
  values: Column,
  classes: number,
  isZeroFirst: boolean,
): Column {
  const pairs = pairsOf(classes);
  const won = builder.column('pairs', 'vector');
  // 1: the first class has won; or, of mirrored values, the second.
  let input = values;
  if (isZeroFirst) {
    input = builder.column('mirrored values', 'vector');
    const attributes = { scale: new Float64Array(pairs.length).fill(-1), clamp: false };
    builder.stage('scale', [values], [input], attributes, place);
  }
  binarizer(builder, { input, output: won, threshold: 0, missingIsZero: false }, place);
  const sign = isZeroFirst ? -1 : 1;
  const coefficients = signs(classes).map((each) => each * sign);
  const mirrored = isZeroFirst ? 0 : 1;
  const intercepts = Float64Array.from(
    { length: classes },
    (_, k) => pairs.filter((pair) => pair[mirrored] === k).length,
  );
  const votes = builder.column('votes', 'vector');
  linearScores(builder, { features: won, scores: votes, coefficients, intercepts }, place);
  return votes;
}

/** The votes for each class, plus its values in (-1/3, 1/3). */
function ovrDecision(step: Step, values: Column, classes: number): Column {
  const {
    lowering: { builder },
    place,
  } = step;
  const votes = votesOf(step, values, classes, true);
  const sums = builder.column('sums of pairs', 'vector');
  const intercepts = new Float64Array(classes);
  const coefficients = signs(classes);
  linearScores(builder, { features: values, scores: sums, coefficients, intercepts }, place);
  const columns = Array.from({ length: classes }, (_, k) => {
    const sum = columnRef(elementOf(builder, sums, k, place));
    const most = call(
      'sql.multiply',
      constant(3),
      call('sql.add', call('sql.abs', sum), constant(1)),
    );
    const vote = columnRef(elementOf(builder, votes, k, place));
    return derived(
      builder,
      'decision',
      call('sql.add', vote, call('sql.divide', sum, most)),
      place,
    );
  });
  return assembled(builder, columns, place);
}

/** Platt's sigmoids of the pairs, coupled. undefined: the model has none. */
function probabilities(step: Step, values: Column, classes: number): Column | undefined {
  const { item, lowering, place } = step;
  const { length } = pairsOf(classes);
  const isWanted = item.find('probability')?.plain() === true;
  if (!isWanted) return undefined;
  const probability = lowering.builder.column('probabilities', 'vector');
  const attributes = {
    classes,
    slopes: item.get('_probA').reals([length]),
    offsets: item.get('_probB').reals([length]),
  };
  lowering.builder.stage('pairwise_coupling', [values], [probability], attributes, place);
  return probability;
}

/** SVC and NuSVC. */
export function machineClassifier(step: Step, frame: Frame): Classified {
  const { item, lowering, place } = step;
  const { builder } = lowering;
  const classes = severalClasses(item);
  const count = classes.values.length;
  const values = pairValues(step, frame, count);
  const probability = probabilities(step, values, count);
  const shown = probability === undefined ? {} : { probability };
  if (count === 2) {
    // The sign of scikit-learn's decision is the other one.
    const value = columnRef(elementOf(builder, values, 0, place));
    const column = derived(builder, 'decision', call('sql.negative', value), place);
    const index = signIndex(builder, column, place, 'sql.greater_equal');
    const decision: Scores = { column, size: 1 };
    return { role: 'classifier', classes, index, decision, ...shown };
  }
  const shape = item.get('decision_function_shape').text();
  const isOvr = shape === 'ovr';
  if (!isOvr && shape !== 'ovo') throw item.bad(`decision_function_shape: got '${shape}'`);
  const column = isOvr ? ovrDecision(step, values, count) : values;
  const isDecided = isOvr && item.get('break_ties').flag();
  const ranked = isDecided ? column : votesOf(step, values, count, false);
  const index = greatestIndex(builder, ranked, place);
  const decision = { column, size: isOvr ? count : pairsOf(count).length };
  return { role: 'classifier', classes, index, decision, ...shown };
}

/** The sum of one machine. */
function oneValue(
  step: Step,
  frame: Frame,
): { readonly column: Column; readonly intercept: number } {
  const { item, lowering, place } = step;
  const { column: features, count } = similarities(step, frame);
  const coefficients = item.get('_dual_coef_').reals([1, count]);
  const intercepts = item.get('_intercept_').reals([1]);
  const scores = lowering.builder.column('value of the machine', 'vector');
  linearScores(lowering.builder, { features, scores, coefficients, intercepts }, place);
  const column = elementOf(lowering.builder, scores, 0, place);
  return { column, intercept: intercepts[0] ?? 0 };
}

/** SVR and NuSVR. */
export function machineRegressor(step: Step, frame: Frame): Estimated {
  const { column } = oneValue(step, frame);
  return { role: 'regressor', values: { column, size: 1 } };
}

export function oneClassMachine(step: Step, frame: Frame): Detected {
  const { lowering, place, item } = step;
  const { column: decision } = oneValue(step, frame);
  const offset = constant(offsetOf(item));
  const sum = call('sql.add', columnRef(decision), offset);
  const samples = derived(lowering.builder, 'score of the sample', sum, place);
  return { role: 'detector', decision, isStrict: true, samples };
}

/** A number, or an array of one. */
function offsetOf(item: Item): number {
  const offset = item.get('offset_');
  const one = offset.plain();
  return typeof one === 'number' ? one : (offset.reals([1])[0] ?? 0);
}
