// Lowers center-based ClusteringModel to the stage pmml.clustering. Importer's worker thread.
// Source: tabular.md 3.2
import type { Column } from '../../plan/builder.js';
import { arrayNumbers } from '../arrays.js';
import type { LowerModel, ModelContext, ModelResult } from '../context.js';
import { type XmlElement, child, children } from '../xml/reader.js';
import { readComparison } from './comparison.js';
import { InputList, attempt, needed, oneOf } from './reading.js';

function numbersOf(context: ModelContext, holder: XmlElement): Float64Array | undefined {
  const array = holder.children.find((each) => each.name.endsWith('Array'));
  if (array === undefined) {
    context.problems.add(context.place(holder), 'has no array');
    return undefined;
  }
  return attempt(context, array, undefined, () => arrayNumbers(array));
}

/** The numbers of an element's array, one by field. */
function byField(context: ModelContext, holder: XmlElement, fields: number): Float64Array {
  const numbers = numbersOf(context, holder);
  if (numbers === undefined) return new Float64Array(fields);
  if (numbers.length === fields) return numbers;
  const reason = `expected a number for each of ${fields} clustering fields, got ${numbers.length}`;
  context.problems.add(context.place(holder), reason);
  return new Float64Array(fields);
}

function inputsOf(context: ModelContext, fields: readonly XmlElement[]): Column[] {
  return fields.map((field) => {
    const inputs = new InputList(context);
    inputs.number(needed(context, field, 'field'), field);
    return inputs.columns[0] as Column;
  });
}

export const lowerClustering: LowerModel = (model, context): ModelResult => {
  oneOf(context, model, 'modelClass', ['centerBased']);
  const fields = children(model, 'ClusteringField').filter(
    (each) => (each.attributes['isCenterField'] ?? 'true') !== 'false',
  );
  for (const field of fields) {
    if (child(field, 'Comparisons') !== undefined) {
      context.problems.add(context.place(field), 'comparisons by a table are not supported');
    }
  }
  const clusters = children(model, 'Cluster');
  if (fields.length === 0 || clusters.length === 0) {
    context.problems.add(context.place(model), 'expected clustering fields and clusters, got none');
    return {};
  }
  const missing = child(model, 'MissingValueWeights');
  const weights = missing === undefined ? undefined : byField(context, missing, fields.length);
  const comparison = readComparison(model, context, fields, weights);
  const centers = clusters.flatMap((each) => [...byField(context, each, fields.length)]);
  if (comparison === undefined) return {};
  if (comparison.similarity && centers.some((each) => each !== 0 && each !== 1)) {
    const reason = 'a binary similarity requires clusters with numbers of 0 or 1';
    context.problems.add(context.place(model), reason);
  }
  // Without an id a cluster is known by its place, from 1 on.
  const ids = clusters.map((each, i) => each.attributes['id'] ?? String(i + 1));
  if (new Set(ids).size !== ids.length) {
    context.problems.add(context.place(model), 'two clusters have the same id');
  }
  const named = clusters.some((each) => each.attributes['name'] !== undefined);
  const { plan } = context;
  const predicted = plan.column('cluster', 'string');
  const scores = plan.column('affinity', 'vector');
  const display = named ? [plan.column('cluster name', 'string')] : [];
  const attributes = {
    ...comparison.attributes,
    ids,
    names: named ? clusters.map((each, i) => each.attributes['name'] ?? (ids[i] as string)) : [],
    centers: Float64Array.from(centers),
  };
  const outputs = [predicted, scores, ...display];
  const place = context.place(model);
  plan.stage('pmml.clustering', inputsOf(context, fields), outputs, attributes, place);
  return {
    predicted,
    entityId: predicted,
    ...(display[0] === undefined ? {} : { display: display[0] }),
    affinities: { column: scores, labels: ids },
    affinityOrder: comparison.similarity ? 'largest' : 'smallest',
  };
};
