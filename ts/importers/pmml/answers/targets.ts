// PMML's Targets: transformations of a prediction before it is returned or read. Importer's worker
// thread. Source: tabular.md 3.3
import { type Column, type Expression, call, columnRef, constant } from '../../plan/builder.js';
import { toNumber } from '../arrays.js';
import type { ModelResult, PmmlExplanation, TargetInfo } from '../context.js';
import { castTo } from '../expressions/expression.js';
import { isFloat } from '../vendor.js';
import { rescaledExplanation } from './explanations.js';
import { changed } from './results.js';
import { placeOf } from '../document.js';
import type { Context } from '../lower.js';
import { planType } from '../types.js';
import { type XmlElement, child, children } from '../xml/reader.js';

/** The Target of a field; undefined: it has none. */
export function targetOf(model: XmlElement, name: string | undefined): XmlElement | undefined {
  const targets = child(model, 'Targets');
  if (targets === undefined) return undefined;
  const all = children(targets, 'Target');
  const found = all.find((each) => each.attributes['field'] === name);
  return found ?? all.find((each) => each.attributes['field'] === undefined);
}

class Attributes {
  constructor(
    readonly element: XmlElement,
    readonly context: Context,
  ) {}

  number(name: string): number | undefined {
    const text = this.element.attributes[name];
    if (text === undefined) return undefined;
    try {
      return toNumber(text, name);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.context.problems.add(placeOf(this.element), error.message);
      return undefined;
    }
  }
}

function regression(
  model: XmlElement,
  target: XmlElement,
  context: Context,
  predicted: Column,
): Column {
  const read = new Attributes(target, context);
  let value = columnRef(predicted);
  const values = children(target, 'TargetValue');
  const fallback = values.map((each) => new Attributes(each, context).number('defaultValue'))[0];
  if (fallback !== undefined) value = call('pmml.default', value, constant(fallback));
  const least = read.number('min');
  const most = read.number('max');
  const factor = read.number('rescaleFactor') ?? 1;
  const offset = read.number('rescaleConstant') ?? 0;
  const how = target.attributes['castInteger'] ?? '';
  if (!['', 'round', 'ceiling', 'floor'].includes(how)) {
    context.problems.add(placeOf(target), `castInteger="${how}" is unknown`);
  }
  const single = isFloat(model);
  const changes = least !== undefined || most !== undefined || factor !== 1 || offset !== 0;
  const bounds = [least ?? Number.NEGATIVE_INFINITY, most ?? Number.POSITIVE_INFINITY] as const;
  const rescaled = (each: Expression, by: number, add: number, rounding: string) =>
    call(
      'pmml.rescale',
      each,
      ...bounds.map((bound) => constant(bound)),
      constant(by),
      constant(add),
      constant(rounding),
    );
  if ((changes || how !== '') && !single) value = rescaled(value, factor, offset, how);
  else if (changes || how !== '') {
    const open = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY].map((each) => constant(each));
    const kept = (each: Expression) => castTo({ expression: each, dataType: 'double' }, 'float');
    const scaled = kept(rescaled(value, Math.fround(factor), 0, ''));
    const moved = [constant(1), constant(Math.fround(offset)), constant(how)];
    value = kept(call('pmml.rescale', scaled, ...open, ...moved));
  }
  if ('column' in value) return predicted;
  return context.plan.derive('target', 'double', value, placeOf(target));
}

// Prior probabilities, used if there is no prediction.
function priors(target: XmlElement, context: Context, result: ModelResult): ModelResult {
  const values = children(target, 'TargetValue');
  const given = values.filter((each) => each.attributes['priorProbability'] !== undefined);
  if (given.length === 0 || result.predicted === undefined) return result;
  const read = given.map((each) => new Attributes(each, context).number('priorProbability') ?? 0);
  const total = read.reduce((sum, each) => sum + each, 0);
  if (given.length !== values.length || !(total > 0)) {
    context.problems.add(placeOf(target), 'expected a priorProbability for each TargetValue');
    return result;
  }
  const byLabel = new Map(
    given.map((each, i) => [each.attributes['value'] ?? '', (read[i] as number) / total]),
  );
  const best = [...byLabel].reduce((left, right) => (right[1] > left[1] ? right : left))[0];
  const { plan } = context;
  const type = plan.typeOf(result.predicted);
  const label = constant(context.value(best, context.target?.dataType ?? 'string', target));
  const either = call('pmml.default', columnRef(result.predicted), label);
  const predicted = plan.derive('target', type, either, placeOf(target));
  const { probabilities } = result;
  if (probabilities === undefined) return changed(result, { predicted });
  const prior = probabilities.labels.map((each) =>
    plan.derive('prior', 'double', constant(byLabel.get(each) ?? 0), placeOf(target)),
  );
  const vector = context.vector(prior, target);
  const chosen = call('pmml.default', columnRef(probabilities.column), columnRef(vector));
  const column = plan.derive('probabilities', 'vector', chosen, placeOf(target));
  return changed(result, { predicted, probabilities: { ...probabilities, column } });
}

/** The result after Targets, in the targets' data types. */
export function applyTargets(
  model: XmlElement,
  context: Context,
  result: ModelResult,
): ModelResult {
  const [first] = context.targets;
  if (result.isSettled === true) return result;
  if (result.byTarget === undefined) return applyTarget(model, context, result, first);
  const byTarget = new Map(
    [...result.byTarget].map(([name, each]) => {
      const info = context.targets.find((target) => target.name === name);
      return [name, applyTarget(model, context, each, info)];
    }),
  );
  const predicted = byTarget.get(first?.name ?? '')?.predicted ?? result.predicted;
  return changed(result, { byTarget, ...(predicted && { predicted }) });
}

function applyTarget(
  model: XmlElement,
  context: Context,
  result: ModelResult,
  info: TargetInfo | undefined,
): ModelResult {
  const target = targetOf(model, info?.name);
  const { predicted } = result;
  if (predicted === undefined) return result;
  const isNumber = context.plan.typeOf(predicted) === 'double';
  if (context.functionName === 'classification') {
    return target === undefined ? result : priors(target, context, result);
  }
  let column = predicted;
  if (target !== undefined && isNumber) {
    column = regression(model, target, context, predicted);
  }
  const type = info === undefined ? undefined : planType(info.dataType);
  if (
    info !== undefined &&
    isNumber &&
    type !== 'double' &&
    context.functionName === 'regression'
  ) {
    column = context.derive(info.name, columnRef(column), info.dataType, model);
  }
  if (column === predicted) return result;
  const isInteger = type !== undefined && type !== 'double' && type !== 'float';
  const explanation = () => targetExplanation(result, target, context, isInteger);
  return changed(result, { predicted: column, explanation });
}

const LIMITS = ['min', 'max', 'castInteger'];

/** The explanation of the rescaled value, before it is limited or rounded. */
function targetExplanation(
  { explanation }: ModelResult,
  target: XmlElement | undefined,
  context: Context,
  isInteger: boolean,
): PmmlExplanation | undefined {
  const found = explanation?.();
  if (found === undefined || found.isMargin === true) return found;
  const isLimited =
    isInteger || LIMITS.some((name) => target?.attributes[name] !== undefined) || found.isLimited;
  const limited = isLimited === true ? { ...found, isLimited } : found;
  if (target === undefined) return limited;
  const read = new Attributes(target, context);
  const factor = read.number('rescaleFactor') ?? 1;
  return rescaledExplanation(limited, factor, read.number('rescaleConstant') ?? 0);
}
