// Lowers AnomalyDetectionModel: the model inside it, and the stage pmml.anomaly on its result.
// Importer's worker thread. Source: tabular.md 3.2
import type { Column } from '../../plan/builder.js';
import { arrayNumbers } from '../arrays.js';
import type { LowerModel, ModelContext, ModelResult } from '../context.js';
import { type XmlElement, child } from '../xml/reader.js';
import { attempt, neededChild, oneOf, real } from './reading.js';

const ALGORITHMS = ['iforest', 'ocsvm', 'clusterMeanDist', 'other'];

function meanDistances(model: XmlElement, context: ModelContext): Float64Array {
  const holder = neededChild(context, model, 'MeanClusterDistances');
  const array = holder === undefined ? undefined : neededChild(context, holder, 'Array');
  if (array === undefined) return new Float64Array();
  return attempt(context, array, new Float64Array(), () => arrayNumbers(array));
}

export const lowerAnomaly: LowerModel = (model, context): ModelResult => {
  const algorithm = oneOf(context, model, 'algorithmType', ALGORITHMS);
  const inner = model.children.find((each) => child(each, 'MiningSchema') !== undefined);
  if (inner === undefined) {
    context.problems.add(context.place(model), 'contains no model');
    return {};
  }
  const result = context.lowerModel(inner);
  if (algorithm === 'ocsvm' || algorithm === 'other') {
    return result.predicted === undefined ? {} : { predicted: result.predicted };
  }
  const score = (input: Column | undefined, attributes: Readonly<Record<string, unknown>>) => {
    if (input === undefined) {
      const reason = `<${inner.name}> does not return the result that algorithmType="${algorithm}" requires`;
      context.problems.add(context.place(inner), reason);
      return {};
    }
    const predicted = context.plan.column('anomaly score', 'double');
    const all = { algorithm, ...attributes } as Parameters<typeof context.plan.stage>[3];
    context.plan.stage('pmml.anomaly', [input], [predicted], all, context.place(model));
    return { predicted };
  };
  if (algorithm === 'iforest') {
    const size = real(context, model, 'sampleDataSize');
    if (!(size >= 2)) {
      context.problems.add(context.place(model), 'sampleDataSize: expected 2 or more');
    }
    return score(result.predicted, { sample_size: { real: size } });
  }
  const means = meanDistances(model, context);
  if (result.affinities !== undefined && result.affinities.labels.length !== means.length) {
    const reason = `expected a mean distance for each of ${result.affinities.labels.length} clusters, got ${means.length}`;
    context.problems.add(context.place(model), reason);
  }
  const distances = result.affinityOrder === 'smallest' ? result.affinities?.column : undefined;
  return score(distances, { means });
};
