// PMML's predicates as a plan's expressions: a Bool, missing where PMML says unknown. Importer's
// worker thread. Source: tabular.md 3.3
import { functionName } from '../plan/attributes.js';
import { type Expression, call, columnRef, constant } from '../plan/builder.js';
import type { Value } from '../plan/generated/plan.js';
import { arrayTexts } from './arrays.js';
import { placeOf } from './document.js';
import type { Fields, Names } from './scope.js';
import { parseValue } from './types.js';
import type { XmlElement } from './xml/reader.js';

const COMPARISONS = new Set([
  'equal',
  'notEqual',
  'lessThan',
  'lessOrEqual',
  'greaterThan',
  'greaterOrEqual',
]);
const PREDICATES = new Set([
  'SimplePredicate',
  'SimpleSetPredicate',
  'CompoundPredicate',
  'True',
  'False',
]);

/** Is it a predicate element? */
export function isPredicate(element: XmlElement): boolean {
  return PREDICATES.has(element.name);
}

/** The predicate among an element's children. */
export function predicateOf(element: XmlElement): XmlElement | undefined {
  return element.children.find(isPredicate);
}

/** The field and the value that one simple predicate compares. */
export interface Comparison {
  readonly operator: string;
  readonly field: string;
  /**
   * The value in the field's representation; for ordinal texts their number in the field's order.
   */
  readonly value?: Value;
  readonly order?: readonly string[];
}

/** A SimplePredicate as it is written. */
export interface ComparisonParts {
  readonly field: string | undefined;
  readonly operator: string;
  readonly text: string | undefined;
}

/**
 * A SimplePredicate's parts, with the value read as the field's data type. undefined: there is a
 * problem, which is noted.
 */
export function comparisonOf(
  parts: ComparisonParts,
  place: () => string,
  fields: Fields,
  names: Names,
): Comparison | undefined {
  const { field, operator, text } = parts;
  const problem = (reason: string) => {
    fields.problems.add(place(), reason);
    return undefined;
  };
  if (field === undefined) return problem('has no field');
  if (operator === 'isMissing' || operator === 'isNotMissing') return { operator, field };
  if (!COMPARISONS.has(operator)) return problem(`operator="${operator}" is unknown`);
  if (text === undefined) return problem('has no value');
  const { dataType, optype, values } = fields.info(names, field);
  const orders = operator !== 'equal' && operator !== 'notEqual';
  if (orders && dataType === 'string') {
    if (optype !== 'ordinal' || values.length === 0) {
      return problem(`operator="${operator}" cannot order the strings of field '${field}'`);
    }
    const at = values.indexOf(text);
    if (at < 0) return problem(`"${text}" is not among the values of field '${field}'`);
    return { operator, field, value: { type: 'int32', integer: at }, order: values };
  }
  try {
    return { operator, field, value: parseValue(text, dataType) };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  try {
    // An integer compared with 2.5, and a boolean with 0.5, as R's rpart writes it.
    if (dataType === 'integer' || (dataType === 'boolean' && orders)) {
      return { operator, field, value: parseValue(text, 'double') };
    }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  return problem(`value "${text}" does not fit the data type ${dataType} of field '${field}'`);
}

/** A SimpleSetPredicate's parts; values that the field's type cannot have are left out. */
export function setOf(
  element: XmlElement,
  fields: Fields,
  names: Names,
): { readonly field: string; readonly not: boolean; readonly values: Value[] } | undefined {
  const { field, booleanOperator = '' } = element.attributes;
  const array = element.children.find((each) => each.name === 'Array');
  if (field === undefined || array === undefined || !/^is(Not)?In$/.test(booleanOperator)) {
    fields.problems.add(
      placeOf(element),
      'expected a field, an Array, and booleanOperator isIn or isNotIn',
    );
    return undefined;
  }
  const { dataType } = fields.info(names, field);
  let texts: string[] = [];
  try {
    texts = arrayTexts(array);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    fields.problems.add(placeOf(array), error.message);
  }
  const values = texts.flatMap((text) => {
    try {
      return [parseValue(text, dataType)];
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      return [];
    }
  });
  return { field, not: booleanOperator === 'isNotIn', values };
}

const TRUE = constant(true);

function compound(element: XmlElement, fields: Fields, names: Names): Expression {
  const inner = element.children.filter(isPredicate);
  const operator = element.attributes['booleanOperator'] ?? '';
  if (!['and', 'or', 'xor', 'surrogate'].includes(operator)) {
    fields.problems.add(placeOf(element), `booleanOperator="${operator}" is unknown`);
    return TRUE;
  }
  if (inner.length === 0) {
    fields.problems.add(placeOf(element), 'has no predicates');
    return TRUE;
  }
  const made = inner.map((each) => predicateExpression(each, fields, names));
  return call(functionName(`pmml.p.${operator}`), ...made);
}

/** A predicate element as an expression. What is wrong is noted in the problems. */
export function predicateExpression(element: XmlElement, fields: Fields, names: Names): Expression {
  if (element.name === 'True') return TRUE;
  if (element.name === 'False') return constant(false);
  if (element.name === 'CompoundPredicate') return compound(element, fields, names);
  if (element.name === 'SimpleSetPredicate') {
    const set = setOf(element, fields, names);
    if (set === undefined) return TRUE;
    const column = columnRef(fields.column(names, set.field, element));
    const name = set.not ? 'pmml.p.isNotIn' : 'pmml.p.isIn';
    return call(name, column, ...set.values.map((each) => constant(each)));
  }
  if (element.name !== 'SimplePredicate') {
    fields.problems.add(placeOf(element), `<${element.name}> is not a supported predicate`);
    return TRUE;
  }
  const { operator: written = '', field: name, value: text } = element.attributes;
  const parts = { field: name, operator: written, text };
  const comparison = comparisonOf(parts, () => placeOf(element), fields, names);
  if (comparison === undefined) return TRUE;
  const { operator, field, value, order } = comparison;
  const column = columnRef(fields.column(names, field, element));
  if (value === undefined) return call(functionName(`pmml.p.${operator}`), column);
  const { dataType } = fields.info(names, field);
  const asNumber = dataType === 'boolean' && value.type === 'double';
  const compared = asNumber ? call('pmml.cast', column, constant('double')) : column;
  const left =
    order === undefined
      ? compared
      : call('pmml.ordinal', column, ...order.map((each) => constant(each)));
  return call(functionName(`pmml.p.${operator}`), left, constant(value));
}
