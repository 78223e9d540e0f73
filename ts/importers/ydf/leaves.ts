// The numbers that the leaves of YDF's trees add to a prediction. Importer's worker thread; pure.
// Source: YDF's serving/decision_forest/decision_forest.cc (SetLeaf...), model/isolation_forest/
// isolation_forest.cc (PreissAveragePathLength).
import { TASK } from '../../protobuf/generated/yggdrasil-fields.js';
import type { ModelHeader, TreesHeader } from './messages.js';
import type { Leaf } from './nodes.js';

export interface LeafValues {
  /** Receives the leaves in their order. Errors: RangeError: it has no output of this kind. */
  readonly addLeaf: (leaf: Leaf, depth: number) => void;
  readonly values: RawLeaves;
}

/** Numbers to be divided, as YDF averages them. */
export interface RawLeaves {
  /** `width` numbers for each leaf. */
  readonly numbers: readonly number[];
  readonly width: number;
  /** For two classes, of which `numbers` has the second: the first one's numbers. */
  readonly firsts: readonly number[];
  /** The divisor of each leaf's numbers; empty: 1. */
  readonly totals: readonly number[];
  /** The divisor of the sum: the count of trees that are averaged. */
  readonly divisor: number;
}

/** Floats, divided by everything: the sum of the trees needs no division. */
export function dividedLeaves({ numbers, width, totals, divisor }: RawLeaves): Float64Array {
  return Float64Array.from(numbers, (number, at) =>
    fround(number / ((totals[Math.floor(at / width)] ?? 1) * divisor)),
  );
}

/** The numbers of both classes, if there are two. */
export function unfolded(leaves: RawLeaves): RawLeaves {
  const { firsts, numbers } = leaves;
  if (firsts.length === 0) return leaves;
  const both = numbers.flatMap((number, at) => [firsts[at] ?? 0, number]);
  return { ...leaves, numbers: both, width: 2, firsts: [] };
}

/** Not divided by the count of trees. `isFloat`: rounded to floats. */
export function wholeLeaves({ numbers, width, totals }: RawLeaves, isFloat: boolean): Float64Array {
  return Float64Array.from(numbers, (number, at) => {
    const whole = number / (totals[Math.floor(at / width)] ?? 1);
    return isFloat ? fround(whole) : whole;
  });
}

const { fround } = Math;

/** Errors: RangeError: the task is not supported. */
export function leafValues(
  { name, task }: ModelHeader,
  trees: TreesHeader,
  classes: number,
): LeafValues {
  const [numbers, totals, firsts]: [number[], number[], number[]] = [[], [], []];
  const fill = (
    addLeaf: (leaf: Leaf, depth: number) => void,
    divisor: number,
    width = 1,
  ): LeafValues => ({ addLeaf, values: { numbers, width, firsts, totals, divisor } });
  const missing = (): never => {
    throw new RangeError('a leaf has no output of the kind that the task needs');
  };
  if (name === 'ISOLATION_FOREST') {
    if (task !== TASK.ANOMALY_DETECTION) throw unsupported(task);
    return fill(({ rows = missing() }, depth) => {
      const length = averagePathLength(rows);
      numbers.push(fround(depth + length));
    }, trees.trees);
  }
  if (name === 'RANDOM_FOREST' && task === TASK.CLASSIFICATION) {
    const width = classes === 2 ? 1 : classes;
    if (classes < 1) throw new RangeError('the label has no classes');
    const add = (leaf: Leaf): void => {
      const votes: number[] = [];
      totals.push(addVotes(leaf, trees.winnerTakesAll, classes, votes));
      if (classes === 2) firsts.push(votes.shift() ?? 0);
      for (const vote of votes) numbers.push(vote);
    };
    return fill(add, trees.trees, width);
  }
  const isBoosted = name === 'GRADIENT_BOOSTED_TREES';
  const isRanking = isBoosted && task === TASK.RANKING;
  const isClasses = isBoosted && task === TASK.CLASSIFICATION;
  if (task !== TASK.REGRESSION && !isRanking && !isClasses) throw unsupported(task);
  const divisor = isBoosted ? 1 : trees.trees;
  return fill(({ value = missing() }) => {
    numbers.push(value);
  }, divisor);
}

function unsupported(task: number): RangeError {
  const [name = String(task)] = Object.entries(TASK).find(([, number]) => number === task) ?? [];
  return new RangeError(`the task ${name} is not supported`);
}

/** One number for each class. Returns what they are divided by. */
function addVotes(
  { top = 0, counts = [], sum = 0 }: Leaf,
  winnerTakesAll: boolean,
  classes: number,
  into: number[],
): number {
  if (winnerTakesAll) {
    if (!(top >= 1 && top <= classes)) {
      throw new RangeError(`a leaf's class ${top} is not from 1 to ${classes}`);
    }
    for (let at = 1; at <= classes; at += 1) into.push(at === top ? 1 : 0);
    return 1;
  }
  if (counts.length !== classes + 1 || !(sum > 0)) {
    throw new RangeError(
      `a leaf's distribution: expected ${classes + 1} counts and their sum, got ${counts.length} ` +
        `and ${sum}`,
    );
  }
  for (let at = 1; at <= classes; at += 1) into.push(counts[at] ?? 0);
  return sum;
}

const EULER = fround(0.5772156649);

/** The mean depth of a leaf in trees that separate this number of rows; steps in floats. */
export function averagePathLength(rows: number): number {
  if (rows < 2) return 0;
  if (rows === 2) return 1;
  const others = fround(rows - 1);
  const harmonic = fround(fround(Math.log(others)) + EULER);
  return fround(2 * harmonic - fround(fround(2 * others) / fround(rows)));
}
