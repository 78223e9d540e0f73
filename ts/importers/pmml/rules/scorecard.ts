// Scorecard: partial scores summed up, and why. Importer's worker thread.
// Source: tabular.md 3.2
import type { Expression } from '../../plan/builder.js';
import type { LowerModel } from '../context.js';
import { placeOf } from '../document.js';
import { castTo } from '../expressions/expression.js';
import type { Context } from '../lower.js';
import { predicateOf } from '../predicates.js';
import { type XmlElement, child, children } from '../xml/reader.js';

class Characteristics {
  readonly predicates: Expression[] = [];
  readonly complex: Expression[] = [];
  readonly partial: number[] = [];
  readonly complexOf: number[] = [];
  readonly reasons: string[] = [];
  readonly baselines: number[] = [];
  readonly offsets: number[] = [0];

  constructor(
    readonly model: XmlElement,
    readonly context: Context,
    readonly wantReasons: boolean,
  ) {}

  number(element: XmlElement, name: string, fallback?: number): number {
    const text = element.attributes[name];
    if (text === undefined && fallback !== undefined) return fallback;
    const value = Number(text ?? '');
    if (text === undefined || text.trim() === '' || Number.isNaN(value)) {
      this.context.problems.add(placeOf(element), `${name}="${text ?? ''}" is not a number`);
    }
    return value;
  }

  add(element: XmlElement): void {
    for (const attribute of children(element, 'Attribute')) this.#attribute(attribute, element);
    this.offsets.push(this.predicates.length);
    if (!this.wantReasons) return;
    const own = element.attributes['baselineScore'];
    const from = own === undefined ? this.model : element;
    this.baselines.push(this.number(from, 'baselineScore'));
  }

  #attribute(attribute: XmlElement, characteristic: XmlElement): void {
    const { context } = this;
    const predicate = predicateOf(attribute);
    if (predicate === undefined) {
      context.problems.add(placeOf(attribute), 'has no predicate');
      return;
    }
    this.predicates.push(context.predicate(predicate));
    const code = attribute.attributes['reasonCode'] ?? characteristic.attributes['reasonCode'];
    if (this.wantReasons && code === undefined) {
      context.problems.add(placeOf(attribute), 'has no reasonCode');
    }
    this.reasons.push(code ?? '');
    const complex = child(attribute, 'ComplexPartialScore');
    const inner = complex?.children.find((each) => each.name !== 'Extension');
    if (inner === undefined) {
      this.partial.push(this.number(attribute, 'partialScore'));
      this.complexOf.push(-1);
      return;
    }
    const typed = context.lowering.expressions.typed(inner, context.names, 'double');
    this.complex.push(castTo(typed, 'double'));
    this.partial.push(0);
    this.complexOf.push(this.complex.length - 1);
  }
}

/** Scorecard. */
export const lowerScorecard: LowerModel = (model, outer) => {
  const context = outer as Context;
  const list = child(model, 'Characteristics');
  const { useReasonCodes = 'true', reasonCodeAlgorithm = 'pointsBelow' } = model.attributes;
  if (!['pointsBelow', 'pointsAbove'].includes(reasonCodeAlgorithm)) {
    const reason = `reasonCodeAlgorithm="${reasonCodeAlgorithm}" is unknown`;
    context.problems.add(placeOf(model), reason);
  }
  const wantReasons = useReasonCodes !== 'false' && useReasonCodes !== '0';
  const read = new Characteristics(model, context, wantReasons);
  for (const each of list === undefined ? [] : children(list, 'Characteristic')) read.add(each);
  if (read.predicates.length === 0) {
    context.problems.add(placeOf(model), 'has no Characteristics');
    return {};
  }
  const { plan } = context;
  const predicted = plan.column('score', 'double');
  const reasonCodes = wantReasons ? plan.column('reasons', 'list', 'string') : undefined;
  const attributes = {
    offsets: Int32Array.from(read.offsets),
    predicates: { expressions: read.predicates },
    partial: Float64Array.from(read.partial),
    complex_of: Int32Array.from(read.complexOf),
    complex: read.complex.length > 0 ? { expressions: read.complex } : undefined,
    reasons: read.reasons,
    baselines: Float64Array.from(read.baselines),
    initial: { real: read.number(model, 'initialScore', 0) },
    points_above: reasonCodeAlgorithm === 'pointsAbove',
  };
  const outputs = reasonCodes === undefined ? [predicted] : [predicted, reasonCodes];
  plan.stage('pmml.scorecard', [], outputs, attributes, placeOf(model));
  return reasonCodes === undefined ? { predicted } : { predicted, reasonCodes };
};
