// Imports a PMML document: reads it, lowers its model, and declares its outputs. Importer's worker
// thread. Source: tabular.md 3
import { EXPLANATIONS } from '../../model/explanation-names.js';
import { PlanBuilder } from '../plan/builder.js';
import { addAnyExplanation } from '../plan/explain.js';
import type { Plan, Type } from '../plan/generated/plan.js';
import { Problems } from '../plan/problems.js';
import type { ModelResult } from './context.js';
import { placeOf, readDocument } from './document.js';
import { type Context, type Lowered, Lowering } from './lower.js';
import { captureTrees } from './tree/table.js';
import { fieldExamples } from './examples.js';
import { type FoundVerification, verificationOf } from './verification.js';
import { type Found, checkVendor, mayDecide } from './vendor.js';
import { type VendorMarkup, type XmlElement, readXml } from './xml/reader.js';

export interface Imported extends FoundVerification {
  readonly plan: Plan;
  /** Values of fields, as tokens of JSON. */
  readonly examples: Readonly<Record<string, string>>;
  /** Those of Shapley values. */
  readonly features?: readonly string[];
}

interface Answer {
  readonly name: string;
  readonly column: number;
  readonly extra?: boolean;
}

// Labels of a class's number: "probability(setosa)".
function picked(
  result: ModelResult,
  member: 'probabilities' | 'confidences' | 'affinities',
  word: string,
  context: Context,
): Answer[] {
  const scores = result[member];
  if (scores === undefined) return [];
  const { plan } = context;
  const labels = context.labels(scores.labels).filter((each) => scores.labels.includes(each));
  const columns = labels.map((label) => plan.column(`${word}(${label})`, 'double'));
  const index = Int32Array.from(labels, (each) => scores.labels.indexOf(each));
  plan.stage('pmml.pick', [scores.column], columns, { index }, placeOf(context.element));
  return columns.map((column, i) => ({ name: `${word}(${labels[i]})`, column }));
}

// The outputs of a model without an Output element.
function unasked({ result, context }: Lowered): Answer[] {
  const answers: Answer[] = [];
  const labelled = result.probabilitiesAreVotes !== true;
  if (context.functionName === 'classification' && labelled) {
    answers.push(...picked(result, 'probabilities', 'probability', context));
  }
  const add = (name: string, column: number | undefined) => {
    if (column !== undefined) answers.push({ name, column });
  };
  const confidences =
    result.confidencesUnsaid === true ? [] : picked(result, 'confidences', 'confidence', context);
  answers.push(...confidences.map((each) => ({ ...each, extra: true })));
  if (context.functionName === 'clustering') {
    add('display', result.display);
    if (result.affinities !== undefined) {
      const { affinities, affinityOrder = 'largest' } = result;
      const column = context.plan.column('affinity', 'double');
      const largest = affinityOrder === 'largest';
      const attributes = { labels: [...affinities.labels], rank: 1, largest };
      const place = placeOf(context.element);
      context.plan.stage('pmml.ranked', [affinities.column], [column], attributes, place);
      add('affinity', column);
    }
  }
  add('standardError', result.standardError);
  return answers;
}

function targets({ result, context }: Lowered): Answer[] {
  const { predicted, byTarget } = result;
  if (byTarget !== undefined && byTarget.size > 0) {
    return [...byTarget].flatMap(([name, { predicted: column }]) =>
      column === undefined ? [] : [{ name, column }],
    );
  }
  if (predicted === undefined) return [];
  const [target] = context.targets;
  return [{ name: target?.name ?? 'predicted', column: predicted }];
}

// Outputs of inner models, the innermost first: returned only on request.
function innerAnswers(lowered: Lowered): Answer[] {
  return lowered.context.inner.flatMap((each) => [
    ...innerAnswers(each),
    ...each.outputs.map(({ name, column }) => ({ name, column, extra: true })),
  ]);
}

function answersOf(top: Lowered): Answer[] {
  const own = [...(top.result.outputs ?? []), ...top.outputs].map(({ name, column, final }) => ({
    name,
    column,
    extra: !final,
  }));
  const named = new Set(own.map((each) => each.name));
  // Without a target the model's value has no name, unless the Output element names it.
  const isNamed = top.context.targets.length > 0 || top.result.byTarget !== undefined;
  const nameless = !isNamed && own.length > 0;
  const first = nameless ? [] : targets(top).filter((each) => !named.has(each.name));
  const rest = own.length === 0 ? unasked(top) : own;
  const all = [...first, ...rest, ...innerAnswers(top)];
  const seen = new Set<string>();
  return all.filter(({ name }) => !seen.has(name) && seen.add(name));
}

function addAnswers(top: Lowered): void {
  const { plan, problems } = top.context;
  const answers = answersOf(top);
  if (answers.length === 0) problems.add(placeOf(top.element), 'has no outputs');
  for (const { name, column, extra } of answers) {
    const of = column as Parameters<typeof plan.typeOf>[0];
    const type: Type = plan.typeOf(of);
    const element = type === 'list' ? { element: plan.elementOf(of) } : {};
    plan.output({ name, column: of, type, ...element, ...(extra === true ? { extra } : {}) });
  }
}

/** Adds the outputs that explain the model; returns the names of the features. */
function explain({ result, context }: Lowered): readonly string[] | undefined {
  const { plan, problems } = context;
  const isTaken = EXPLANATIONS.some((name) => plan.outputNames.includes(name));
  if (problems.all.length > 0 || isTaken) return undefined;
  const explanation = result.explanation?.();
  if (explanation === undefined) return undefined;
  addAnyExplanation(plan, explanation.of);
  return explanation.features;
}

/** The plan of a document that is read. Errors: ServalError that lists all problems. */
export function importDocument(root: XmlElement, vendors: readonly Found[] = []): Imported {
  const problems = new Problems();
  for (const each of vendors) checkVendor(each, root.attributes['version'] ?? '', problems);
  const document = readDocument(root, problems);
  if (document === undefined) {
    problems.throwIfAny('PMML document');
    throw new Error('a document without a model reported no problem');
  }
  const plan = new PlanBuilder('pmml', document.producer);
  plan.nanIsMissing = true;
  let features: readonly string[] | undefined;
  try {
    const top = new Lowering(document, plan, problems).lower(document.model);
    addAnswers(top);
    features = explain(top);
  } catch (error) {
    // Errors that the readers of numbers and arrays report.
    if (!(error instanceof RangeError)) throw error;
    problems.add(placeOf(document.model), error.message);
  }
  problems.throwIfAny('PMML document');
  const made = plan.finish();
  const examples = fieldExamples(document.dataFields);
  const verification = verificationOf(document.model, made);
  return { plan: made, examples, ...verification, ...(features && { features }) };
}

/**
 * Imports a PMML document of version 3.0 to 4.4.
 * Errors: ServalError MODEL_INVALID: not well-formed (with line and column), or what of it is not
 * supported, all at once, with its lines.
 */
export async function importPmml(path: string): Promise<Imported> {
  const vendors: Found[] = [];
  const vendor = (found: VendorMarkup, around: readonly string[]) => {
    if (mayDecide(around)) vendors.push({ ...found, parent: around.at(-1) });
  };
  return importDocument(await readXml(path, { capture: captureTrees, vendor }), vendors);
}
