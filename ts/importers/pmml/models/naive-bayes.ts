// Lowers NaiveBayesModel to the stage pmml.naive_bayes. Importer's worker thread.
// Source: tabular.md 3.2
import type { Column } from '../../plan/builder.js';
import type { Value } from '../../plan/generated/plan.js';
import type { LowerModel, ModelContext, ModelResult } from '../context.js';
import { normalDataType } from '../types.js';
import { type XmlElement, child, children } from '../xml/reader.js';
import {
  InputList,
  Rows,
  derivedExpression,
  needed,
  neededChild,
  real,
  valueOf,
} from './reading.js';

const NONE = 0;
const GAUSSIAN = 1;
const POISSON = 2;

/** Counts by target value; NaN: nothing is said of it. */
function countsOf(
  context: ModelContext,
  holder: XmlElement,
  labels: readonly string[],
): Float64Array {
  const counts = new Float64Array(labels.length).fill(Number.NaN);
  const list = neededChild(context, holder, 'TargetValueCounts');
  for (const each of list === undefined ? [] : children(list, 'TargetValueCount')) {
    const at = labelAt(context, each, labels);
    if (at >= 0) counts[at] = real(context, each, 'count');
  }
  return counts;
}

function labelAt(context: ModelContext, element: XmlElement, labels: readonly string[]): number {
  const value = needed(context, element, 'value');
  const at = labels.indexOf(value);
  if (at < 0) {
    context.problems.add(context.place(element), `'${value}' is not a value of the BayesOutput`);
  }
  return at;
}

class Predictors {
  readonly columns: Column[] = [];
  readonly continuous: number[] = [];
  readonly kinds: number[] = [];
  readonly means: number[] = [];
  readonly variances: number[] = [];
  readonly pairRows = new Rows();
  readonly pairValues: Value[] = [];
  readonly pairCounts: number[] = [];
  readonly #context: ModelContext;
  readonly #labels: readonly string[];

  constructor(context: ModelContext, labels: readonly string[]) {
    this.#context = context;
    this.#labels = labels;
  }

  add(input: XmlElement): void {
    const context = this.#context;
    const stats = child(input, 'TargetValueStats');
    const name = needed(context, input, 'fieldName');
    if (stats === undefined) {
      this.#discrete(input, name);
      return;
    }
    const inputs = new InputList(context);
    inputs.number(name, input);
    this.columns.push(inputs.columns[0] as Column);
    this.continuous.push(1);
    this.pairRows.add(0);
    this.#densities(children(stats, 'TargetValueStat'));
  }

  #densities(stats: readonly XmlElement[]): void {
    const context = this.#context;
    const all = this.#labels.map(() => ({ kind: NONE, mean: 0, variance: 1 }));
    for (const stat of stats) {
      const at = labelAt(context, stat, this.#labels);
      const density = stat.children.find((each) => each.name.endsWith('Distribution'));
      if (density === undefined || at < 0) {
        if (at >= 0) context.problems.add(context.place(stat), 'has no distribution');
        continue;
      }
      const mean = real(context, density, 'mean');
      if (density.name === 'GaussianDistribution') {
        const variance = real(context, density, 'variance');
        all[at] = {
          kind: variance > 0 ? GAUSSIAN : NONE,
          mean,
          variance: variance > 0 ? variance : 1,
        };
      } else if (density.name === 'PoissonDistribution') {
        all[at] = { kind: POISSON, mean, variance: 1 };
      } else {
        context.problems.add(context.place(density), `<${density.name}> is not supported here`);
      }
    }
    for (const { kind, mean, variance } of all) {
      this.kinds.push(kind);
      this.means.push(mean);
      this.variances.push(variance);
    }
  }

  #discrete(input: XmlElement, name: string): void {
    const context = this.#context;
    const derived = child(input, 'DerivedField');
    let dataType = context.hasField(name) ? context.fieldInfo(name).dataType : 'string';
    let column: Column;
    if (derived === undefined) {
      column = context.field(name, input);
    } else {
      dataType = normalDataType(derived.attributes['dataType'] ?? 'string');
      const expression = derivedExpression(context, derived);
      column =
        expression === undefined
          ? context.field(name, input)
          : context.input(`${name} binned`, context.expression(expression), dataType, derived);
    }
    const pairs = children(input, 'PairCounts');
    if (pairs.length === 0) context.problems.add(context.place(input), 'has no PairCounts');
    for (const pair of pairs) {
      this.pairValues.push(valueOf(context, pair, needed(context, pair, 'value'), dataType));
      this.pairCounts.push(...countsOf(context, pair, this.#labels));
    }
    this.pairRows.add(pairs.length);
    this.columns.push(column);
    this.continuous.push(0);
    this.#densities([]);
  }
}

/** R's pmml package writes inputs of numbers in an Extension before version 4.2. */
function bayesInputs(list: XmlElement): XmlElement[] {
  const inside = children(list, 'Extension').flatMap((each) => children(each, 'BayesInput'));
  return [...children(list, 'BayesInput'), ...inside];
}

export const lowerNaiveBayes: LowerModel = (model, context): ModelResult => {
  const output = neededChild(context, model, 'BayesOutput');
  const list = neededChild(context, model, 'BayesInputs');
  const counts =
    output === undefined ? undefined : neededChild(context, output, 'TargetValueCounts');
  if (counts === undefined || list === undefined || output === undefined) return {};
  const entries = children(counts, 'TargetValueCount');
  const labels = entries.map((each) => needed(context, each, 'value'));
  if (labels.length === 0 || new Set(labels).size !== labels.length) {
    context.problems.add(context.place(counts), 'target values are missing or occur twice');
    return {};
  }
  const predictors = new Predictors(context, labels);
  for (const input of bayesInputs(list)) predictors.add(input);
  const column = context.plan.column('probability', 'vector');
  const attributes = {
    threshold: { real: real(context, model, 'threshold') },
    prior_counts: Float64Array.from(entries, (each) => real(context, each, 'count')),
    continuous: Int32Array.from(predictors.continuous),
    distributions: Int32Array.from(predictors.kinds),
    means: Float64Array.from(predictors.means),
    variances: Float64Array.from(predictors.variances),
    pair_rows: predictors.pairRows.starts,
    pair_values: { values: predictors.pairValues },
    pair_counts: Float64Array.from(predictors.pairCounts),
  };
  const place = context.place(model);
  context.plan.stage('pmml.naive_bayes', predictors.columns, [column], attributes, place);
  const probabilities = { column, labels };
  return { predicted: context.classify(probabilities, model), probabilities };
};
