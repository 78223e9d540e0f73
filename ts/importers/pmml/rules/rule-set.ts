// RuleSetModel: flattened to simple rules, each with all predicates around it. Importer's worker
// thread. Source: tabular.md 3.2
import { isWord } from '../../plan/attributes.js';
import { RULES_METHOD } from '../../plan/generated/stages.js';
import { type Expression, call } from '../../plan/builder.js';
import type { LowerModel } from '../context.js';
import { placeOf } from '../document.js';
import type { Context } from '../lower.js';
import { predicateOf } from '../predicates.js';
import { planType } from '../types.js';
import { type XmlElement, child, children } from '../xml/reader.js';

interface Rule {
  readonly element: XmlElement;
  readonly predicate: Expression;
}

// The rules in an element, in document order.
function rulesIn(element: XmlElement, context: Context, around: readonly Expression[]): Rule[] {
  return element.children.flatMap((each) => {
    if (each.name !== 'SimpleRule' && each.name !== 'CompoundRule') return [];
    const predicate = predicateOf(each);
    if (predicate === undefined) {
      context.problems.add(placeOf(each), 'has no predicate');
      return [];
    }
    const all = [...around, context.predicate(predicate)];
    if (each.name === 'CompoundRule') return rulesIn(each, context, all);
    const one = all.length === 1 ? (all[0] as Expression) : call('pmml.p.all_true', ...all);
    return [{ element: each, predicate: one }];
  });
}

/** RuleSetModel. */
export const lowerRuleSet: LowerModel = (model, outer) => {
  const context = outer as Context;
  const set = child(model, 'RuleSet');
  if (set === undefined) {
    context.problems.add(placeOf(model), 'has no RuleSet');
    return {};
  }
  const number = (element: XmlElement, name: string, fallback: number) => {
    const text = element.attributes[name];
    const value = text === undefined ? fallback : Number(text);
    if (!Number.isNaN(value)) return value;
    context.problems.add(placeOf(element), `${name}="${text}" is not a number`);
    return fallback;
  };
  const said = children(set, 'RuleSelectionMethod')[0]?.attributes['criterion'] ?? 'firstHit';
  const method = isWord(RULES_METHOD, said) ? said : 'firstHit';
  if (method !== said) context.problems.add(placeOf(set), `criterion="${said}" is unknown`);
  const rules = rulesIn(set, context, []);
  const scores = rules.map(({ element }) => {
    if (element.attributes['score'] === undefined) {
      context.problems.add(placeOf(element), 'has no score');
    }
    return element.attributes['score'] ?? '';
  });
  const { defaultScore } = set.attributes;
  const labels = context.labels([...scores, ...(defaultScore === undefined ? [] : [defaultScore])]);
  const { plan } = context;
  const type = planType(context.target?.dataType ?? 'string') ?? 'string';
  const predicted = plan.column(context.target?.name ?? 'score', type);
  const confidences = plan.column('confidences', 'vector');
  const entityId = plan.column('rule', 'string');
  const attributes = {
    predicates: { expressions: rules.map((each) => each.predicate) },
    label_of: Int32Array.from(scores, (each) => labels.indexOf(each)),
    weights: Float64Array.from(rules, ({ element }) => number(element, 'weight', 1)),
    confidences: Float64Array.from(rules, ({ element }) => number(element, 'confidence', 1)),
    ids: rules.map(({ element }, i) => element.attributes['id'] ?? String(i + 1)),
    labels: { values: context.labelValues(labels, model) },
    method,
    default_label: defaultScore === undefined ? -1 : labels.indexOf(defaultScore),
    default_confidence:
      set.attributes['defaultConfidence'] === undefined
        ? undefined
        : { real: number(set, 'defaultConfidence', 0) },
  };
  const outputs = [predicted, confidences, entityId];
  plan.stage('pmml.rules', [], outputs, attributes, placeOf(model));
  return { predicted, confidences: { column: confidences, labels }, entityId };
};
