// Ensembles of plain trees, as one stage `forest`: sums, means and votes of trees whose nodes test
// one field each. What does not fit is lowered tree by tree. Importer's worker thread.
// Source: tabular.md 3.2
import type { Column } from '../../plan/builder.js';
import { addForest } from '../../plan/forest.js';
import type { ModelResult, PmmlExplanation } from '../context.js';
import { placeOf } from '../document.js';
import type { Context } from '../lower.js';
import { extended, isFloat, keptNumber } from '../vendor.js';
import { missingTreatment } from './combine.js';
import { lazyResult } from '../answers/results.js';
import { planType } from '../types.js';
import { type XmlElement, child } from '../xml/reader.js';
import { explainedForest } from '../tree/explained.js';
import { ForestNodes } from '../tree/forest-nodes.js';
import { distributionOf, scoreOf, tableOf, treeLabels } from '../tree/tree.js';
import type { TreeTable } from '../tree/table.js';

export interface ForestPart {
  readonly element: XmlElement;
  readonly predicate: XmlElement;
  readonly model: XmlElement;
}

const SUMS: Readonly<Record<string, 'sum' | 'mean'>> = {
  sum: 'sum',
  weightedSum: 'sum',
  average: 'mean',
  weightedAverage: 'mean',
};
const RETURN = 'returnMissing';
const VOTES = new Set(['majorityVote', 'weightedMajorityVote']);

// Children of a TreeModel that say more than which leaf a row ends in.
const MORE = new Set(['Output', 'Targets', 'LocalTransformations']);

function isPlain(part: ForestPart, functionName: string): boolean {
  const { element, predicate, model } = part;
  return (
    predicate.name === 'True' &&
    model.name === 'TreeModel' &&
    model.attributes['functionName'] === functionName &&
    model.attributes['isScorable'] !== 'false' &&
    child(element, 'VariableWeight') === undefined &&
    !model.children.some((each) => MORE.has(each.name)) &&
    model.attributes['missingValuePenalty'] === undefined
  );
}

function asksSegments(model: XmlElement): boolean {
  const output = child(model, 'Output');
  return output?.children.some((each) => each.attributes['segmentId'] !== undefined) ?? false;
}

function weightsOf(parts: readonly ForestPart[], method: string): Float64Array | undefined {
  if (!method.startsWith('weighted')) return undefined;
  const weights = Float64Array.from(parts, ({ element }) =>
    Number(element.attributes['weight'] ?? 1),
  );
  return weights.every((each) => each >= 0) ? weights : undefined;
}

interface Tree {
  readonly table: TreeTable;
  readonly context: Context;
}

function numberLeaf({ table, context }: Tree, node: number): number[] | undefined {
  const text = scoreOf(table, node, context);
  const value = Number(text ?? Number.NaN);
  return Number.isNaN(value) ? undefined : [keptNumber(context.element, value)];
}

function labelledLeaf({ table, context }: Tree, node: number, labels: readonly string[]) {
  const found = distributionOf(table, node, context);
  return found === undefined ? undefined : labels.map((each) => found.get(each) ?? 0);
}

function voteLeaf({ table, context }: Tree, node: number, places: ReadonlyMap<string, number>) {
  const score = scoreOf(table, node, context);
  const place = score === undefined ? undefined : places.get(score);
  return place === undefined ? undefined : [place];
}

/** The result of a forest; undefined: it is none, and is lowered segment by segment. */
export function forestResult(
  parts: readonly ForestPart[],
  segmentation: XmlElement,
  method: string,
  context: Context,
): ModelResult | undefined {
  const { functionName, plan } = context;
  const votes = VOTES.has(method) && functionName === 'classification';
  const sum = SUMS[method];
  const blends = functionName === 'classification' && (sum === 'mean' || votes);
  const isPlainVote = extended(segmentation, 'missingThreshold') === undefined;
  const treatment = missingTreatment(segmentation);
  // A sum without one of its trees is missing in any case.
  const goesOn = treatment === 'continue' ? isPlainVote || !votes : treatment === RETURN && !votes;
  if (parts.length < 2 || !goesOn || asksSegments(context.element)) return undefined;
  if (!blends && (functionName !== 'regression' || sum === undefined)) return undefined;
  const single = isFloat(context.element);
  // Only plain sums are kept in floats here.
  if (single && (blends || method !== 'sum')) return undefined;
  if (!parts.every((each) => isPlain(each, functionName))) return undefined;
  const weights = weightsOf(parts, method);
  if (weights === undefined && method.startsWith('weighted')) return undefined;
  const trees = parts.map(({ model }) => {
    const inner = context.lowering.open(model, context);
    return { table: tableOf(model, inner), context: inner };
  });
  if (trees.some((each) => each.table === undefined)) return undefined;
  const known = trees as Tree[];
  const labels = blends
    ? context.labelsAsFound([...new Set(known.flatMap((t) => treeLabels(t.table)))])
    : [];
  const places = new Map(labels.map((each, i) => [each, i]));
  const nodes = new ForestNodes(votes || !blends ? 1 : labels.length);
  for (const tree of known) {
    const leaf = (node: number) => {
      if (votes) return voteLeaf(tree, node, places);
      return blends ? labelledLeaf(tree, node, labels) : numberLeaf(tree, node);
    };
    if (!nodes.add(tree.table, tree.context, leaf)) return undefined;
  }
  const made = nodes.finish();
  const place = placeOf(segmentation);
  if (votes) {
    const result = voted(made, parts.length, weights, labels, context, segmentation);
    return { ...result, explanation: () => voteShares(nodes, weights, labels.length, context) };
  }
  const values = plan.column('trees', blends && labels.length > 1 ? 'vector' : 'double');
  const sums = { sum: sum ?? 'sum', floatSums: single, nanIsLargest: true, values } as const;
  const options = { ...made, ...(weights && { weights }), ...sums };
  addForest(plan, options, place);
  const explanation = () => explainedForest(plan, nodes, options);
  if (!blends) return { predicted: values, explanation };
  const column = labels.length > 1 ? values : context.vector([values], segmentation);
  const probabilities = { column, labels };
  return lazyResult({
    predicted: () => context.classify(probabilities, segmentation),
    probabilities: () => probabilities,
    explanation: () => explanation,
  });
}

/** The explanation of each label's share of the votes. */
function voteShares(
  nodes: ForestNodes,
  weights: Float64Array | undefined,
  width: number,
  { plan, element }: Context,
): PmmlExplanation {
  const made = nodes.finish();
  const leaves = new Float64Array(made.leaves.length * width);
  made.leaves.forEach((label, leaf) => {
    leaves[leaf * width + label] = 1;
  });
  const values = plan.column('votes of trees', width === 1 ? 'double' : 'vector');
  const sums = { sum: 'mean', nanIsLargest: true, values, explained: true } as const;
  const options = { ...made, leaves, width, ...(weights && { weights }), ...sums };
  addForest(plan, options, placeOf(element));
  return explainedForest(plan, nodes, options);
}

function voted(
  made: ReturnType<ForestNodes['finish']>,
  count: number,
  weights: Float64Array | undefined,
  labels: readonly string[],
  context: Context,
  at: XmlElement,
): ModelResult {
  const { plan } = context;
  const leaf: Column = plan.column('leaves', 'list', 'int32');
  addForest(plan, { ...made, nanIsLargest: true, sum: 'each', leaf }, placeOf(at));
  const dataType = context.target?.dataType ?? 'string';
  const predicted = plan.column(context.target?.name ?? 'winner', planType(dataType) ?? 'string');
  const column = plan.column('votes', 'vector');
  const attributes = {
    label_of: Int32Array.from(made.leaves),
    weights: weights ?? new Float64Array(count).fill(1),
    labels: { values: context.labelValues(labels, at) },
  };
  plan.stage('pmml.leaf_votes', [leaf], [column, predicted], attributes, placeOf(at));
  return { predicted, probabilities: { column, labels } };
}
