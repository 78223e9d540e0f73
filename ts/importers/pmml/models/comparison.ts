// ComparisonMeasure with the fields that it compares, as attributes of the stages that have one.
// Importer's worker thread. Source: tabular.md 3.2
import { isWord } from '../../plan/attributes.js';
import {
  COMPARE_FUNCTION,
  type CompareFunction,
  MEASURE,
  type Measure,
} from '../../plan/generated/stages.js';
import type { ModelContext } from '../context.js';
import type { XmlElement } from '../xml/reader.js';
import { neededChild, oneOf, real } from './reading.js';

const SIMILARITIES: readonly Measure[] = [
  'simpleMatching',
  'jaccard',
  'tanimoto',
  'binarySimilarity',
];
const PARAMETERS = ['c11', 'c10', 'c01', 'c00', 'd11', 'd10', 'd01', 'd00'];

export interface Comparison {
  readonly similarity: boolean;
  /** By field. */
  readonly functions: readonly CompareFunction[];
  readonly attributes: {
    readonly measure: Measure;
    readonly minkowski_p: { readonly real: number } | undefined;
    readonly binary_parameters: Float64Array | undefined;
    readonly compare: readonly CompareFunction[];
    readonly field_weights: Float64Array;
    readonly similarity_scales: Float64Array;
    readonly missing_weights: Float64Array;
  };
}

/** `fields`: ClusteringField or KNNInput. */
export function readComparison(
  model: XmlElement,
  context: ModelContext,
  fields: readonly XmlElement[],
  missingWeights: Float64Array = new Float64Array(fields.length).fill(1),
): Comparison | undefined {
  const element = neededChild(context, model, 'ComparisonMeasure');
  const measure = element?.children.find(({ name }) => isWord(MEASURE, name));
  const kind = measure?.name ?? '';
  if (element === undefined || measure === undefined || !isWord(MEASURE, kind)) {
    if (element !== undefined) {
      context.problems.add(context.place(element), 'has no supported measure');
    }
    return undefined;
  }
  const similarity = SIMILARITIES.includes(kind);
  const functions = fields.map((field) => {
    const own = field.attributes['compareFunction'] !== undefined;
    const holder = own ? field : element;
    const function_ = oneOf(context, holder, 'compareFunction', COMPARE_FUNCTION, 'absDiff');
    if (!own && function_ === 'gaussSim') {
      context.problems.add(
        context.place(field),
        'gaussSim: expected it as the compareFunction of a field, got it as the default',
      );
    }
    return function_;
  });
  const minkowski = measure.name === 'minkowski';
  const p = minkowski ? real(context, measure, 'p-parameter') : 1;
  if (minkowski && !(p > 0)) {
    context.problems.add(context.place(measure), 'p-parameter: expected a number above 0');
  }
  return {
    similarity,
    functions,
    attributes: {
      measure: kind,
      minkowski_p: minkowski ? { real: p } : undefined,
      binary_parameters:
        measure.name === 'binarySimilarity'
          ? Float64Array.from(PARAMETERS, (name) => real(context, measure, `${name}-parameter`))
          : undefined,
      compare: functions,
      field_weights: Float64Array.from(fields, (each) => real(context, each, 'fieldWeight', 1)),
      similarity_scales: Float64Array.from(fields, (each, i) =>
        functions[i] === 'gaussSim' ? real(context, each, 'similarityScale') : 1,
      ),
      missing_weights: missingWeights,
    },
  };
}
