// Combines the results of a MiningModel's segments. Importer's worker thread. Source: tabular.md
// 3.2
import type { Column } from '../../plan/builder.js';
import type { LabelledVector, ModelResult } from '../context.js';
import { isWord } from '../../plan/attributes.js';
import {
  COMBINE_METHOD,
  type CombineMethod,
  type SegmentMissing,
} from '../../plan/generated/stages.js';
import { placeOf } from '../document.js';
import type { Context, Lowered } from '../lower.js';
import { type ExplainedSegment, segmentSum } from '../answers/explanations.js';
import { lazyResult } from '../answers/results.js';
import { planType } from '../types.js';
import { extended, isFloat } from '../vendor.js';
import type { XmlElement } from '../xml/reader.js';

export interface Segment {
  readonly element: XmlElement;
  readonly id: string;
  readonly lowered: Lowered;
  /** Its predicate is True. */
  readonly always: boolean;
  /** Rows in which it ran; absent: every row. */
  readonly mask?: Column;
  readonly weight: number;
  /** The weight by row, where the document says a field. */
  readonly column?: Column;
}

const TREATMENTS: Readonly<Record<string, SegmentMissing>> = {
  continue: 'continue',
  skipSegment: 'skip',
  returnMissing: 'missing',
};

/** The missingPredictionTreatment of a Segmentation. */
export function missingTreatment(segmentation: XmlElement): string {
  return extended(segmentation, 'missingPredictionTreatment') ?? 'continue';
}

/** Places of the labels in a segment's vector; -1: it does not have that label. */
export function mapOf(labels: readonly string[], scores: LabelledVector | undefined): number[] {
  return labels.map((each) => scores?.labels.indexOf(each) ?? -1);
}

/** The labels of all vectors. */
export function unionOf(
  vectors: readonly (LabelledVector | undefined)[],
  context: Context,
): string[] {
  return context.labelsAsFound(vectors.flatMap((each) => each?.written ?? each?.labels ?? []));
}

/** The results of all segments that ran, as a list. */
export function collectResults(
  segments: readonly Segment[],
  mask: (segment: Segment) => Column,
  context: Context,
  at: XmlElement,
): ModelResult {
  const columns = predictions(segments, context);
  if (columns === undefined) return {};
  const names = new Set(segments.map(({ lowered }) => lowered.context.targets[0]?.name ?? ''));
  if (names.size > 1) {
    const shown = [...names].map((each) => `'${each}'`).join(', ');
    context.problems.add(placeOf(at), `selectAll: expected segments with one target, got ${shown}`);
    return {};
  }
  const { plan } = context;
  const types = new Set(columns.map((each) => plan.typeOf(each)));
  const [type] = types;
  if (types.size > 1 || type === undefined) {
    context.problems.add(placeOf(at), 'selectAll: expected results of one type, got several');
    return {};
  }
  const predicted = plan.column('selected', 'list', type);
  const inputs = [...segments.map(mask), ...columns];
  plan.stage('pmml.collect', inputs, [predicted], {}, placeOf(at));
  const [name] = names;
  if (name === undefined || name === '') return { predicted };
  return { predicted, byTarget: new Map([[name, { predicted }]]) };
}

function predictions(segments: readonly Segment[], context: Context): Column[] | undefined {
  const found = segments.map(({ lowered, element }) => {
    const { predicted } = lowered.result;
    if (predicted === undefined) context.problems.add(placeOf(element), 'predicts no value');
    return predicted;
  });
  return found.includes(undefined) ? undefined : (found as Column[]);
}

// Common stages of ensembles: masks and weights after the segments' columns.
function ensembleOf(
  segments: readonly Segment[],
  columns: readonly Column[],
  method: CombineMethod,
  context: Context,
  at: XmlElement,
) {
  const inputs = [...columns];
  const place = (column: Column | undefined) => {
    if (column === undefined) return -1;
    inputs.push(column);
    return inputs.length - 1;
  };
  const treatment = missingTreatment(at);
  if (TREATMENTS[treatment] === undefined) {
    const reason = `missingPredictionTreatment="${treatment}" is unknown`;
    context.problems.add(placeOf(at), reason);
  }
  const threshold = Number(extended(at, 'missingThreshold') ?? 1);
  if (!(threshold >= 0 && threshold <= 1)) {
    context.problems.add(placeOf(at), 'missingThreshold is not in [0, 1]');
  }
  const attributes = {
    method,
    weights: Float64Array.from(segments, (each) => each.weight),
    mask_of: Int32Array.from(segments, (each) => place(each.mask)),
    weight_of: Int32Array.from(segments, (each) => place(each.column)),
    on_missing: TREATMENTS[treatment] ?? 'continue',
    threshold: { real: threshold },
  };
  return { inputs, attributes };
}

function vote(
  segments: readonly Segment[],
  method: CombineMethod,
  context: Context,
  at: XmlElement,
): ModelResult {
  const columns = predictions(segments, context);
  if (columns === undefined) return {};
  const { plan } = context;
  const clustering = context.functionName === 'clustering';
  const found = segments.flatMap(({ lowered }) => [
    ...(lowered.result.probabilities?.labels ?? []),
    ...(lowered.result.affinities?.labels ?? []),
    ...(lowered.result.confidences?.labels ?? []),
  ]);
  const labels = clustering ? [...new Set(found)] : context.labels(found);
  const dataType = clustering ? 'string' : (context.target?.dataType ?? 'string');
  const votes = plan.column('votes', 'vector');
  const predicted = plan.column(context.target?.name ?? 'winner', planType(dataType) ?? 'string');
  const { inputs, attributes } = ensembleOf(segments, columns, method, context, at);
  const values = clustering
    ? labels.map((text) => ({ type: 'string' as const, text }))
    : context.labelValues(labels, at);
  const outputs = [votes, predicted];
  const all = { ...attributes, labels: { values } };
  plan.stage('pmml.vote', inputs, outputs, all, placeOf(at));
  const probabilities = { column: votes, labels };
  if (clustering) return { predicted, entityId: predicted, affinities: probabilities };
  return { predicted, probabilities };
}

function blend(
  segments: readonly Segment[],
  method: CombineMethod,
  context: Context,
  at: XmlElement,
): ModelResult {
  const vectors = segments.map(({ lowered, element }) => {
    const { probabilities } = lowered.result;
    if (probabilities === undefined) {
      context.problems.add(placeOf(element), `returns no probabilities, which ${method} requires`);
    }
    return probabilities;
  });
  if (vectors.includes(undefined)) return {};
  const { plan } = context;
  const labels = unionOf(vectors, context);
  const columns = vectors.map((each) => (each as LabelledVector).column);
  const { inputs, attributes } = ensembleOf(segments, columns, method, context, at);
  const maps = Int32Array.from(vectors.flatMap((each) => mapOf(labels, each)));
  const column = plan.column('probabilities', 'vector');
  const order = Int32Array.from(context.labels(labels), (each) => labels.indexOf(each));
  const all = { ...attributes, maps, order, width: labels.length };
  plan.stage('pmml.blend', inputs, [column], all, placeOf(at));
  const probabilities = { column, labels };
  return lazyResult({
    predicted: () => context.classify(probabilities, at),
    probabilities: () => probabilities,
    explanation: () => () =>
      segmentSum(
        plan,
        segments.map((each, i) => explainedSegment(each, method, at, placesOf(vectors[i], labels))),
        method,
        labels.length,
      ),
  });
}

/** Places of a vector's labels among `labels`. */
const placesOf = (vector: LabelledVector | undefined, labels: readonly string[]): number[] =>
  (vector?.labels ?? []).map((each) => labels.indexOf(each));

const SUMS: ReadonlySet<string> = new Set(['sum', 'weightedSum', 'average', 'weightedAverage']);

function explainedSegment(
  { lowered, always, column, weight }: Segment,
  method: string,
  at: XmlElement,
  scores: readonly number[],
): ExplainedSegment {
  const goesOn = missingTreatment(at) !== 'skipSegment';
  return {
    explanation: SUMS.has(method) ? lowered.result.explanation?.() : undefined,
    weight: method.startsWith('weighted') ? weight : 1,
    scores,
    isPlain: always && column === undefined && goesOn,
  };
}

const FOR_NUMBERS: ReadonlySet<CombineMethod> = new Set<CombineMethod>([
  'sum',
  'weightedSum',
  'average',
  'weightedAverage',
  'median',
  'weightedMedian',
]);
const FOR_LABELS: ReadonlySet<CombineMethod> = new Set<CombineMethod>([
  'average',
  'weightedAverage',
  'median',
  'max',
]);

const unfit = (method: string, functionName: string): string =>
  `multipleModelMethod="${method}" does not fit functionName="${functionName}"`;

/** One result of all segments that ran. */
export function combineResults(
  segments: readonly Segment[],
  method: string,
  context: Context,
  at: XmlElement,
): ModelResult {
  const { functionName, plan } = context;
  if (!isWord(COMBINE_METHOD, method)) {
    context.problems.add(placeOf(at), unfit(method, functionName));
    return {};
  }
  if (isFloat(context.element) && (functionName !== 'regression' || method.endsWith('edian'))) {
    const reason = `x-mathContext="float" with multipleModelMethod="${method}" is not supported`;
    context.problems.add(placeOf(context.element), reason);
  }
  const votes = method === 'majorityVote' || method === 'weightedMajorityVote';
  if (votes && (functionName === 'classification' || functionName === 'clustering')) {
    return vote(segments, method, context, at);
  }
  if (functionName === 'classification' && FOR_LABELS.has(method)) {
    return blend(segments, method, context, at);
  }
  if (functionName !== 'regression' || !FOR_NUMBERS.has(method)) {
    context.problems.add(placeOf(at), unfit(method, functionName));
    return {};
  }
  const columns = predictions(segments, context);
  if (columns === undefined) return {};
  const { inputs, attributes } = ensembleOf(segments, columns, method, context, at);
  const predicted = plan.column('combined', 'double');
  const single = isFloat(context.element);
  plan.stage('pmml.combine', inputs, [predicted], { ...attributes, single }, placeOf(at));
  const explanation = () =>
    segmentSum(
      plan,
      segments.map((each) => explainedSegment(each, method, at, [0])),
      method,
      1,
    );
  return { predicted, explanation };
}
