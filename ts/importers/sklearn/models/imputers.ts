// Transformers that replace missing values, or say where they are. Importer's worker thread; pure.
// Source: scikit-learn's impute/_base.py.
import { call, columnRef, constant, type Expression } from '../../plan/builder.js';
import {
  columnElement,
  type Element,
  type Frame,
  type Lowering,
  numberOf,
  valueOf,
} from '../frame/frame.js';
import type { Step, Transformed } from '../frame/step.js';
import type { Item, Plain } from '../read/item.js';

/** The value that counts as missing; undefined: NaN and None. */
function missingOf(item: Item): number | string | undefined {
  const value: Plain | undefined = item.find('missing_values')?.plain();
  if (value === undefined) throw item.bad('missing_values: expected a number, a text or None');
  if (value === null || (typeof value === 'number' && Number.isNaN(value))) return undefined;
  if (typeof value === 'boolean') throw item.bad('missing_values: expected no boolean');
  return value;
}

/** Whether a value is missing. */
function test(
  value: Expression,
  missing: number | string | undefined,
  isText: boolean,
): Expression {
  const isNone = call('sql.isnull', value);
  if (missing !== undefined) {
    return call('sql.and', call('sql.not', isNone), call('sql.equal', value, constant(missing)));
  }
  return isText ? isNone : call('sql.or', isNone, call('sql.isnan', value));
}

export function simpleImputer(step: Step, frame: Frame): Transformed {
  const { item, lowering, place } = step;
  const statistics = item.get('statistics_');
  const { shape, values } = statistics.array();
  if (shape.length !== 1 || values.length !== frame.length) {
    throw statistics.bad(`expected ${frame.length} values, got ${values.length}`);
  }
  const missing = missingOf(item);
  const imputed = frame.flatMap((element, i): readonly Element[] => {
    const value = values[i] ?? null;
    const isNone = value === null || (typeof value === 'number' && Number.isNaN(value));
    // A column without any value in training is left out.
    if (isNone) return [];
    if (typeof value === 'string') return [textElement(lowering, element, value, missing, place)];
    if (typeof value === 'boolean' || typeof value === 'number') {
      return [numberElement(lowering, element, Number(value), missing, place)];
    }
    throw statistics.bad('expected numbers or texts');
  });
  const flags = indicated(step, frame, missing, values);
  return { role: 'transformer', frame: [...imputed, ...flags] };
}

function numberElement(
  lowering: Lowering,
  element: Element,
  value: number,
  missing: number | string | undefined,
  place: string,
): Element {
  if (typeof missing === 'string') throw new RangeError(`${place}: missing_values is a text`);
  const { builder } = lowering;
  const input = numberOf(lowering, element, place);
  const given = columnRef(input);
  const expression = call('sql.case', test(given, missing, false), constant(value), given);
  return columnElement(builder.derive(builder.nameOf(input), 'double', expression, place));
}

function textElement(
  lowering: Lowering,
  element: Element,
  value: string,
  missing: number | string | undefined,
  place: string,
): Element {
  const { builder } = lowering;
  const input = valueOf(lowering, element, 'text', place);
  const given = columnRef(input);
  const isNone = test(given, missing === undefined ? undefined : String(missing), true);
  const expression = call('sql.case', isNone, constant(value), given);
  const column = builder.derive(builder.nameOf(input), 'string', expression, place);
  return { column, kind: 'text' };
}

/** The columns that add_indicator appends. */
function indicated(
  { item, lowering, place }: Step,
  frame: Frame,
  missing: number | string | undefined,
  statistics: readonly unknown[],
): Frame {
  const indicator = item.given('indicator_');
  if (indicator === undefined || !item.get('add_indicator').flag()) return [];
  const isText = (feature: number): boolean => typeof statistics[feature] === 'string';
  return flagsOf(lowering, indicator, frame, missing, isText, place);
}

function flagsOf(
  lowering: Lowering,
  indicator: Item,
  frame: Frame,
  missing: number | string | undefined,
  isText: (feature: number) => boolean,
  place: string,
): Frame {
  const features = indicator.get('features_').reals([-1]);
  return Array.from(features, (feature) => {
    const element = frame[feature];
    if (element === undefined) throw indicator.bad(`there is no feature ${feature}`);
    const text = isText(feature);
    const input = text
      ? valueOf(lowering, element, 'text', place)
      : numberOf(lowering, element, place);
    const isNone = test(columnRef(input), missing, text);
    const { builder } = lowering;
    const expression = call('sql.case', isNone, constant(1), constant(0));
    const name = `is ${builder.nameOf(input)} missing`;
    return columnElement(builder.derive(name, 'double', expression, place));
  });
}

export function missingIndicator({ item, lowering, place }: Step, frame: Frame): Transformed {
  const flags = flagsOf(lowering, item, frame, missingOf(item), () => false, place);
  return { role: 'transformer', frame: flags };
}
