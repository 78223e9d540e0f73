// MiningModel: models as segments, and what is made of their results. Importer's worker thread.
// Source: tabular.md 3.2
import { type Column, constant } from '../../plan/builder.js';
import type { LowerModel, ModelResult } from '../context.js';
import { isModel } from '../model-names.js';
import { placeOf } from '../document.js';
import type { Context, Lowered } from '../lower.js';
import { predicateOf } from '../predicates.js';
import { type XmlElement, child, children } from '../xml/reader.js';
import { chainResults, chooseResult } from './choose.js';
import { type Segment, collectResults, combineResults } from './combine.js';
import { forestResult } from './forest.js';

const METHODS = new Set([
  'majorityVote',
  'weightedMajorityVote',
  'average',
  'weightedAverage',
  'median',
  'weightedMedian',
  'max',
  'sum',
  'weightedSum',
  'selectFirst',
  'selectAll',
  'modelChain',
  'x-multiModelChain',
]);

const CHAINS = new Set(['modelChain', 'x-multiModelChain']);

interface SegmentParts {
  readonly element: XmlElement;
  readonly id: string;
  readonly predicate: XmlElement;
  readonly model: XmlElement;
}

function partsOf(element: XmlElement, i: number, context: Context): SegmentParts | undefined {
  const predicate = predicateOf(element);
  const model = element.children.find((each) => isModel(each.name));
  if (predicate === undefined) context.problems.add(placeOf(element), 'has no predicate');
  if (model === undefined) {
    const names = element.children.map((each) => `<${each.name}>`).join(', ');
    context.problems.add(placeOf(element), `has no supported model, got ${names}`);
  }
  if (predicate === undefined || model === undefined) return undefined;
  return { element, id: element.attributes['id'] ?? String(i + 1), predicate, model };
}

function weightOf(element: XmlElement, context: Context): { weight: number; column?: Column } {
  const variable = child(element, 'VariableWeight');
  if (variable !== undefined) {
    return { weight: 1, column: context.field(variable.attributes['field'] ?? '', variable) };
  }
  const text = element.attributes['weight'];
  const weight = Number(text ?? 1);
  if (text !== undefined && !(weight >= 0)) {
    context.problems.add(placeOf(element), `weight="${text}" is not a number of 0 or more`);
  }
  return { weight };
}

const VALUE_CHILDREN = new Set(['Extension']);

/** Whether an OutputField is the predicted number as it is. */
function isValue({ attributes, children: inner }: XmlElement): boolean {
  const { feature = 'predictedValue', segmentId, dataType = 'double' } = attributes;
  return (
    feature === 'predictedValue' &&
    segmentId === undefined &&
    (dataType === 'double' || dataType === 'float') &&
    inner.every(({ name }) => VALUE_CHILDREN.has(name))
  );
}

class MiningLowering {
  readonly #segments: Segment[] = [];
  #taken: Column | undefined;

  constructor(
    readonly model: XmlElement,
    readonly segmentation: XmlElement,
    readonly method: string,
    readonly context: Context,
  ) {}

  get segments(): readonly Segment[] {
    return this.#segments;
  }

  add(parts: SegmentParts): void {
    const { element, id, model } = parts;
    const always = parts.predicate.name === 'True';
    const first = this.method === 'selectFirst';
    // No segment after one that always runs is ever chosen.
    if (first && this.#segments.some((each) => each.always)) return;
    const lone = always && !(first && this.#segments.length > 0);
    const lowered = lone ? { lowered: this.#lower(model) } : this.#conditional(parts);
    const segment = { element, id, always, ...lowered, ...weightOf(element, this.context) };
    this.#segments.push(segment);
    this.context.segments.set(id, segment.lowered);
    if (!CHAINS.has(this.method)) return;
    for (const output of segment.lowered.outputs) {
      const produced = segment.lowered.context.names.produced.get(output.name);
      if (produced !== undefined) this.context.names.produced.set(output.name, produced);
    }
    this.#explain(segment);
  }

  // The outputs, of which the explanations of those that are the segment's value are known.
  #explain({ lowered, always }: Segment): void {
    const fields = children(child(lowered.element, 'Output') ?? lowered.element, 'OutputField');
    for (const { name, column } of lowered.outputs) {
      const field = fields.find(({ attributes }) => attributes['name'] === name);
      const isKnown = always && field !== undefined && isValue(field);
      const explanation = isKnown ? () => lowered.result.explanation?.() : () => undefined;
      this.context.lowering.explained.set(column, explanation);
    }
  }

  #lower(model: XmlElement): Lowered {
    const lowered = this.context.lowerInner(model);
    const { functionName } = this.context;
    const isMixed = this.method === 'x-multiModelChain' && functionName === 'mixed';
    const fits = lowered.context.functionName === functionName || isMixed;
    if (this.method !== 'modelChain' && !fits) {
      const reason = `its functionName differs from that of the MiningModel (${functionName})`;
      this.context.problems.add(placeOf(model), reason);
    }
    return lowered;
  }

  // A block that runs where the predicate is true (and no segment before it did, for selectFirst).
  #conditional({ element, predicate, model }: SegmentParts): { lowered: Lowered; mask: Column } {
    const { context } = this;
    const { plan } = context;
    const expression = context.predicate(predicate);
    let lowered: Lowered | undefined;
    const block = context.block(() => {
      lowered = this.#lower(model);
      touch(lowered.result);
    });
    const mask = plan.column('segment', 'bool');
    const attributes = {
      predicate: { expressions: [expression] },
      block: { blocks: [block] },
    };
    if (this.method !== 'selectFirst') {
      plan.stage('pmml.segment', [], [mask], attributes, placeOf(element));
    } else {
      const before = this.#taken ?? plan.derive('taken', 'bool', constant(false), placeOf(element));
      this.#taken = plan.column('taken', 'bool');
      plan.stage('pmml.segment', [before], [mask, this.#taken], attributes, placeOf(element));
    }
    return { lowered: lowered as Lowered, mask };
  }
}

// Fills the columns of a segment's result inside its block, for its rows only.
function touch(result: ModelResult): void {
  result.predicted;
  result.probabilities;
  for (const each of result.byTarget?.values() ?? []) if (each !== result) touch(each);
}

/** A column that is true in every row. */
function everywhere(context: Context): Column {
  return context.lowering.fields.once('true', () =>
    context.plan.derive('true', 'bool', constant(true), 'MiningModel'),
  );
}

/** MiningModel. */
export const lowerMining: LowerModel = (model, outer) => {
  const context = outer as Context;
  const segmentation = child(model, 'Segmentation');
  if (segmentation === undefined) {
    context.problems.add(placeOf(model), 'has no Segmentation (embedded models are not supported)');
    return {};
  }
  const said = segmentation.attributes['multipleModelMethod'] ?? '';
  // JPMML's spelling before PMML 4.4.
  const method = /^x-weighted(Median|Sum)$/.test(said) ? said.slice(2) : said;
  if (!METHODS.has(method)) {
    const reason = `multipleModelMethod="${method}" is unknown`;
    context.problems.add(placeOf(segmentation), reason);
    return {};
  }
  const parts = children(segmentation, 'Segment')
    .map((each, i) => partsOf(each, i, context))
    .filter((each) => each !== undefined);
  if (parts.length === 0) {
    context.problems.add(placeOf(segmentation), 'has no segments');
    return {};
  }
  const forest = forestResult(parts, segmentation, method, context);
  if (forest !== undefined) return forest;
  const lowering = new MiningLowering(model, segmentation, method, context);
  for (const each of parts) lowering.add(each);
  const { segments } = lowering;
  const mask = (segment: Segment) => segment.mask ?? everywhere(context);
  if (method === 'selectFirst' || method === 'modelChain') {
    const last = segments.at(-1);
    const { functionName } = context;
    const fits = ({ lowered }: Segment) => lowered.context.functionName === functionName;
    // A last segment of another kind that always runs is chosen in every row.
    if (!segments.some(fits) || (last?.always === true && !fits(last))) {
      const reason = `its last segment: expected functionName="${functionName}"`;
      context.problems.add(placeOf(segmentation), reason);
      return {};
    }
    return chooseResult(segments, mask, method === 'modelChain', context, segmentation);
  }
  if (method === 'x-multiModelChain') return chainResults(segments, mask, context, segmentation);
  if (method === 'selectAll') return collectResults(segments, mask, context, segmentation);
  return combineResults(segments, method, context, segmentation);
};
