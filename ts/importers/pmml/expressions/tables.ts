// Expressions that are tables: each fills a column with a separate stage. Importer's worker thread.
// Source: tabular.md 3.3
import type { Exactly } from '../../plan/attributes.js';
import type { Column, StageKind } from '../../plan/builder.js';
import type { Outliers, StageAttributes } from '../../plan/generated/stages.js';
import type { Type, Value } from '../../plan/generated/plan.js';
import { placeOf, readInterval } from '../document.js';
import type { Problems } from '../../plan/problems.js';
import type { Fields } from '../scope.js';
import { normalDataType, parseValue, planType } from '../types.js';
import { type XmlElement, child, children, localName } from '../xml/reader.js';
import { aggregate } from './aggregate.js';
import type { Typed } from './expression.js';
import { textIndex } from './text-index.js';

export interface TableContext {
  readonly fields: Fields;
  column(name: string, at: XmlElement): Column;
  list(name: string, at: XmlElement): Column;
  dataType(name: string): string;
  value(at: XmlElement, text: string, dataType: string): Value;
  term(at: XmlElement): Typed;
  readonly wanted?: string | undefined;
}

export interface Filled {
  readonly column: Column;
  readonly dataType: string;
}

type Table = (element: XmlElement, context: TableContext) => Filled;

/** The number of an attribute, noted as a problem where it is none. */
export function numberOf(element: XmlElement, name: string, fields: Fields): number {
  const text = element.attributes[name];
  const value = Number(text ?? '');
  if (text !== undefined && text.trim() !== '' && !Number.isNaN(value)) return value;
  fields.problems.add(placeOf(element), `${name}="${text ?? ''}" is not a number`);
  return 0;
}

/** Adds a stage that fills a new column. */
export function fillBy<Kind extends StageKind, Given extends StageAttributes[Kind]>(
  kind: Kind,
  inputs: readonly Column[],
  dataType: string,
  attributes: Exactly<Kind, Given>,
  element: XmlElement,
  { fields: { plan } }: TableContext,
): Filled {
  const type: Type = planType(dataType) ?? 'double';
  const column = plan.column(element.attributes['field'] ?? element.name, type);
  plan.stage(kind, inputs, [column], attributes, placeOf(element));
  return { column, dataType };
}

function values(value: Value): { values: Value[] } {
  return { values: [value] };
}

// An optional value of the result's type.
function optional(element: XmlElement, name: string, dataType: string, context: TableContext) {
  const text = element.attributes[name];
  // Statistica writes mapMissingTo="", which is not a number.
  if (text === '' && dataType === 'double') return undefined;
  return text === undefined ? undefined : values(context.value(element, text, dataType));
}

function fieldOf(element: XmlElement, context: TableContext): string {
  const name = element.attributes['field'];
  if (name === undefined) context.fields.problems.add(placeOf(element), 'has no field');
  return name ?? '';
}

const OUTLIERS: Readonly<Record<string, Outliers>> = {
  asIs: 'as_is',
  asMissingValues: 'as_missing',
  asExtremeValues: 'as_extreme',
};

const normContinuous: Table = (element, context) => {
  const points = children(element, 'LinearNorm');
  const { problems } = context.fields;
  if (points.length < 2) problems.add(placeOf(element), 'has fewer than two LinearNorm');
  const orig = Float64Array.from(points, (each) => numberOf(each, 'orig', context.fields));
  const norm = Float64Array.from(points, (each) => numberOf(each, 'norm', context.fields));
  if (orig.some((each, i) => i > 0 && !(each > (orig[i - 1] as number)))) {
    problems.add(placeOf(element), 'its LinearNorm elements are not ordered by orig');
  }
  const said = element.attributes['outliers'] ?? 'asIs';
  const outliers = OUTLIERS[said];
  if (outliers === undefined) problems.add(placeOf(element), `outliers="${said}" is unknown`);
  const missing = optional(element, 'mapMissingTo', 'double', context);
  const input = context.column(fieldOf(element, context), element);
  const attributes = { orig, norm, outliers, map_missing: missing };
  return fillBy('pmml.norm_continuous', [input], 'double', attributes, element, context);
};

const normDiscrete: Table = (element, context) => {
  const method = element.attributes['method'] ?? 'indicator';
  const { problems } = context.fields;
  if (method !== 'indicator') problems.add(placeOf(element), `method="${method}" is not supported`);
  const name = fieldOf(element, context);
  const value = context.value(element, element.attributes['value'] ?? '', context.dataType(name));
  const missing = optional(element, 'mapMissingTo', 'double', context);
  const attributes = { value: values(value), map_missing: missing };
  const input = context.column(name, element);
  return fillBy('pmml.norm_discrete', [input], 'double', attributes, element, context);
};

// The result type of a Discretize or MapValues.
function resultType(element: XmlElement, context: TableContext): string {
  const said = element.attributes['dataType'];
  return said === undefined ? (context.wanted ?? 'string') : normalDataType(said);
}

const discretize: Table = (element, context) => {
  const dataType = resultType(element, context);
  const bins = children(element, 'DiscretizeBin');
  const intervals: number[] = [];
  const results: Value[] = [];
  for (const bin of bins) {
    const interval = child(bin, 'Interval');
    if (interval === undefined) {
      context.fields.problems.add(placeOf(bin), 'has no Interval');
      continue;
    }
    const [left, right, withLeft, withRight] = readInterval(interval, context.fields.problems);
    intervals.push(left, right, withLeft ? 1 : 0, withRight ? 1 : 0);
    results.push(context.value(bin, bin.attributes['binValue'] ?? '', dataType));
  }
  const attributes = {
    intervals: Float64Array.from(intervals),
    results: { values: results },
    otherwise: optional(element, 'defaultValue', dataType, context),
    map_missing: optional(element, 'mapMissingTo', dataType, context),
  };
  const input = context.column(fieldOf(element, context), element);
  return fillBy('pmml.discretize', [input], dataType, attributes, element, context);
};

/** The InlineTable of an element; undefined: it has none, which is noted. */
export function inlineTable(element: XmlElement, problems: Problems): XmlElement | undefined {
  const table = child(element, 'InlineTable');
  if (table !== undefined) return table;
  const locator = child(element, 'TableLocator');
  if (locator === undefined) problems.add(placeOf(element), 'has no InlineTable');
  else {
    const reason = 'is not supported: its rows are outside the document, expected an InlineTable';
    problems.add(placeOf(locator), reason);
  }
  return undefined;
}

/** The rows of an InlineTable: texts by column. */
export function inlineRows(element: XmlElement, problems: Problems): Map<string, string>[] {
  const table = inlineTable(element, problems);
  return (table === undefined ? [] : children(table, 'row')).map(
    (row) => new Map(row.children.map((cell) => [cell.name, cell.text])),
  );
}

const mapValues: Table = (element, context) => {
  const dataType = resultType(element, context);
  const pairs = children(element, 'FieldColumnPair');
  const { problems } = context.fields;
  if (pairs.length === 0) problems.add(placeOf(element), 'has no FieldColumnPair');
  const names = pairs.map((each) => fieldOf(each, context));
  const types = names.map((each) => context.dataType(each));
  const keys: Value[][] = pairs.map(() => []);
  const results: Value[] = [];
  const output = localName(element.attributes['outputColumn'] ?? '');
  const columns = pairs.map((each) => localName(each.attributes['column'] ?? ''));
  const rows = inlineRows(element, problems);
  for (const name of [output, ...columns]) {
    if (rows.length === 0 || rows.some((row) => row.has(name))) continue;
    problems.add(placeOf(element), `no row has a column '${name}'`);
  }
  for (const row of rows) {
    const result = row.get(output);
    const cells = columns.map((name) => row.get(name));
    if (result === undefined || cells.includes(undefined)) continue;
    let read: Value[];
    try {
      // A cell that is not a value of its field's type never matches.
      read = cells.map((cell, i) => parseValue(cell as string, types[i] as string));
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      continue;
    }
    for (const [i, value] of read.entries()) keys[i]?.push(value);
    results.push(context.value(element, result, dataType));
  }
  const attributes = {
    keys: { values: keys.flat() },
    results: { values: results },
    otherwise: optional(element, 'defaultValue', dataType, context),
    map_missing: optional(element, 'mapMissingTo', dataType, context),
  };
  const inputs = pairs.map((each, i) => context.column(names[i] as string, each));
  return fillBy('pmml.map_values', inputs, dataType, attributes, element, context);
};

/** Expression elements that PMML has and that are not lowered, with the reason. */
export const REFUSED_EXPRESSIONS: Readonly<Record<string, string>> = {
  Lag: 'it reads earlier rows, but each row is computed independently',
};

/** By element name. */
export const TABLES: Readonly<Record<string, Table>> = {
  NormContinuous: normContinuous,
  NormDiscrete: normDiscrete,
  Discretize: discretize,
  MapValues: mapValues,
  TextIndex: textIndex,
  Aggregate: aggregate,
};
