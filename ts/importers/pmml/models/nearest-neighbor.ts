// Lowers NearestNeighborModel to the stage pmml.nearest_neighbor. Importer's worker thread.
// Source: tabular.md 3.2
import type { Scoring } from '../../plan/generated/stages.js';
import type { Column } from '../../plan/builder.js';
import type { Type, Value } from '../../plan/generated/plan.js';
import { toNumber } from '../arrays.js';
import type { LowerModel, ModelContext, ModelResult, TargetInfo } from '../context.js';
import { missingValue, requestDataType } from '../types.js';
import { type XmlElement, child, children } from '../xml/reader.js';
import { readComparison } from './comparison.js';
import { type Instances, readInstances } from './instances.js';
import { Rows, attempt, isNumber, needed, neededChild, oneOf, real, valueOf } from './reading.js';

const CONTINUOUS: readonly Scoring[] = ['average', 'weightedAverage', 'median'];
const CATEGORICAL: readonly Scoring[] = ['majorityVote', 'weightedMajorityVote'];
const RANKED = new Set(['entityId', 'affinity', 'entityAffinity', 'clusterId', 'clusterAffinity']);

function numbers(context: ModelContext, at: XmlElement, texts: readonly string[]): Float64Array {
  return attempt(context, at, new Float64Array(texts.length), () =>
    Float64Array.from(texts, (text) => toNumber(text, at.name)),
  );
}

/** Different texts by number, in the order in which they are first met. */
class Categories {
  readonly texts: string[] = [];
  readonly #at = new Map<string, number>();

  place(text: string): number {
    const known = this.#at.get(text);
    if (known !== undefined) return known;
    this.#at.set(text, this.texts.length);
    return this.texts.push(text) - 1;
  }
}

interface Fields {
  readonly columns: Column[];
  readonly texts: Int32Array;
  readonly categories: Categories;
  /** [instances, fields] */
  readonly instances: Float64Array;
}

function fieldsOf(
  context: ModelContext,
  inputs: readonly XmlElement[],
  functions: readonly string[],
  instances: Instances,
): Fields {
  const made: Fields = {
    columns: [],
    texts: new Int32Array(inputs.length),
    categories: new Categories(),
    instances: new Float64Array(inputs.length * instances.count),
  };
  for (const [i, input] of inputs.entries()) {
    const name = needed(context, input, 'field');
    made.columns.push(context.field(name, input));
    const categorical = !context.hasField(name) || !isNumber(context.fieldInfo(name).dataType);
    if (categorical && functions[i] !== 'delta' && functions[i] !== 'equal') {
      context.problems.add(context.place(input), `'${name}' is not a number`);
    }
    made.texts[i] = categorical ? 1 : 0;
    if (!instances.has(name)) continue; // see derivedOf
    const texts = instances.texts(name);
    const values = categorical
      ? texts.map((text) => made.categories.place(text))
      : numbers(context, input, texts);
    values.forEach((value, row) => {
      made.instances[row * inputs.length + i] = value;
    });
  }
  return made;
}

// Inputs that the document derives from what the table has (isTransformed="false"), as JPMML does
// wherever the table has no such field: the stages that do so run once, when the model loads.
function derivedOf(context: ModelContext, inputs: readonly XmlElement[], instances: Instances) {
  const at: number[] = [];
  const columns: Column[] = [];
  const derive = context.aside(() => {
    for (const [i, input] of inputs.entries()) {
      const name = needed(context, input, 'field');
      if (instances.has(name)) continue;
      if (!context.hasField(name) || context.dataField(name) !== undefined) {
        context.problems.add(context.place(input), `'${name}' is not among the InstanceFields`);
        continue;
      }
      at.push(i);
      columns.push(context.field(name, input));
    }
  });
  if (at.length === 0) return {};
  const given: Column[] = [];
  const values: Value[] = [];
  for (const name of instances.fields) {
    const field = context.dataField(name);
    if (field === undefined) continue;
    given.push(field.column);
    const dataType = requestDataType(field.dataType);
    for (const text of instances.given(name, dataType === 'string')) {
      const isMissing = text === undefined;
      values.push(
        isMissing ? missingValue(dataType) : valueOf(context, instances.element, text, dataType),
      );
    }
  }
  return {
    derive: { blocks: [derive] },
    given_columns: Int32Array.from(given),
    given_values: { values },
    derived_inputs: Int32Array.from(at),
    derived_columns: Int32Array.from(columns),
  };
}

interface Targets {
  readonly names: string[];
  readonly types: Type[];
  readonly scorings: Scoring[];
  readonly numbers: number[];
  readonly values: Value[];
  readonly valueRows: Rows;
}

function addTarget(
  model: XmlElement,
  context: ModelContext,
  target: TargetInfo,
  instances: Instances,
  into: Targets,
): void {
  if (!instances.has(target.name)) {
    const reason = `target '${target.name}' is not among the InstanceFields`;
    context.problems.add(context.place(model), reason);
    return;
  }
  const texts = instances.texts(target.name);
  into.names.push(target.name);
  if (target.optype === 'continuous') {
    into.scorings.push(oneOf(context, model, 'continuousScoringMethod', CONTINUOUS, 'average'));
    into.types.push('double');
    into.numbers.push(...numbers(context, instances.element, texts));
    into.valueRows.add(0);
    return;
  }
  const method = 'categoricalScoringMethod';
  into.scorings.push(oneOf(context, model, method, CATEGORICAL, 'majorityVote'));
  const categories = new Categories();
  for (const text of texts) into.numbers.push(categories.place(text));
  const values = categories.texts.map((text) =>
    valueOf(context, instances.element, text, target.dataType),
  );
  into.types.push(values[0]?.type ?? 'string');
  into.values.push(...values);
  into.valueRows.add(values.length);
}

/** The number of nearest instances that the model's outputs use. */
function rankedOf(model: XmlElement, context: ModelContext): number {
  const list = child(model, 'Output');
  const asked = (list === undefined ? [] : children(list, 'OutputField'))
    .filter((each) => RANKED.has(each.attributes['feature'] ?? ''))
    .map((each) => real(context, each, 'rank', 1));
  const none = context.targets.length === 0 ? 1 : 0;
  return asked.reduce((most, rank) => Math.max(most, rank), none);
}

function idsOf(model: XmlElement, instances: Instances): string[] {
  const variable = model.attributes['instanceIdVariable'];
  if (variable !== undefined && instances.has(variable)) return instances.texts(variable);
  return Array.from({ length: instances.count }, (_, i) => String(i + 1));
}

function checkCounts(
  model: XmlElement,
  context: ModelContext,
  counts: { neighbors: number; ranked: number; instances: number },
): void {
  const { neighbors, ranked, instances } = counts;
  if (!Number.isInteger(neighbors) || neighbors < 1 || neighbors > instances) {
    const reason = `numberOfNeighbors: expected 1 to ${instances}, the number of instances, got ${neighbors}`;
    context.problems.add(context.place(model), reason);
  }
  if (!Number.isInteger(ranked) || ranked > instances) {
    const reason = `rank of an output: expected at most ${instances}, the number of instances, got ${ranked}`;
    context.problems.add(context.place(model), reason);
  }
  const variable = model.attributes['instanceIdVariable'];
  if (context.functionName === 'clustering' && variable === undefined) {
    needed(context, model, 'instanceIdVariable');
  }
}

export const lowerNearestNeighbor: LowerModel = (model, context): ModelResult => {
  const instances = readInstances(model, context);
  const list = neededChild(context, model, 'KNNInputs');
  const inputs = list === undefined ? [] : children(list, 'KNNInput');
  const comparison = readComparison(model, context, inputs);
  if (instances === undefined || comparison === undefined || inputs.length === 0) {
    if (inputs.length === 0) context.problems.add(context.place(model), 'has no KNNInput');
    return {};
  }
  const derived = derivedOf(context, inputs, instances);
  const fields = fieldsOf(context, inputs, comparison.functions, instances);
  const targets: Targets = {
    names: [],
    types: [],
    scorings: [],
    numbers: [],
    values: [],
    valueRows: new Rows(),
  };
  for (const target of context.targets) addTarget(model, context, target, instances, targets);
  if (comparison.similarity && targets.scorings.some((each) => each.startsWith('weighted'))) {
    context.problems.add(
      context.place(model),
      'weighted votes require a distance, got a similarity',
    );
  }
  const ranked = rankedOf(model, context);
  const neighbors = real(context, model, 'numberOfNeighbors');
  checkCounts(model, context, { neighbors, ranked, instances: instances.count });
  const { plan } = context;
  const predicted = targets.names.map((name, i) =>
    plan.column(`predicted ${name}`, targets.types[i] as Type),
  );
  const entityIds = ranked > 0 ? plan.column('neighbours', 'list', 'string') : undefined;
  const entityAffinities = ranked > 0 ? plan.column('affinity', 'vector') : undefined;
  const outputs = [...predicted, entityIds, entityAffinities].filter((each) => each !== undefined);
  const attributes = {
    ...comparison.attributes,
    instances: fields.instances,
    text_fields: fields.texts,
    categories: fields.categories.texts,
    neighbors,
    threshold: { real: real(context, model, 'threshold', 0.001) },
    target_scorings: targets.scorings,
    target_numbers: Float64Array.from(targets.numbers),
    target_values: { values: targets.values },
    target_value_rows: targets.valueRows.starts,
    ranked,
    ids: ranked > 0 ? idsOf(model, instances) : [],
    ...derived,
  };
  const place = context.place(model);
  plan.stage('pmml.nearest_neighbor', fields.columns, outputs, attributes, place);
  return {
    ...(predicted[0] === undefined ? {} : { predicted: predicted[0] }),
    ...(predicted.length > 1
      ? {
          byTarget: new Map(
            targets.names.map((name, i) => [name, { predicted: predicted[i] as Column }]),
          ),
        }
      : {}),
    ...(entityIds === undefined || entityAffinities === undefined
      ? {}
      : { entityIds, entityAffinities }),
  };
};
