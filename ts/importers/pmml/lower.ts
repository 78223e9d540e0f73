// Lowers model elements: gives each its names, runs its function, applies Targets and Output.
// Importer's worker thread. Source: tabular.md 3.2, 3.3
import {
  type Block,
  type Column,
  type Expression,
  type PlanBuilder,
  columnRef,
} from '../plan/builder.js';
import type { Value } from '../plan/generated/plan.js';
import type { Problems } from '../plan/problems.js';
import type {
  FieldInfo,
  LabelledVector,
  ModelContext,
  ModelResult,
  PmmlExplanation,
  SegmentOutput,
  TargetInfo,
} from './context.js';
import { lowerFunction } from './dispatch.js';
import { type PmmlDocument, byName, placeOf } from './document.js';
import { Expressions, castTo } from './expressions/expression.js';
import { lowerOutput } from './answers/outputs.js';
import { predicateExpression } from './predicates.js';
import { UNSUPPORTED_MODELS } from './model-names.js';
import { Fields, Names, derivedInfo } from './scope.js';
import { applyTargets } from './answers/targets.js';
import { missingValue, parseValue, planType } from './types.js';
import { type XmlElement, child, children } from './xml/reader.js';

/** A model and what its Output makes of it. */
export interface Lowered {
  readonly result: ModelResult;
  readonly outputs: readonly SegmentOutput[];
  readonly context: Context;
  readonly element: XmlElement;
}

const TARGET_USES = new Set(['target', 'predicted']);

export class Lowering {
  readonly fields: Fields;
  readonly expressions: Expressions;
  /** The explanations of segments' outputs, which later segments read. */
  readonly explained = new Map<Column, () => PmmlExplanation | undefined>();
  #depth = 0;

  constructor(
    readonly document: PmmlDocument,
    readonly plan: PlanBuilder,
    readonly problems: Problems,
  ) {
    this.fields = new Fields(document, plan, problems, (element, names) =>
      this.#derive(element, names),
    );
    this.expressions = new Expressions(this.fields);
  }

  #derive(element: XmlElement, names: Names): Column {
    const { dataType } = derivedInfo(element);
    const inner = element.children.find((each) => !/^(Extension|Value|Interval)$/.test(each.name));
    if (inner === undefined) {
      this.problems.add(placeOf(element), 'has no expression');
      return this.fields.lost();
    }
    const typed = this.expressions.typed(inner, names, dataType);
    if ('column' in typed.expression && typed.dataType === dataType) return typed.expression.column;
    return this.expressions.fill(element.attributes['name'] ?? '', typed, dataType, element);
  }

  /** Lowers a model element, inside the model of `parent` if there is one. */
  lower(element: XmlElement, parent?: Context): Lowered {
    const context = this.open(element, parent);
    const lower = lowerFunction(element.name);
    let result: ModelResult = {};
    if (lower === undefined) {
      const why = UNSUPPORTED_MODELS[element.name] ?? 'is not a known model element';
      this.problems.add(placeOf(element), why);
    } else if (element.attributes['isScorable'] === 'false') {
      this.problems.add(placeOf(element), 'is not scorable (isScorable="false")');
    } else if (this.#depth >= 32) {
      this.problems.add(placeOf(element), 'models nest too deep');
    } else {
      this.#depth += 1;
      result = lower(element, context);
      this.#depth -= 1;
      this.#checkTargets(context, result);
    }
    const finished = applyTargets(element, context, result);
    const outputs = lowerOutput(element, context, finished);
    return { result: finished, outputs, context, element };
  }

  // A model that returns one value cannot have two targets. Source: JPMML.
  #checkTargets(context: Context, { predicted, byTarget }: ModelResult): void {
    const { element, targets } = context;
    if (targets.length < 2 || predicted === undefined || byTarget !== undefined) return;
    const names = targets.map(({ name }) => `'${name}'`).join(', ');
    const reason = `its MiningSchema has ${targets.length} targets (${names}), expected 1`;
    this.problems.add(placeOf(element), reason);
  }

  /** A model's names and targets, without lowering it. */
  open(element: XmlElement, parent: Context | undefined): Context {
    const local = [
      child(element, 'LocalTransformations'),
      ...children(element, 'Segmentation').map((each) => child(each, 'LocalTransformations')),
    ].flatMap((each) => (each === undefined ? [] : children(each, 'DerivedField')));
    const derived = byName(local, this.problems);
    if (parent === undefined) {
      for (const [name, field] of this.document.derivedFields) {
        if (!derived.has(name)) derived.set(name, field);
      }
    }
    const names = new Names(parent?.names, derived);
    const targets = this.#schema(element, names, parent === undefined);
    return new Context(this, element, names, targets, parent);
  }

  #schema(element: XmlElement, names: Names, isTop: boolean): TargetInfo[] {
    const schema = child(element, 'MiningSchema');
    if (schema === undefined) {
      this.problems.add(placeOf(element), 'has no MiningSchema');
      return [];
    }
    const targets: TargetInfo[] = [];
    for (const [name, field] of byName(children(schema, 'MiningField'), this.problems)) {
      const use = field.attributes['usageType'] ?? 'active';
      const data = this.document.dataFields.get(name);
      if (TARGET_USES.has(use)) {
        const { dataType, optype, values } = data ?? this.fields.info(names, name);
        targets.push({ name, dataType, optype, values });
        continue;
      }
      if (isTop && data === undefined) {
        this.problems.add(placeOf(field), 'is not in the DataDictionary');
        continue;
      }
      names.mining.set(name, field);
      if (isTop && data !== undefined && use === 'active') this.fields.input(data);
    }
    return targets;
  }
}

/** The context of a model element's function: see ModelContext. */
export class Context implements ModelContext {
  readonly plan: PlanBuilder;
  readonly problems: Problems;
  readonly functionName: string;
  readonly target?: TargetInfo;
  /** Results of a MiningModel's segments, by id, for the segmentId of OutputFields. */
  readonly segments = new Map<string, Lowered>();
  /** Outputs of models inside, which are outputs of the whole too. */
  readonly inner: Lowered[] = [];

  constructor(
    readonly lowering: Lowering,
    readonly element: XmlElement,
    readonly names: Names,
    readonly targets: readonly TargetInfo[],
    readonly parent: Context | undefined,
  ) {
    this.plan = lowering.plan;
    this.problems = lowering.problems;
    this.functionName = element.attributes['functionName'] ?? '';
    const inherits = parent?.functionName === this.functionName;
    const target = targets[0] ?? (inherits ? parent?.target : undefined);
    if (target !== undefined) this.target = target;
  }

  place(element: XmlElement): string {
    return placeOf(element);
  }

  field(name: string, at: XmlElement): Column {
    return this.lowering.fields.column(this.names, name, at);
  }

  list(name: string, at: XmlElement): Column {
    return this.lowering.fields.list(this.names, name, at);
  }

  fieldInfo(name: string): FieldInfo {
    return this.lowering.fields.info(this.names, name);
  }

  hasField(name: string): boolean {
    return this.lowering.fields.has(this.names, name);
  }

  expression(element: XmlElement): Expression {
    return this.lowering.expressions.typed(element, this.names).expression;
  }

  predicate(element: XmlElement): Expression {
    return predicateExpression(element, this.lowering.fields, this.names);
  }

  /** A value of a data type; a missing one, and a problem, where the text is none. */
  value(text: string, dataType: string, at: XmlElement): Value {
    try {
      return parseValue(text, dataType);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.problems.add(placeOf(at), error.message);
      return missingValue(dataType);
    }
  }

  constant(text: string, dataType: string): Expression {
    return { value: this.value(text, dataType, this.element) };
  }

  derive(name: string, expression: Expression, dataType: string, at: XmlElement): Column {
    const type = planType(dataType) ?? 'double';
    const cast = castTo({ expression, dataType: '' }, dataType);
    return this.plan.derive(name, type, cast, placeOf(at));
  }

  input(name: string, expression: Expression, dataType: string, at: XmlElement): Column {
    const type = planType(dataType) ?? 'double';
    const cast = castTo({ expression, dataType: '' }, dataType);
    return this.plan.deriveLate(name, type, cast, placeOf(at));
  }

  /** A column as another data type; the same column where it has that type. */
  as(column: Column, dataType: string, name: string, at: XmlElement): Column {
    if (this.plan.typeOf(column) === planType(dataType)) return column;
    return this.derive(name, columnRef(column), dataType, at);
  }

  vector(columns: readonly Column[], at: XmlElement): Column {
    const made = this.plan.column('vector', 'vector');
    this.plan.stage('pmml.vector', columns, [made], {}, placeOf(at));
    return made;
  }

  /** Labels as values of the target's data type. */
  labelValues(labels: readonly string[], at: XmlElement): Value[] {
    const dataType = this.target?.dataType ?? 'string';
    return labels.map((label) => this.value(label, dataType, at));
  }

  classify(scores: LabelledVector, at: XmlElement): Column {
    const { dataType = 'string', name = 'predicted' } = this.target ?? {};
    const made = this.plan.column(name, planType(dataType) ?? 'string');
    const attributes = { labels: { values: this.labelValues(scores.labels, at) } };
    this.plan.stage('pmml.classify', [scores.column], [made], attributes, placeOf(at));
    return made;
  }

  labels(found: readonly string[]): string[] {
    return [...new Set([...(this.target?.values ?? []), ...found])];
  }

  /** The same labels, those of `found` first: the order that decides between equals. */
  labelsAsFound(found: readonly string[]): string[] {
    return [...new Set([...found, ...(this.target?.values ?? [])])];
  }

  isOutput(column: Column): boolean {
    return this.lowering.explained.has(column);
  }

  explanationOf(column: Column): PmmlExplanation | undefined {
    return this.lowering.explained.get(column)?.();
  }

  lowerModel(element: XmlElement): ModelResult {
    return this.lowerInner(element).result;
  }

  /** Same as lowerModel, including the columns of its Output element. */
  lowerInner(element: XmlElement): Lowered {
    const lowered = this.lowering.lower(element, this);
    this.inner.push(lowered);
    return lowered;
  }

  block(fill: () => void): Block {
    return this.lowering.fields.block(fill);
  }

  aside(fill: () => void): Block {
    return this.lowering.fields.aside(fill);
  }

  dataField(name: string): { readonly column: Column; readonly dataType: string } | undefined {
    const { document, fields } = this.lowering;
    const field = document.dataFields.get(name);
    if (field === undefined) return undefined;
    return { column: fields.input(field), dataType: field.dataType };
  }
}
