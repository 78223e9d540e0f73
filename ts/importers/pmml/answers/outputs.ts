// PMML's Output: the columns of a model's response. Importer's worker thread. Source: tabular.md
// 2.4, 3.3
import { type Column, call, columnRef, constant } from '../../plan/builder.js';
import type { Type, Value } from '../../plan/generated/plan.js';
import type { LabelledVector, ModelResult, SegmentOutput } from '../context.js';
import { optypeOf, placeOf } from '../document.js';
import { castTo } from '../expressions/expression.js';
import type { Context } from '../lower.js';
import { targetOf } from './targets.js';
import { missingValue, normalDataType, planType } from '../types.js';
import { type XmlElement, child, children } from '../xml/reader.js';

interface Made {
  readonly column: Column;
  readonly dataType: string; // '' = a list, unchanged
}

const OF_TYPE: Partial<Record<Type, string>> = {
  string: 'string',
  double: 'double',
  float: 'float',
  bool: 'boolean',
  date: 'date',
  time: 'time',
  timestamp: 'dateTime',
  int32: 'integer',
  int64: 'integer',
};

/** The expression of an OutputField; its Value children only list possible values. */
const expressionOf = ({ children }: XmlElement): XmlElement | undefined =>
  children.find((each) => !/^(Extension|Decisions|Value)$/.test(each.name));

const RULE_FEATURES = new Set([
  'ruleValue',
  'antecedent',
  'consequent',
  'rule',
  'ruleId',
  'support',
  'confidence',
  'lift',
  'leverage',
  'affinity',
  'entityId',
]);

class OutputLowering {
  readonly #picks = new Map<Column, { index: number; column: Column }[]>();

  constructor(
    readonly model: XmlElement,
    readonly context: Context,
    readonly own: ModelResult,
  ) {}

  problem(field: XmlElement, reason: string): undefined {
    this.context.problems.add(placeOf(field), reason);
    return undefined;
  }

  #known(column: Column): Made {
    return { column, dataType: OF_TYPE[this.context.plan.typeOf(column)] ?? '' };
  }

  /** The column of an OutputField before it is cast. undefined: a problem, which is noted. */
  make(field: XmlElement): Made | undefined {
    const { feature: said, segmentId } = field.attributes;
    const feature = said ?? (expressionOf(field) ? 'transformedValue' : 'predictedValue');
    if (segmentId === undefined) return this.#feature(field, feature, this.own);
    const segment = this.context.segments.get(segmentId);
    if (segment === undefined) return this.problem(field, `segment '${segmentId}' does not exist`);
    if (feature === 'transformedValue' || feature === 'decision') {
      const name = field.attributes['value'] ?? '';
      const output = segment.outputs.find((each) => each.name === name);
      if (output !== undefined) return this.#known(output.column);
      return this.problem(field, `segment '${segmentId}' has no output '${name}'`);
    }
    return this.#feature(field, feature, segment.result);
  }

  // The result for the target that the field names.
  #ofTarget(field: XmlElement, result: ModelResult): ModelResult | undefined {
    const { targetField } = field.attributes;
    if (targetField === undefined || result !== this.own) return result;
    const found = result.byTarget?.get(targetField);
    if (found !== undefined) return found;
    const [only, second] = this.context.targets;
    const isOnly = only?.name === targetField && second === undefined;
    if (isOnly && result.byTarget === undefined) return result;
    return this.problem(field, `targetField="${targetField}" is not a target of the model`);
  }

  #feature(field: XmlElement, feature: string, whole: ModelResult): Made | undefined {
    const result = this.#ofTarget(field, whole);
    if (result === undefined) return undefined;
    if (result.rules !== undefined && RULE_FEATURES.has(feature)) {
      return this.#known(result.rules.column(field));
    }
    switch (feature) {
      case 'predictedValue':
        return this.#wanted(field, feature, result.predicted);
      case 'predictedDisplayValue':
        return this.#display(field, result);
      case 'transformedValue':
      case 'decision':
        return this.#transformed(field);
      case 'probability':
        return this.#ofLabel(field, feature, result, result.probabilities);
      case 'confidence':
        return this.#ofLabel(field, feature, result, result.confidences ?? result.probabilities);
      case 'affinity':
      case 'clusterAffinity':
      case 'entityAffinity':
        return this.#affinity(field, feature, result);
      case 'clusterId':
      case 'entityId':
        return this.#entity(field, feature, result);
      case 'reasonCode':
        return this.#reason(field, result);
      case 'residual':
        return this.#residual(field, result);
      case 'standardError':
        return this.#wanted(field, feature, result.standardError);
      case 'x-report':
        return this.#report(field);
      case 'warning':
        return this.#wanted(field, feature, result.warning);
      default:
        return this.problem(field, `feature="${feature}" is not supported`);
    }
  }

  #wanted(field: XmlElement, feature: string, column: Column | undefined): Made | undefined {
    if (column !== undefined) return this.#known(column);
    return this.problem(field, `<${this.model.name}> returns no ${feature}`);
  }

  #display(field: XmlElement, result: ModelResult): Made | undefined {
    if (result.display !== undefined) return this.#known(result.display);
    const { predicted } = result;
    const made = this.#wanted(field, 'predictedDisplayValue', predicted);
    if (made === undefined || predicted === undefined) return undefined;
    const { context } = this;
    const name = field.attributes['targetField'] ?? context.target?.name ?? '';
    const shown = new Map(context.lowering.document.dataFields.get(name)?.displayValues ?? []);
    const target = targetOf(this.model, name);
    for (const { attributes } of target === undefined ? [] : children(target, 'TargetValue')) {
      const { value, displayValue } = attributes;
      if (value !== undefined && displayValue !== undefined) shown.set(value, displayValue);
    }
    if (shown.size === 0) return made;
    const keys = [...shown.keys()].map((each) => context.value(each, made.dataType, field));
    const results = [...shown.values()].map((each): Value => ({ type: 'string', text: each }));
    const column = context.plan.column('display', 'string');
    const attributes = { keys: { values: keys }, results: { values: results } };
    context.plan.stage('pmml.map_values', [predicted], [column], attributes, placeOf(field));
    const text = castTo({ expression: columnRef(predicted), dataType: made.dataType }, 'string');
    const either = call('pmml.default', columnRef(column), text);
    return this.#known(context.plan.derive('display', 'string', either, placeOf(field)));
  }

  #transformed(field: XmlElement): Made | undefined {
    const inner = expressionOf(field);
    if (inner === undefined) return this.problem(field, 'has no expression');
    const said = field.attributes['dataType'];
    const wanted = said === undefined ? undefined : normalDataType(said);
    const { expressions } = this.context.lowering;
    const typed = expressions.typed(inner, this.context.names, wanted);
    if ('column' in typed.expression) {
      return { column: typed.expression.column, dataType: typed.dataType };
    }
    const name = field.attributes['name'] ?? '';
    const dataType = wanted ?? typed.dataType;
    const type = planType(dataType) ?? 'double';
    const { plan } = this.context;
    return { column: plan.derive(name, type, castTo(typed, dataType), placeOf(field)), dataType };
  }

  #ofLabel(
    field: XmlElement,
    feature: string,
    result: ModelResult,
    scores: LabelledVector | undefined,
  ): Made | undefined {
    if (scores === undefined) return this.#wanted(field, feature, undefined);
    const label = field.attributes['value'];
    if (label !== undefined) return this.#known(this.#pick(scores, label, field));
    const { predicted } = result;
    if (predicted === undefined) return this.#wanted(field, feature, undefined);
    const { plan } = this.context;
    const column = plan.column(feature, 'double');
    const type = plan.typeOf(predicted);
    const values = scores.labels.map(
      (each): Value =>
        type === 'string'
          ? { type, text: each }
          : this.context.value(each, OF_TYPE[type] ?? 'string', field),
    );
    const attributes = { labels: { values } };
    plan.stage('pmml.pick', [scores.column, predicted], [column], attributes, placeOf(field));
    return this.#known(column);
  }

  // Plans run stage by stage, so one stage picks the numbers of all OutputFields.
  #pick(scores: LabelledVector, label: string, field: XmlElement): Column {
    const { plan } = this.context;
    let picks = this.#picks.get(scores.column);
    if (picks === undefined) {
      const labels = scores.labels.filter((each) => this.#asked().has(each));
      picks = labels.map((each) => ({
        index: scores.labels.indexOf(each),
        column: plan.column(`score of ${each}`, 'double'),
      }));
      this.#picks.set(scores.column, picks);
      if (picks.length > 0) {
        const attributes = { index: Int32Array.from(picks, (each) => each.index) };
        const columns = picks.map((each) => each.column);
        plan.stage('pmml.pick', [scores.column], columns, attributes, placeOf(this.model));
      }
    }
    const index = scores.labels.indexOf(label);
    const known = picks.find((each) => each.index === index);
    if (known !== undefined) return known.column;
    const column = plan.column(`score of ${label}`, 'double');
    const attributes = { index: Int32Array.of(index) };
    plan.stage('pmml.pick', [scores.column], [column], attributes, placeOf(field));
    return column;
  }

  #asked(): ReadonlySet<string> {
    const output = child(this.model, 'Output');
    const fields = output === undefined ? [] : children(output, 'OutputField');
    return new Set(fields.flatMap((each) => each.attributes['value'] ?? []));
  }

  // JPMML-Evaluator returns null: without its reporting add-on no value has a report.
  #report(field: XmlElement): Made | undefined {
    const of = field.attributes['x-reportField'];
    if (of === undefined) return this.problem(field, 'has no x-reportField');
    const output = child(this.model, 'Output');
    const fields = output === undefined ? [] : children(output, 'OutputField');
    if (!fields.some((each) => each.attributes['name'] === of)) {
      return this.problem(field, `x-reportField="${of}" is not the name of an OutputField`);
    }
    const none = constant(missingValue('string'));
    const { plan } = this.context;
    return { column: plan.derive('report', 'string', none, placeOf(field)), dataType: 'string' };
  }

  #rank(field: XmlElement): number {
    const rank = Number(field.attributes['rank'] ?? 1);
    if (Number.isInteger(rank) && rank >= 1) return rank;
    this.problem(field, `rank="${field.attributes['rank']}": expected 1 or more`);
    return 1;
  }

  #element(field: XmlElement, list: Column, type: Type, rank: number): Made {
    const { plan } = this.context;
    const column = plan.column(field.attributes['name'] ?? '', type);
    plan.stage('pmml.element', [list], [column], { rank }, placeOf(field));
    return this.#known(column);
  }

  #ranked(field: XmlElement, result: ModelResult, type: Type, rank: number): Made | undefined {
    const { affinities, affinityOrder = 'largest' } = result;
    if (affinities === undefined) return this.#wanted(field, 'affinity', undefined);
    const { plan } = this.context;
    const column = plan.column(field.attributes['name'] ?? '', type);
    const largest = affinityOrder === 'largest';
    const attributes = { labels: [...affinities.labels], rank, largest };
    plan.stage('pmml.ranked', [affinities.column], [column], attributes, placeOf(field));
    return this.#known(column);
  }

  #affinity(field: XmlElement, feature: string, result: ModelResult): Made | undefined {
    const label = field.attributes['value'];
    if (label !== undefined && result.affinities !== undefined) {
      return this.#known(this.#pick(result.affinities, label, field));
    }
    const rank = this.#rank(field);
    if (result.entityAffinities !== undefined) {
      return this.#element(field, result.entityAffinities, 'double', rank);
    }
    if (result.affinities !== undefined) return this.#ranked(field, result, 'double', rank);
    return this.#wanted(field, feature, undefined);
  }

  #entity(field: XmlElement, feature: string, result: ModelResult): Made | undefined {
    const rank = this.#rank(field);
    if (result.entityIds !== undefined) {
      return this.#element(field, result.entityIds, 'string', rank);
    }
    if (rank > 1) return this.#ranked(field, result, 'string', rank);
    return this.#wanted(field, feature, result.entityId);
  }

  #reason(field: XmlElement, result: ModelResult): Made | undefined {
    if (result.reasonCodes === undefined) return this.#wanted(field, 'reasonCode', undefined);
    return this.#element(field, result.reasonCodes, 'string', this.#rank(field));
  }

  // The target minus the prediction; for a class, 1 if it is the target, else 0, minus its
  // probability.
  #residual(field: XmlElement, result: ModelResult): Made | undefined {
    const { context } = this;
    const { predicted } = result;
    const data = context.lowering.document.dataFields.get(context.targets[0]?.name ?? '');
    if (predicted === undefined || data === undefined) {
      return this.problem(field, 'a residual requires a target');
    }
    const actual = columnRef(context.lowering.fields.input(data));
    const at = columnRef(predicted);
    if (data.optype === 'continuous') {
      const difference = call('pmml.-', call('pmml.cast', actual, constant('double')), at);
      return this.#known(context.derive('residual', difference, 'double', field));
    }
    const probability = this.#ofLabel(field, 'probability', result, result.probabilities);
    if (probability === undefined) return undefined;
    const hit = call('pmml.cast', call('pmml.equal', at, actual), constant('double'));
    const difference = call('pmml.-', hit, columnRef(probability.column));
    return this.#known(context.derive('residual', difference, 'double', field));
  }
}

/** Fills the columns of a model's Output; later ones may refer to them by name. */
export function lowerOutput(
  model: XmlElement,
  context: Context,
  result: ModelResult,
): SegmentOutput[] {
  const output = child(model, 'Output');
  if (output === undefined) return [];
  const lowering = new OutputLowering(model, context, result);
  const made: SegmentOutput[] = [];
  for (const field of children(output, 'OutputField')) {
    const { name, dataType: said, optype, isFinalResult } = field.attributes;
    if (name === undefined) {
      context.problems.add(placeOf(field), 'has no name');
      continue;
    }
    if (made.some((each) => each.name === name)) {
      context.problems.add(placeOf(field), `the output '${name}' is declared twice`);
      continue;
    }
    const value = lowering.make(field);
    if (value === undefined) continue;
    const dataType = said === undefined ? value.dataType : normalDataType(said);
    if (planType(dataType) === undefined && value.dataType !== '') {
      context.problems.add(placeOf(field), `data type ${dataType} is not supported`);
      continue;
    }
    const isList = value.dataType === '';
    const column =
      isList || dataType === value.dataType
        ? value.column
        : context.derive(name, columnRef(value.column), dataType, field);
    made.push({ name, column, final: isFinalResult !== 'false' });
    const info = { dataType, optype: optypeOf(optype, dataType), values: [] };
    context.names.produced.set(name, { column, info });
  }
  return made;
}
