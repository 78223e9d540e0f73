// Lowers a model that CatBoost has saved. Features are floats and sums are doubles, as in CatBoost.
// Importer's worker thread; pure. Source: CatBoost's catboost/libs/model/scale_and_bias.cpp,
// catboost/libs/eval_result/eval_helpers.cpp (PrepareEval), python-package/catboost/core.py
// (_get_default_prediction_type).
import { call, columnRef, constant, type Expression, PlanBuilder } from '../../plan/builder.js';
import { addExplanation, type ExplainedForest } from '../../plan/explain.js';
import { addForest } from '../../plan/forest.js';
import { vectorElement } from '../../plan/ops/vectors.js';
import { greatestOf } from '../../plan/xgboost/scores.js';
import { addClassLabel } from '../classes.js';
import { exponential, logistic, softmaxOf } from '../functions.js';
import type { Lowered } from '../lowered.js';
import { addOutput, MARGIN, PREDICT } from '../../plan/outputs.js';
import { readCbm } from './cbm.js';
import { readDocument } from './document.js';
import { catboostFields } from './fields.js';
import { type CatboostModel, labelsOf, lossOf, type ModelInfo } from './model.js';
import { forestNodes, splitTests } from './trees.js';

const PLACE = 'booster';
const CBM = 'CBM1';
const THRESHOLD = 'binclass_probability_threshold';
const VERSION = /v?(\d+\.\d+(\.\d+)*)/;

/** Errors: RangeError saying what is broken or not supported. */
export function lowerCatboost(bytes: Buffer): Lowered {
  const isBinary = bytes.toString('latin1', 0, CBM.length) === CBM;
  const model = isBinary
    ? readCbm(bytes)
    : readDocument(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  const builder = new PlanBuilder('catboost', producerOf(model.info));
  const fields = catboostFields(builder, model);
  builder.matrix = fields.matrix;
  const nodes = forestNodes(model.trees, splitTests(model, fields.columnOf));
  const forests: ExplainedForest[] = [];
  const sums = sumsOf(builder, model, { features: fields.columns, nodes }, forests);
  const scores = sums.map((sum, i) =>
    columnRef(builder.derive(`score ${i}`, 'double', scaled(model, sum, i), PLACE)),
  );
  const warnings = addAnswers(builder, model, scores);
  addExplanation(builder, {
    forests: forests.map((forest) => ({ ...forest, sources: fields.sources })),
    features: fields.count,
    scores: model.width,
    scale: model.scale,
    bias: model.bias,
    coversName: 'leaf_weights',
  });
  return { plan: builder.finish(), warnings };
}

/** "CatBoost 1.2.10", from text such as "Version: v1.2.10\nCommit: ...". */
function producerOf(info: ModelInfo): string {
  const [, version] = VERSION.exec(String(info.get('catboost_version_info') ?? '')) ?? [];
  return version === undefined ? 'CatBoost' : `CatBoost ${version}`;
}

type ForestParts = Pick<Parameters<typeof addForest>[1], 'features' | 'nodes'>;

/** The sums of the trees, one for each value of a leaf. */
function sumsOf(
  builder: PlanBuilder,
  { trees, leaves, width, covers }: CatboostModel,
  parts: ForestParts,
  forests: ExplainedForest[],
): readonly Expression[] {
  if (trees.roots.length === 0) return Array.from({ length: width }, () => constant(0));
  const values = builder.column('sums', width === 1 ? 'double' : 'vector');
  const roots = Int32Array.from(trees.roots);
  const options = { ...parts, roots, leaves, width };
  addForest(builder, { ...options, values }, PLACE);
  const leafIds = leafNumbers(trees, leaves.length / width);
  forests.push({ options, column: values, leafIds, ...(covers === undefined ? {} : { covers }) });
  if (width === 1) return [columnRef(values)];
  return Array.from({ length: width }, (_, index) => {
    const output = builder.column(`sum ${index}`, 'double');
    vectorElement(builder, { input: values, output, index }, PLACE);
    return columnRef(output);
  });
}

/**
 * By leaf: its number in its tree, as CatBoost counts: from left to right, but the leaf of a node
 * with only one comes before those of the node's other child.
 */
function leafNumbers({ roots, left, right }: CatboostModel['trees'], count: number): Int32Array {
  const numbers = new Int32Array(count);
  for (const root of roots) {
    let next = 0;
    const waiting = [root];
    for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
      if (at < 0) {
        numbers[~at] = next;
        next += 1;
        continue;
      }
      const [one, other] = [left[at] ?? -1, right[at] ?? -1];
      if (one >= 0 && other < 0) waiting.push(one, other);
      else waiting.push(other, one);
    }
  }
  return numbers;
}

function scaled({ scale, bias }: CatboostModel, sum: Expression, score: number): Expression {
  if (scale === 1 && bias.every((one) => one === 0)) return sum;
  return call('sql.add', call('sql.multiply', constant(scale), sum), constant(bias[score] ?? 0));
}

/** Losses whose scores are logits of one class, or of each. */
const LOGITS: ReadonlySet<string> = new Set(['Logloss', 'CrossEntropy', 'Focal']);
const LOGITS_OF_EACH: ReadonlySet<string> = new Set([
  ...['MultiClassOneVsAll', 'MultiLogloss', 'MultiCrossEntropy'],
]);
const POWERS: ReadonlySet<string> = new Set(['Poisson', 'Tweedie']);
/** Each of their rows has one class, the one of the greatest score. */
const ONE_CLASS: ReadonlySet<string> = new Set(['MultiClass', 'MultiClassOneVsAll']);

/** Returns warnings. */
function addAnswers(
  builder: PlanBuilder,
  model: CatboostModel,
  scores: readonly Expression[],
): readonly string[] {
  const loss = lossOf(model.info);
  addOutput(builder, PREDICT, 'double', answersOf(builder, loss, scores), { place: PLACE });
  addOutput(builder, MARGIN, 'double', scores, { place: PLACE, extra: true });
  const [score] = scores;
  const isTwo = scores.length === 1 && LOGITS.has(loss);
  if (score === undefined || (!isTwo && !ONE_CLASS.has(loss))) return [];
  const { labels, warnings } = classesOf(model.info, isTwo ? 2 : scores.length);
  const passes = call('sql.greater', score, constant(logitOf(model.info)));
  const label = isTwo
    ? call('sql.case', passes, constant(1), constant(0))
    : greatestOf(builder, scores, PLACE, 'double');
  addClassLabel(builder, label, labels, PLACE);
  return warnings;
}

/** The result of predict() of CatBoost's estimator for the loss, for classes of predict_proba(). */
function answersOf(
  builder: PlanBuilder,
  loss: string,
  scores: readonly Expression[],
): readonly Expression[] {
  const [first, second] = scores;
  if ((LOGITS.has(loss) && scores.length === 1) || LOGITS_OF_EACH.has(loss)) {
    return scores.map((score) => logistic(score));
  }
  if (loss === 'MultiClass') return softmaxOf(builder, scores, PLACE);
  if (POWERS.has(loss)) return scores.map(exponential);
  if (loss === 'RMSEWithUncertainty' && first !== undefined && second !== undefined) {
    return [first, exponential(call('sql.multiply', constant(2), second))];
  }
  return scores;
}

/** A model whose owner has set a probability from which rows are of the second class. */
function logitOf(info: ModelInfo): number {
  const threshold = Number(info.get(THRESHOLD) ?? 0.5);
  if (threshold > 0 && threshold < 1) return -Math.log(1 / threshold - 1);
  throw new RangeError(`${THRESHOLD}: expected a number between 0 and 1, got ${threshold}`);
}

/** Errors: RangeError: not a label for each class. */
function classesOf(
  info: ModelInfo,
  count: number,
): {
  readonly labels: readonly (string | number)[] | undefined;
  readonly warnings: readonly string[];
} {
  const found = labelsOf(info);
  if (found === undefined) return { labels: undefined, warnings: [] };
  if (found.length !== count) {
    throw new RangeError(`class_names: expected ${count} labels, got ${found.length}`);
  }
  const isWhole = found.every((one) => Number.isInteger(one) && Math.abs(Number(one)) < 2 ** 31);
  if (isWhole) return { labels: found.map(Number), warnings: [] };
  // Python's names of flags.
  const labels = found.map((one) => (one === true ? 'True' : one === false ? 'False' : one));
  if (labels.every((one) => typeof one === 'string')) return { labels, warnings: [] };
  const warning =
    "label: the model's classes are neither texts nor whole numbers; the label is the position of " +
    'the class';
  return { labels: undefined, warnings: [warning] };
}
